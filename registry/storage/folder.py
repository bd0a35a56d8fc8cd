"""A folder as the hub's storage: staged under a unique name, then renamed to the SHA-256.

Nothing is rewritten, and every step is synced before it counts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hub.protocol import digests
from registry.storage.interface import BlobStore, Staged, full, missing

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from pathlib import Path

# What a staged upload's name ends in while its parts come in any order.
PARTS = ".parts"


class FolderStore(BlobStore):
    """A folder of blobs (``sha256/ab/cd/<hex>``), of uploads (``staging/<name>``) and of xorbs.

    Xorbs lie in ``xorbs/<chunk store>/<hash>``, trashed blobs in ``trash/<hex>.<unique>``.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._staging = root / "staging"
        self._xorbs = root / "xorbs"
        self._trash = root / "trash"
        self._staging.mkdir(parents=True, exist_ok=True)

    def staged(self, name: str) -> Path:
        """The path of a staged file; it need not exist."""
        return self._staging / name

    def path(self, sha256: str) -> Path:
        """The path of a blob; it need not exist."""
        return self.root / "sha256" / sha256[:2] / sha256[2:4] / sha256

    def open(self, sha256: str) -> io.BufferedReader:
        try:
            # As ``path``, in a fifth of its time.
            return open(f"{self.root}/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}", "rb")  # noqa: PTH123
        except FileNotFoundError as error:
            raise missing(sha256) from error

    def read(self, sha256: str, limit: int) -> bytes:
        with self.open(sha256) as reader:
            return reader.read(limit)

    @contextmanager
    def files(self) -> Iterator[Callable[[str], Path]]:
        yield self.path

    def holds(self, sha256: str) -> bool:
        return self.path(sha256).exists()

    def names(self, prefix: str = "") -> Iterator[str]:
        for path in sorted((self.root / "sha256").glob(f"{prefix or '??'}/??/*")):
            yield path.name

    def written_at(self, sha256: str) -> float:
        state = self.path(sha256).stat()
        return max(state.st_mtime, state.st_ctime)

    def is_current(self, sha256: str, reader: io.BufferedReader) -> bool:
        try:
            return os.path.samestat(os.fstat(reader.fileno()), self.path(sha256).stat())
        except FileNotFoundError:
            return False

    def prepare(self, name: str, sha256: str) -> None:
        """Make the folder of the blob."""
        folder = self.path(sha256).parent
        folder.mkdir(parents=True, exist_ok=True)
        for changed in (folder.parent, folder.parent.parent, self.root):
            _sync_folder(changed)

    def commit(self, name: str, sha256: str) -> None:
        target = self.path(sha256)
        self.staged(name).replace(target)
        _sync_folder(target.parent)

    def trash(self, sha256: str) -> None:
        self._trash.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            self.path(sha256).replace(self._trash / f"{sha256}.{os.urandom(8).hex()}")

    def trashed(self) -> list[tuple[str, str]]:
        if not self._trash.exists():
            return []
        return [(path.name, path.name.partition(".")[0]) for path in self._trash.iterdir()]

    def restore(self, name: str, sha256: str) -> bool:
        if self.holds(sha256):
            return False
        try:
            (self._trash / name).replace(self.path(sha256))
        except FileNotFoundError:
            return False
        return True

    def erase(self, sha256: str) -> None:
        """Nothing: ``trash`` has moved the bytes away."""

    def purge(self, name: str) -> None:
        (self._trash / name).unlink(missing_ok=True)

    def begin(self, name: str, length: int) -> None:
        self.staged(name).touch()

    @contextmanager
    def writer(self, name: str) -> Iterator[_Writer]:
        path = self.staged(name)
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not path.exists():
                raise FileNotFoundError(name)  # finished between opening and locking
            yield _Writer(name, file)

    @contextmanager
    def part(self, name: str, number: int, start: int) -> Iterator[io.BufferedRandom]:
        path = self.staged(f"{name}{PARTS}")
        path.touch()
        with path.open("r+b") as file:
            file.seek(start)
            yield file
            file.flush()
            os.fsync(file.fileno())

    def join_parts(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self.staged(f"{name}{PARTS}").replace(self.staged(name))

    def staged_size(self, name: str) -> int:
        return self.staged(name).stat().st_size

    def staged_bytes(self, name: str) -> int:
        size = 0
        for path in (self.staged(name), self.staged(f"{name}{PARTS}")):
            with suppress(FileNotFoundError):
                size += path.stat().st_blocks * 512
        return size

    def hash_staged(self, name: str) -> str:
        return digests.hash_file(self.staged(name))

    def stage(self, reader: digests.Reader) -> Staged:
        name = f"write-{os.urandom(16).hex()}"
        try:
            with self.staged(name).open("xb") as writer:
                sha256, size = digests.copy_and_hash(reader, writer)
                writer.flush()
                os.fsync(writer.fileno())
        except OSError as error:
            self.discard(name)
            raise full(error) from error
        return Staged(name, sha256, size)

    def discard(self, name: str) -> None:
        for path in (self.staged(name), self.staged(f"{name}{PARTS}")):
            path.unlink(missing_ok=True)

    def staged_names(self) -> Iterator[str]:
        """Every staged file's name."""
        for path in self._staging.iterdir():
            yield path.name

    def staged_before(self, time: float) -> Iterator[str]:
        for path in self._staging.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time:
                    yield path.name.removesuffix(PARTS)

    def keep_xorb(self, file: Path, folder: str, xorb: str) -> None:
        target = self._xorbs / folder / xorb
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
        for changed in (target.parent, self._xorbs, self.root):
            _sync_folder(changed)

    def open_xorb(self, folder: str, xorb: str) -> io.BufferedReader:
        return (self._xorbs / folder / xorb).open("rb")

    def drop_xorb(self, folder: str, xorb: str) -> None:
        (self._xorbs / folder / xorb).unlink(missing_ok=True)

    def drop_xorbs(self, folder: str) -> None:
        shutil.rmtree(self._xorbs / folder, ignore_errors=True)

    def check(self) -> None:
        self.root.stat()

    def scratch(self, name: str) -> Path:
        """In staging, from where ``keep_xorb`` renames."""
        return self.staged(name)


class _Writer:
    """The end of a staged file, under its lock."""

    def __init__(self, name: str, file: io.BufferedRandom) -> None:
        self._name = name
        self._file = file
        self.size = file.seek(0, os.SEEK_END)

    @property
    def identity(self) -> str:
        state = os.fstat(self._file.fileno())
        return f"{state.st_ino}.{state.st_mtime_ns}"

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)

    def cut(self, size: int) -> None:
        self.size = self._file.truncate(size)

    def sync(self) -> int:
        self._file.flush()
        os.fsync(self._file.fileno())
        self.size = self._file.seek(0, os.SEEK_END)
        return self.size

    def seal(self) -> str:
        return self._name


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
