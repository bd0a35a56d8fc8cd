"""Blobs of a bucket on this machine's disk, for what needs files: verified, bounded, shared.

Processes of a machine share one folder. A file is fetched by one of them, appears whole, and stays
while any of them uses it; beyond the limit, those that were not used for longest go first.
"""

from __future__ import annotations

import fcntl
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from hub.protocol import digests, problems
from registry.storage.byte_store import full, size_of

log = structlog.get_logger(__name__)


class LocalFiles:
    """A folder of at most ``limit`` bytes, unless what is in use at once is more."""

    def __init__(self, folder: Path, limit: int, fetch: Callable[[str], io.BufferedReader]) -> None:
        """``fetch`` opens a blob by its SHA-256; it raises Unavailable."""
        self._folder = folder
        self._limit = limit
        self._fetch = fetch
        self._locks = folder / "locks"
        self._locks.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def use(self) -> Iterator[Callable[[str], Path]]:
        """Gives the path of a blob, which stays until the block ends.

        Raises Unavailable where the blob cannot be had, StorageFull where the disk is full.
        """
        with ExitStack() as in_use:

            def path_of(sha256: str) -> Path:
                path = self._folder / sha256
                while not self._hold(path, in_use):
                    with self._lock(sha256[:2]):
                        if not path.exists():
                            self._take(sha256, path)
                return path

            yield path_of

    def _hold(self, path: Path, in_use: ExitStack) -> bool:
        """Keep a file from being removed; False where it is not there."""
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return False
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            is_there = os.path.samestat(os.fstat(file.fileno()), path.stat())
        except FileNotFoundError:
            is_there = False
        if not is_there:
            file.close()
            return False
        in_use.enter_context(file)
        os.utime(path)  # its use orders what goes first
        return True

    def _take(self, sha256: str, path: Path) -> None:
        """Fetch a blob; what a killed process left of it is replaced."""
        temporary = path.with_suffix(".part")
        try:
            with self._fetch(sha256) as reader:
                size = size_of(reader)
                reader.seek(0)
                self._make_room(size)
                with temporary.open("wb") as file:
                    digest = digests.copy_and_hash(reader, file)[0]
            if digest != sha256:
                log.error("blob_unsound", sha256=sha256, problem="digest")
                raise problems.Unavailable(
                    f"The stored file does not match sha256:{sha256}, so it is not used. The "
                    "operator can run `hub manage verify_blobs` for details."
                )
            temporary.chmod(0o444)
            temporary.replace(path)
        except OSError as error:
            raise full(error) from error
        finally:
            temporary.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        with self._lock("room"):
            files = []
            for path in self._folder.iterdir():
                if path.is_file():
                    state = path.stat()
                    files.append((state.st_mtime_ns, path, state.st_size))
            total = size + sum(row[2] for row in files)
            for _, path, bytes_ in sorted(files):
                if total <= self._limit:
                    return
                if _remove_unused(path):
                    total -= bytes_

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        with (self._locks / name).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _remove_unused(path: Path) -> bool:
    """Remove a file unless a process uses it."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True
    return True
