"""What is sent to a hub: files of this machine, which are still the same, or bytes in memory.

A folder stands for what lies in it. A symbolic link may lead elsewhere in its folder but not out
of it, and only regular files are read: a pipe would block, and a device is no file. A file that was
selected is known by its device and inode, so that what is exchanged afterwards is not sent.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hub.client import memory_files
from hub.client.progress import Bar
from hub.protocol import digests, huggingface, phrases, problems, refs

if TYPE_CHECKING:
    from io import BufferedReader, BytesIO

    from hub.client.memory_files import Contents, InMemory

    # What `hub.push` takes: a path, a model, or files by their paths.
    Source = str | os.PathLike[str] | Contents

CARD = "README.md"
MOST_NAMES = 10
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISDIR, "a folder"),
)


@dataclass(frozen=True, slots=True)
class Selected:
    """A regular file of this machine: its real path, its device and inode, its size in bytes."""

    source: Path
    device: int
    inode: int
    size: int

    def open(self) -> BufferedReader:
        """Open the file; raise `InvalidRequest` when another one lies there now."""
        try:
            descriptor = os.open(self.source, _FILE | _NO_LINK)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
                raise _exchanged(self.source) from None
            raise
        status = os.fstat(descriptor)
        # The inode of a removed file may be given to a new one, which need not be a regular one.
        is_same = (status.st_dev, status.st_ino) == (self.device, self.inode)
        if not (is_same and stat.S_ISREG(status.st_mode)):
            os.close(descriptor)
            raise _exchanged(self.source)
        return os.fdopen(descriptor, "rb")


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of this machine, to become a file of a version: path there, file here, bytes, digest.

    `source` is a path where the file is the client's own, such as a blob of its cache.
    """

    path: str
    source: Selected | InMemory | Path
    size: int
    sha256: str

    def open(self) -> BufferedReader | BytesIO:
        """Open the file; raise `InvalidRequest` when another one lies there now."""
        return self.source.open("rb") if isinstance(self.source, Path) else self.source.open()


def select(source: Path, *, follow_links: bool = False) -> Selected:
    """Return a file that the caller named.

    Raise `InvalidRequest` when it is not a regular file, or a symbolic link out of its folder.
    """
    folder = Path(os.path.realpath(source.parent))
    path = folder / source.name
    if path.is_symlink():
        _check_link(source, Path(os.path.realpath(path)), folder, follow_links=follow_links)
        path = Path(os.path.realpath(path))
    return _regular(source, path, folder)


def collect(
    sources: Iterable[Source], *, follow_links: bool = False
) -> tuple[dict[str, Selected | InMemory], Selected | InMemory | None]:
    """Return the files to send by their path in the version, and a folder's README.md.

    A file keeps its name. A single folder gives everything below it except hidden names that are no
    results; beside others it keeps its own name before those, as `cp -r` does. A model in memory is
    `model.onnx`.
    Raise `ModelMissing` where it has data in files that are not given, `TooLarge` where it has
    2 GB, and `InvalidRequest` for a path that is not there, for two files of one name, for what is
    not a regular file, and unless `follow_links` for symbolic links that leave their folder.
    """
    files: dict[str, Selected | InMemory] = {}
    card: Selected | InMemory | None = None
    sources = list(sources)
    for source in sources:
        entries: dict[str, Selected | InMemory] = {}
        if isinstance(source, str | os.PathLike):
            entries |= _at(Path(source), is_alone=len(sources) == 1, follow_links=follow_links)
        else:
            entries |= memory_files.files_of(source)
        card = entries.pop(CARD, card)
        if both := files.keys() & entries.keys():
            raise problems.InvalidRequest(f"{min(both)!r} occurs twice. Rename one of the files.")
        files |= entries
    memory_files.check_data(sources, files)
    for name in files:
        refs.check_path(name)
    refs.check_portable(files)
    if not any(name.endswith(".onnx") for name in files):
        raise problems.ModelMissing(
            "None of the given files ends in .onnx. Give an ONNX model, or a folder with one."
        )
    return files, card


def _at(path: Path, *, is_alone: bool, follow_links: bool) -> dict[str, Selected]:
    entries = contents(path, follow_links=follow_links)
    if is_alone or not path.is_dir():
        return entries
    folder = path.resolve().name
    return {f"{folder}/{name}": file for name, file in entries.items()}


