"""The files of models and data sets as an fsspec filesystem: `hub://zoo/resnet50@1/model.onnx`.

A path is a reference and a file of that version: `NAMESPACE/MODEL[@VERSION][:VARIANT]/PATH`, or
`datasets/NAME[@NUMBER]/PATH`. A `/` or `%` in the name of a version is percent-encoded. Files are
read by digest: what is open stays the same file, whatever an alias names meanwhile.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from hub.client import api, datasets, download
from hub.client.cache import RemoteFile
from hub.client.hub import Hub
from hub.protocol import problems

DATASETS = "datasets"
# A file up to this size is fetched whole, verified and kept in the cache when it is opened.
WHOLE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """What a path names: a model or a data set with its version, and a file or folder of it."""

    root: str
    inner: str

    @classmethod
    def parse(cls, path: str) -> Place | None:
        """Read a path; None for the root, for a namespace and for `datasets`."""
        first, _, rest = path.partition("/")
        name, _, inner = rest.partition("/")
        return cls(f"{first}/{name}", inner) if name else None

    @property
    def is_dataset(self) -> bool:
        return self.root.startswith(f"{DATASETS}/")

    @property
    def reference(self) -> str:
        """The model's reference, or the data set's name and number."""
        return unquote(self.root.removeprefix(f"{DATASETS}/") if self.is_dataset else self.root)


class HubFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A filesystem of one hub, for reading; it has no operation that writes.

    `url`, `token` and `cache` are those of `hub.Hub`; without them it is the default hub. `info`
    gives the SHA-256 of a file, and its version. `get`, `cat` and files of at most 4 MiB are
    verified by their SHA-256 and kept in the client's cache. A larger file is read in ranges when
    it is opened, unless the cache holds it; ranges are not verified. Raises FileNotFoundError,
    PermissionError, and `hub.errors` for the rest.
    """

    protocol: ClassVar[str] = "hub"
    root_marker: ClassVar[str] = ""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._own = Hub(url, token=token, cache=cache) if url or token or cache else None

    @property
    def hub(self) -> Hub:
        """The hub that is read, which is that of the environment where none was given."""
        return self._own or api.default_hub()

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: FBT001, FBT002 - fsspec's signature
        """The entries of a folder, of a namespace, of `datasets`, or of the root."""
        path = self._strip_protocol(path)
        place = Place.parse(path)
        entries = self._names(path) if place is None else self._files(path, place)
        return entries if detail else [entry["name"] for entry in entries]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """The name, size in bytes and type of an entry, and the SHA-256 (hex) of a file."""
        path = self._strip_protocol(path)
        place = Place.parse(path)
        if place is not None and place.inner:
            file = self._file(path)
            return _folder(path) if file is None else self._described(place, file)
        if place is not None:
            self._listing(path, place)
        return _folder(path)

    def ukey(self, path: str) -> str:
        """The SHA-256 of a file, which Dask and others use as its identity."""
        return str(self.info(path)["sha256"])

    checksum = ukey

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """The bytes of a file, or of a range of it."""
        file = self._required(path)
        first, last, _step = slice(start, end).indices(file.size)
        if (first, last) == (0, file.size):
            return self._local(path, file).read_bytes()
        return self._range(path, file, first, last) if first < last else b""

    def get_file(self, rpath: str, lpath: Any, callback: Any = None, **_: Any) -> None:
        """Write a file, verified, to a path of this machine."""
        from hub.client import snapshots  # noqa: PLC0415  (each verb imports what it needs)

        if self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)  # noqa: PTH103 - what fsspec passes may be a text
            return
        file = self._required(rpath)
        local = self._local(rpath, file)
        os.makedirs(os.path.dirname(os.path.abspath(lpath)), exist_ok=True)  # noqa: PTH100, PTH103, PTH120
        snapshots.copy(local, type(local)(lpath))
        if callback is not None:
            callback.set_size(file.size)
            callback.absolute_update(file.size)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | str | None = None,
        autocommit: bool = True,  # noqa: FBT001, FBT002 - fsspec's signature
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        if mode != "rb":
            raise io.UnsupportedOperation(
                f"hub://{path} cannot be written: versions are immutable. Publish files with "
                "`hub push` or `hub dataset push`."
            )
        file = self._required(path)
        if file.size <= WHOLE_BYTES or self.hub.cache.find(file.sha256, file.size):
            return self._local(path, file).open("rb")
        return _RangedFile(
            self,
            path,
            mode,
            block_size or "default",
            cache_options=cache_options,
            size=file.size,
            file=file,
            **options,
        )

    def _names(self, path: str) -> list[dict[str, Any]]:
        """The models of a namespace, the data sets, or the first parts of all paths."""
        with _explained(path):
            if path == DATASETS:
                rows = datasets.every(self.hub)
                return [_folder(f"{DATASETS}/{row['slug']}") for row in rows]
            models = self.hub.list_models(namespace=path or None)
            names = sorted({str(model["ref"]) for model in models})
        if path:
            return [_folder(name) for name in names]
        spaces = {name.partition("/")[0] for name in names}
        return [_folder(name) for name in sorted({DATASETS, *spaces})]

    def _files(self, path: str, place: Place) -> list[dict[str, Any]]:
        """The files and folders right below a folder of a version, or the file itself."""
        inner = f"{place.inner}/" if place.inner else ""
        entries: dict[str, dict[str, Any]] = {}
        for file in self._listing(path, place):
            if file.path == place.inner:
                return [self._described(place, file)]
            if not file.path.startswith(inner):
                continue
            name, slash, _ = file.path.removeprefix(inner).partition("/")
            entry = f"{place.root}/{inner}{name}"
            entries[entry] = _folder(entry) if slash else self._described(place, file)
        if inner and not entries:
            raise _absent(path)
        return [entries[name] for name in sorted(entries)]

    def _described(self, place: Place, file: RemoteFile) -> dict[str, Any]:
        return {
            "name": f"{place.root}/{file.path}",
            "size": file.size,
            "type": "file",
            "sha256": file.sha256,
        }

    def _listing(self, path: str, place: Place) -> tuple[RemoteFile, ...]:
        """Every file of the version that a path begins with; the hub is asked each time.

        A version that is named by its number is asked for once (see `Hub.resolve`).
        """
        with _explained(path):
            if place.is_dataset:
                return datasets.files_of(self.hub, place.reference)
            return self.hub.resolve(place.reference).files

    def _file(self, path: str) -> RemoteFile | None:
        """The file at a path, or None for a folder; raises FileNotFoundError."""
        path = self._strip_protocol(path)
        place = Place.parse(path)
        files = () if place is None else self._listing(path, place)
        inner = "" if place is None else place.inner
        for file in files:
            if file.path == inner:
                return file
        if place is None or not inner or any(file.path.startswith(f"{inner}/") for file in files):
            return None
        raise _absent(path)

    def _required(self, path: str) -> RemoteFile:
        file = self._file(path)
        if file is None:
            raise IsADirectoryError(errno.EISDIR, "Is a folder, not a file", path)
        return file

    def _local(self, path: str, file: RemoteFile) -> Path:
        """A file of the cache with these bytes, fetched and verified where it is missing."""
        hub = self.hub
        if local := hub.cache.find(file.sha256, file.size):
            return local
        hub.config.require_network(path, "open")
        with _explained(path):
            return download.fetch(hub.reads, hub.cache, file)

    def _range(self, path: str, file: RemoteFile, start: int, end: int) -> bytes:
        hub = self.hub
        local = hub.cache.find(file.sha256, file.size)
        if local is None:
            hub.config.require_network(path, "open")
            with _explained(path):
                part = download.read_range(hub.reads, file, start, end)
            if part is not None:
                return part
            local = self._local(path, file)  # a proxy that sends whole files only
        with local.open("rb") as reader:
            reader.seek(start)
            return reader.read(end - start)


class _RangedFile(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """A file whose parts are fetched as they are read."""

    def __init__(self, *arguments: Any, file: RemoteFile, **options: Any) -> None:
        self._file = file
        super().__init__(*arguments, **options)

    @property
    def details(self) -> dict[str, Any]:
        """What `info` says of the file that is open."""
        return {
            "name": self.path,
            "size": self._file.size,
            "type": "file",
            "sha256": self._file.sha256,
        }

    def _fetch_range(self, start: int, end: int) -> bytes:
        return bytes(self.fs._range(self.path, self._file, start, end))  # noqa: SLF001


def _folder(name: str) -> dict[str, Any]:
    return {"name": name, "size": 0, "type": "directory"}


def _absent(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or folder on the hub", path)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Raise what the hub answers as the errors that callers of a filesystem expect."""
    try:
        yield
    except problems.NotFound as error:
        raise FileNotFoundError(errno.ENOENT, str(error), path) from error
    except (problems.NotAuthenticated, problems.NotAllowed, problems.AccessNeeded) as error:
        raise PermissionError(errno.EACCES, str(error), path) from error
