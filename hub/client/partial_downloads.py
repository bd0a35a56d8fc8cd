"""A download under way: a preallocated file and, behind its last byte, a journal of what it holds.

The journal lies in the same file, so that taking over a cut download is one rename. It may lag
behind the bytes but never run ahead of them in one run of the system; after a power cut the final
digest is what decides.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Self

from hub.client.cache import Cache, explained

JOURNAL_BYTES = 4096
ABANDONED_SECONDS = 15 * 60
PREALLOCATE_BYTES = 8 << 20
WRITEBACK_BYTES = 32 << 20

# Names of the downloads that this process is busy with; others of this process are left-overs.
_active: set[str] = set()
# Windows has one position for each file and no reads or writes beside it.
_seek = threading.Lock()

Span = tuple[int, int]


class Partial:
    """A file of `size` bytes being filled, in any order, by this process alone."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self.spans: list[Span] = []
        self._descriptor = -1

    @classmethod
    def open(cls, cache: Cache, sha256: str, size: int) -> Self:
        """Take over a download of this blob that was cut, or start a new one."""
        folder = cache.prepare(cache.partial)
        owned = folder / f"{sha256}.{_owner()}"
        _active.add(owned.name)
        for existing in sorted(folder.glob(f"{sha256}.*@*")):
            if is_abandoned(existing):
                # Only one process can win this rename; the others find nothing and go on.
                with contextlib.suppress(OSError):
                    existing.rename(owned)
                    break
        partial = cls(owned, size)
        try:
            with explained(cache.folder):
                partial.prepare()
        except BaseException:
            partial.discard()
            raise
        return partial

    def prepare(self) -> None:
        """Open the file, and read its journal or give it its full length."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o644)
        if os.fstat(self._descriptor).st_size == self.size + JOURNAL_BYTES:
            self.spans = self._read_journal()
        if not self.spans:
            os.ftruncate(self._descriptor, 0)
            total = self.size + JOURNAL_BYTES
            if total >= PREALLOCATE_BYTES and hasattr(os, "posix_fallocate"):
                # A full disk shows now rather than in the middle.
                os.posix_fallocate(self._descriptor, 0, total)
            else:
                os.ftruncate(self._descriptor, total)

    def _read_journal(self) -> list[Span]:
        try:
            record = json.loads(_pread(self._descriptor, JOURNAL_BYTES, self.size).rstrip(b"\0 "))
            spans = [(int(start), int(end)) for start, end in record]
        except (ValueError, TypeError):
            return []
        ordered = sorted(spans)
        edges = [edge for span in ordered for edge in span]
        sound = edges == sorted(edges) and all(0 <= edge <= self.size for edge in edges)
        return ordered if sound else []

    def write_journal(self, spans: list[Span]) -> None:
        """Note which bytes are in place."""
        text = json.dumps(spans).encode()
        if len(text) <= JOURNAL_BYTES:
            _pwrite(self._descriptor, text.ljust(JOURNAL_BYTES), self.size)
            self.spans = spans

    def write(self, part: bytes | memoryview, offset: int) -> None:
        """Put bytes at an offset."""
        view = memoryview(part)
        end = offset + view.nbytes
        while view.nbytes:
            count = _pwrite(self._descriptor, view, offset)
            view, offset = view[count:], offset + count
        if end // WRITEBACK_BYTES != (end - len(part)) // WRITEBACK_BYTES:
            self._start_writeback(end // WRITEBACK_BYTES * WRITEBACK_BYTES)

    def _start_writeback(self, end: int) -> None:
        """Let the disk begin with a stretch that was written, so that `sync` has little left.

        Linux starts to write such pages out and drops only those that are clean by then: what was
        written just now stays in memory for the hash and for the next load of the model.
        """
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(
                self._descriptor, end - WRITEBACK_BYTES, WRITEBACK_BYTES, os.POSIX_FADV_DONTNEED
            )

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill a buffer from an offset; return how many bytes there were."""
        if hasattr(os, "preadv"):
            return os.preadv(self._descriptor, [buffer], offset)
        content = _pread(self._descriptor, len(buffer), offset)
        buffer[: len(content)] = content
        return len(content)

    def sync(self) -> None:
        """Cut the journal off and bring every byte to the disk."""
        os.ftruncate(self._descriptor, self.size)
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Give the file back, for this or another process to go on with."""
        _active.discard(self.path.name)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def leave(self) -> None:
        """Forget the file without closing it: a thread may still be writing to it."""
        self._descriptor = -1

    def discard(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
        self.close()


def is_abandoned(path: Path) -> bool:
    """Say whether no process is busy with a partial file any more.

    Its name ends in `<random>-<process id>@<host>`. On this host the process tells; for another
    host (a shared folder) a quarter of an hour without a write does, longer than any retry waits.
    """
    owner, _, host = path.name.rpartition("@")
    process = owner.rpartition("-")[2]
    if host != _host() or not process.isdecimal():
        try:
            return time.time() - path.stat().st_mtime > ABANDONED_SECONDS
        except FileNotFoundError:
            return False
    if int(process) == os.getpid():
        return path.name not in _active
    return not _is_running(int(process))


def _is_running(process: int) -> bool:
    if os.name != "posix":
        # os.kill ends the process on Windows, so nothing of another process is taken over there.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    # A killed process lingers until its parent waits for it, which not every container does.
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state not in {b"Z", b"X"}


def _owner() -> str:
    return f"{secrets.token_hex(6)}-{os.getpid()}@{_host()}"


def _host() -> str:
    return "".join(char if char.isalnum() or char in "-." else "_" for char in socket.gethostname())


def _pread(descriptor: int, count: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    with _seek:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, count)


def _pwrite(descriptor: int, part: bytes | memoryview, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, part, offset)
    with _seek:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.write(descriptor, part)