def contents(source: Path, *, follow_links: bool = False) -> dict[str, Selected]:
    """Return a file by its name, or everything below a folder by the path there but hidden names.

    Raise `InvalidRequest` for a path that is not there, for what is not a regular file, and unless
    `follow_links` for symbolic links that leave their folder.
    """
    if source.is_dir():
        if source.is_symlink():
            target, parent = source.resolve(), source.parent.resolve()
            _check_link(source, target, parent, follow_links=follow_links)
        return dict(_Walk(source, follow_links=follow_links).files())
    if source.exists() or source.is_symlink():
        return {source.name: select(source, follow_links=follow_links)}
    raise problems.InvalidRequest(f"{source} is neither a file nor a folder.")


def measure(files: Mapping[str, Selected | InMemory], *, progress: bool | None) -> list[LocalFile]:
    """Hash every file; return them by path."""
    total = sum(file.size for file in files.values())
    measured: list[LocalFile] = []
    with Bar("hash", total, files=len(files), is_shown=progress) as bar:
        for path, file in sorted(files.items()):
            with file.open() as reader:
                sha256, size = digests.copy_and_hash(reader, None)
            measured.append(LocalFile(path, file, size, sha256))
            bar.advance(size)
            bar.end_file()
    return measured


class _Walk:
    """Everything below one folder, hidden names left out."""

    def __init__(self, folder: Path, *, follow_links: bool) -> None:
        self._folder = folder
        self._root = Path(os.path.realpath(folder))
        self._follow_links = follow_links
        self._outside: list[str] = []

    def files(self) -> Iterator[tuple[str, Selected]]:
        """Yield each file by its path below the folder.

        Raise `InvalidRequest`, naming the links that leave the folder.
        """
        entries = list(self._below("", self._root, (self._root,)))
        if self._outside:
            names = phrases.enumeration(self._outside, MOST_NAMES)
            raise problems.InvalidRequest(
                f"Symbolic links point outside {self._folder}: {names}. Nothing was uploaded. "
                "Copy the files into the folder, or follow the links with --follow-links "
                "(follow_links=True)."
            )
        yield from entries

    def _below(
        self, prefix: str, folder: Path, above: tuple[Path, ...]
    ) -> Iterator[tuple[str, Selected]]:
        for entry in sorted(folder.iterdir()):
            path, real = f"{prefix}{entry.name}", entry
            is_folder = f"{path}/" == huggingface.RESULTS_FOLDER and entry.is_dir()
            if huggingface.is_hidden(path) and not is_folder:
                continue
            if real.is_symlink():
                target = Path(os.path.realpath(real))
                if not target.exists():
                    raise problems.InvalidRequest(
                        f"{self._folder / path} is a symbolic link to {target}, which does not "
                        "exist. Remove the link, or add the file."
                    )
                if not (self._follow_links or target.is_relative_to(self._root)):
                    self._outside.append(f"{path} -> {target}")
                    continue
                real = target
            if not real.is_dir():
                yield path, _regular(self._folder / path, real, self._root)
            elif real in above:
                raise problems.InvalidRequest(
                    f"{self._folder / path} is a symbolic link to a folder that contains it. "
                    "Remove it."
                )
            else:
                yield from self._below(f"{path}/", real, (*above, real))


def _check_link(source: Path, target: Path, folder: Path, *, follow_links: bool) -> None:
    if not (follow_links or target.is_relative_to(folder)):
        raise problems.InvalidRequest(
            f"{source} is a symbolic link to {target}, outside its folder. Nothing was uploaded. "
            f"Name {target} directly, or use --follow-links (follow_links=True)."
        )


def _regular(named: Path, real: Path, root: Path) -> Selected:
    """The file at a real path; no component below `root` may have become a link meanwhile."""
    try:
        status = _status(real, root)
    except FileNotFoundError:
        raise problems.InvalidRequest(f"{named} does not exist.") from None
    except OSError as error:
        raise problems.InvalidRequest(f"{named} cannot be read ({error.strerror}).") from None
    if stat.S_ISLNK(status.st_mode):
        raise _exchanged(named)
    if not stat.S_ISREG(status.st_mode):
        kind = next((word for is_it, word in _KINDS if is_it(status.st_mode)), "a special file")
        raise problems.InvalidRequest(
            f"{named} is {kind}, and only regular files can be uploaded. Remove it, or copy its "
            "content to a file."
        )
    return Selected(real, status.st_dev, status.st_ino, status.st_size)


def _status(real: Path, root: Path) -> os.stat_result:
    """The status of a path itself, reached from `root` through folders that are no links."""
    if not real.is_relative_to(root) or os.open not in os.supports_dir_fd:
        return os.lstat(real)
    *folders, name = real.relative_to(root).parts
    descriptor = os.open(root, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | _NO_LINK, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    finally:
        os.close(descriptor)


def _exchanged(path: Path) -> problems.InvalidRequest:
    return problems.InvalidRequest(
        f"{path} was replaced during the upload, which stopped. Push again when the file no "
        "longer changes."
    )
