"""A folder as the hub's storage: staged under a unique name, then renamed to the key.

Nothing is rewritten, and every step is synced before it counts.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from hub.protocol import digests
from registry.storage.blob_store import BlobStore, key_of
from registry.storage.byte_store import STAGING, Staged, Stat, full

# What a staged upload's name ends in while its parts come in any order.
PARTS = ".parts"


class FolderStore(BlobStore):
    """A folder with a file for each key."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._staging = root / STAGING
        self._staging.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """The path of a blob; it need not exist."""
        return self.root / key_of(sha256)

    @contextmanager
    def files(self) -> Iterator[Callable[[str], Path]]:
        yield self.path

    def get(self, key: str) -> io.BufferedReader:
        # In a fifth of the time of a Path.
        return open(f"{self.root}/{key}", "rb")  # noqa: PTH123

    def stat(self, key: str) -> Stat:
        state = (self.root / key).stat()
        written_at = max(state.st_mtime, state.st_ctime)
        return Stat(state.st_size, written_at, f"{state.st_dev}.{state.st_ino}")

    def keys(self, folder: str) -> Iterator[str]:
        for path, folders, names in os.walk(self.root / folder):
            folders.sort()
            below = os.path.relpath(path, self.root)
            for name in sorted(names):
                yield f"{below}/{name}"

    def put(self, key: str, content: IO[bytes]) -> None:
        source = f"{STAGING}{_unique()}"
        with self._new(source) as file:
            shutil.copyfileobj(content, file)
        self.prepare_move(source, key)
        self.move(source, key)

    def prepare_move(self, source: str, target: str) -> None:
        self.prepare_moves([(source, target)])

    def prepare_moves(self, moves: Sequence[tuple[str, str]]) -> None:
        """Make the folders of the keys; each is synced once."""
        above: set[Path] = set()
        for _, target in moves:
            folder = (self.root / target).parent
            folder.mkdir(parents=True, exist_ok=True)
            while folder != self.root:
                folder = folder.parent
                above.add(folder)
        for folder in above:
            _sync_folder(folder)

    def move(self, source: str, target: str) -> None:
        self.move_all([(source, target)])

    def move_all(self, moves: Sequence[tuple[str, str]]) -> None:
        folders: set[Path] = set()
        for source, target in moves:
            path = self.root / target
            path.parent.mkdir(exist_ok=True)
            (self.root / source).replace(path)
            folders.add(path.parent)
        for folder in folders:
            _sync_folder(folder)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            (self.root / key).unlink(missing_ok=True)

    def begin(self, name: str, length: int) -> None:
        (self._staging / name).touch()

    @contextmanager
    def writer(self, name: str) -> Iterator[_Writer]:
        path = self._staging / name
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not path.exists():
                raise FileNotFoundError(name)  # finished between opening and locking
            yield _Writer(name, file)

    @contextmanager
    def part(self, name: str, number: int, start: int) -> Iterator[io.BufferedRandom]:
        path = self._staging / f"{name}{PARTS}"
        path.touch()
        with path.open("r+b") as file:
            file.seek(start)
            yield file
            file.flush()
            os.fsync(file.fileno())

    def join_parts(self, name: str) -> None:
        with suppress(FileNotFoundError):
            (self._staging / f"{name}{PARTS}").replace(self._staging / name)

    def staged_size(self, name: str) -> int:
        return (self._staging / name).stat().st_size

    def staged_bytes(self, name: str) -> int:
        size = 0
        for suffix in ("", PARTS):
            with suppress(FileNotFoundError):
                size += (self._staging / f"{name}{suffix}").stat().st_blocks * 512
        return size

    def stage(self, reader: digests.Reader) -> Staged:
        name = _unique()
        with self._new(f"{STAGING}{name}") as file:
            sha256, size = digests.copy_and_hash(reader, file)
        return Staged(name, sha256, size)

    def discard(self, name: str) -> None:
        self.delete([f"{STAGING}{name}", f"{STAGING}{name}{PARTS}"])

    def staged_before(self, time: float) -> Iterator[str]:
        for path in self._staging.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time:
                    yield path.name.removesuffix(PARTS)

    def check(self) -> None:
        self.root.stat()

    @contextmanager
    def _new(self, key: str) -> Iterator[IO[bytes]]:
        """A file that is durable after the block, and gone where the block fails."""
        path = self.root / key
        try:
            with path.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise full(error) from error


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


def _unique() -> str:
    return f"write-{os.urandom(16).hex()}"
