"""Which files of a cache have the bytes that their digest says.

A file is hashed once. What it was then, its inode, size, mtime and ctime, is remembered in a record
beside the blobs (`verified/<sha256>.<inode>`); a file that differs from its record is hashed again.
The ctime cannot be set, so bytes changed under an old mtime are noticed too. A cache that cannot be
written is hashed once in each process.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from hub.protocol import digests


class Verified:
    """The records of one cache; `always` hashes every file each time it is asked for.

    New records go to `own`, where that is another folder than that of a shared cache.
    """

    def __init__(self, folder: Path, *, always: bool = False, own: Path | None = None) -> None:
        self._folder = own or folder
        self._folders = [folder] if own is None else [own, folder]
        self._always = always
        self._marks: dict[tuple[str, int], str] = {}

    def holds(self, path: Path, sha256: str, size: int) -> bool:
        """Return whether a regular file of this size and digest lies at the path."""
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            return False
        if not self._always and self._mark(sha256, status.st_ino) == _mark(status):
            return True
        try:
            reader = path.open("rb", buffering=0)
        except FileNotFoundError:  # another process has removed it since
            return False
        with reader:
            before = os.fstat(reader.fileno())
            if digests.copy_and_hash(reader, None) != (sha256, size):
                return False
            mark = _mark(before)
            is_new = mark != self._mark(sha256, before.st_ino)
            if is_new and _mark(os.fstat(reader.fileno())) == mark:
                # The record must not outlive bytes that a power cut takes. Windows cannot sync
                # what is open for reading.
                with contextlib.suppress(OSError):
                    os.fsync(reader.fileno())
                with contextlib.suppress(OSError):
                    self._write(sha256, before)
        return True

    def remember(self, path: Path, sha256: str, before: os.stat_result) -> None:
        """Record a file that was verified while it was written, now that it has its name."""
        with contextlib.suppress(OSError):
            status = path.stat()
            if (status.st_ino, status.st_mtime_ns) == (before.st_ino, before.st_mtime_ns):
                self._write(sha256, status)

    def renew(self, path: Path, sha256: str) -> None:
        """Record the ctime of a verified file after a link to it was made or removed here."""
        with contextlib.suppress(OSError):
            status = path.stat()
            mark = self._mark(sha256, status.st_ino)
            if mark.rpartition(" ")[0] == _mark(status).rpartition(" ")[0]:
                self._write(sha256, status)

    def forget(self, sha256: str) -> None:
        """Remove the records of a digest."""
        for path in self._folder.glob(f"{sha256}.*"):
            path.unlink(missing_ok=True)

    def prune(self, inodes: set[int]) -> None:
        """Remove the records of files that are gone: those of other inodes than these."""
        for path in self._folder.glob("*.*"):
            inode = path.name.rpartition(".")[2]
            if inode.isdecimal() and int(inode) not in inodes:
                path.unlink(missing_ok=True)

    def _mark(self, sha256: str, inode: int) -> str:
        if mark := self._marks.get((sha256, inode)):
            return mark
        for folder in self._folders:
            with contextlib.suppress(OSError, ValueError):
                return (folder / f"{sha256}.{inode}").read_text("ascii")
        return ""

    def _write(self, sha256: str, status: os.stat_result) -> None:
        mark = _mark(status)
        self._marks[sha256, status.st_ino] = mark
        parent = self._folder.parent
        if parent.is_dir() and not os.access(parent, os.W_OK):
            return  # a cache that is only read
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=f"{sha256}.tmp-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as writer:
                writer.write(mark)
            Path(name).chmod(0o444)  # like the blobs, for others who only read this cache
            Path(name).replace(self._folder / f"{sha256}.{status.st_ino}")
        finally:
            Path(name).unlink(missing_ok=True)


def _mark(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
