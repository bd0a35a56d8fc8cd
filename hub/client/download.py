"""Blobs fetched into the cache: in parallel ranges, hashed while they arrive, resumed after a cut.

Receiving threads write each byte once, to its place in a preallocated file; the calling thread
hashes the written prefix as it grows. Only a file with the right digest is renamed to its name.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from hub.client import download_locks
from hub.client.cache import explained, mismatch
from hub.client.partial_downloads import Partial
from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from hub.client.cache import Cache, RemoteFile
    from hub.client.partial_downloads import Span
    from hub.client.retries import Retries
    from hub.client.transport import Stream, Transport

RANGES = 2
PARALLEL_BYTES = 64_000_000
CHUNK_BYTES = 32 << 20
BLOCK_BYTES = 1 << 20
SMALL_BYTES = 1 << 20
SMALL_THREADS = 4
JOURNAL_SECONDS = 2.0
JOIN_SECONDS = 5.0

log = logging.getLogger("hub.client")

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class _RangesRefused(Exception):  # noqa: N818  (never leaves this module)
    """The server sends whole files only."""


def fetch_all(
    transport: Transport,
    cache: Cache,
    files: Iterable[RemoteFile],
    *,
    ranges: int = RANGES,
    on_bytes: Callable[[int], None] | None = None,
    on_file: Callable[[], None] | None = None,
) -> dict[str, Path]:
    """Bring every file into the cache; return the blob's path for each SHA-256.

    `on_bytes` gets the number of bytes that arrived, `on_file` is called for each file, from any
    thread.
    """
    by_digest = {file.sha256: file for file in files}
    small = [file for file in by_digest.values() if file.size <= SMALL_BYTES]
    large = [file for file in by_digest.values() if file.size > SMALL_BYTES]
    paths: dict[str, Path] = {}

    def bring(file: RemoteFile) -> Path:
        path = fetch(transport, cache, file, ranges=ranges, on_bytes=on_bytes)
        if on_file is not None:
            on_file()
        return path

    if len(small) > 1:
        with ThreadPoolExecutor(SMALL_THREADS, thread_name_prefix="hub-fetch") as pool:
            paths |= zip([file.sha256 for file in small], pool.map(bring, small), strict=True)
    else:
        paths |= {file.sha256: bring(file) for file in small}
    paths |= {file.sha256: bring(file) for file in large}
    return paths


def fetch(
    transport: Transport,
    cache: Cache,
    file: RemoteFile,
    *,
    ranges: int = RANGES,
    on_bytes: Callable[[int], None] | None = None,
) -> Path:
    """Return the blob's path in the cache, after fetching and verifying it where needed.

    Raise `DigestMismatch` for wrong bytes, of which nothing is kept, and `Unreachable` when the
    connection fails for good; what has arrived then is kept and the next call goes on from there.
    """
    report = on_bytes or _ignore
    if path := cache.find(file.sha256, file.size):
        report(file.size)
        return path
    if cache.blob_path(file.sha256).exists():
        log.warning(
            "The cached file %s is damaged: %s is downloaded again.",
            cache.blob_path(file.sha256),
            file.path,
        )
    if file.size <= SMALL_BYTES:
        path = cache.put(read_small(transport, file), file.sha256)
        report(file.size)
        return path
    with download_locks.alone(cache, file.sha256, file.size, transport.sleep) as present:
        if present is not None:
            report(file.size)
            return present
        return _receive(transport, cache, file, ranges, report)


def _receive(
    transport: Transport,
    cache: Cache,
    file: RemoteFile,
    ranges: int,
    report: Callable[[int], None],
) -> Path:
    with explained(cache.folder):
        while True:
            partial = Partial.open(cache, file.sha256, file.size)
            is_resumed = bool(partial.spans)
            receiver = _Receiver(transport, file, partial, ranges, report)
            try:
                digest = receiver.run()
            except _RangesRefused:
                partial.discard()
                ranges = 0
                continue
            except problems.DigestMismatch:
                partial.discard()
                raise
            if digest == file.sha256:
                return _keep(cache, partial, file)
            partial.discard()
            report(-receiver.reported)
            # Left-overs of a power cut may hold what was never written: once more, from nothing.
            if not is_resumed:
                raise mismatch(file.sha256, digest)


def _keep(cache: Cache, partial: Partial, file: RemoteFile) -> Path:
    try:
        partial.sync()
        return cache.take(partial.path, file.sha256)
    finally:
        partial.discard()


def read_small(transport: Transport, file: RemoteFile) -> bytes:
    """Return the bytes of a file, at most one more than it has; its digest is not verified."""
    retries = transport.retries()
    while True:
        try:
            with transport.stream(file.url, retries=retries) as stream:
                parts: list[bytes] = []
                remaining = file.size + 1
                while remaining and (part := stream.read(remaining)):
                    parts.append(part)
                    remaining -= len(part)
                return b"".join(parts)
        except problems.Unreachable as error:
            retries.pause(error)


def write_file(
    transport: Transport, address: str, target: Path, on_bytes: Callable[[int], None] | None = None
) -> None:
    """Write what lies at an address to a file, from its start again after each cut."""
    report = on_bytes or _ignore
    retries = transport.retries()
    while True:
        size = 0
        try:
            with transport.stream(address, retries=retries) as reader, target.open("wb") as writer:
                while block := reader.read():
                    size += writer.write(block)
                    report(len(block))
                length = reader.headers.get("Content-Length", "")
        except problems.Unreachable as cut:
            error = cut
        else:
            if not length.isdecimal() or int(length) == size:
                return
            error = problems.Unreachable(f"{address} was downloaded only in part. Try again.")
        report(-size)
        retries.pause(error)


@dataclass(slots=True)
class _Chunk:
    """A stretch of the file that one request asks for; `position` is the next byte missing."""

    start: int
    end: int
    position: int


class _Receiver:
    """Fills one partial file and returns the digest of its bytes."""

    def __init__(
        self,
        transport: Transport,
        file: RemoteFile,
        partial: Partial,
        ranges: int,
        report: Callable[[int], None],
    ) -> None:
        self._transport = transport
        self._file = file
        self._partial = partial
        self._report = report
        self.reported = 0
        self._has_ranges = ranges > 0
        self._threads = ranges if file.size >= PARALLEL_BYTES and ranges > 1 else 1
        self._chunks = _cut(file.size, partial.spans, CHUNK_BYTES if self._threads > 1 else 0)
        self._pending = deque(chunk for chunk in self._chunks if chunk.position < chunk.end)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._error: BaseException | None = None

    def run(self) -> str:
        """Receive what is missing; return 64 hex digits, or raise what went wrong first."""
        threads = [
            threading.Thread(target=self._work, name="hub-receive", daemon=True)
            for _ in range(min(self._threads, len(self._pending)))
        ]
        is_complete = False
        try:
            for thread in threads:
                thread.start()
            digest = self._hash()
            is_complete = True
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(JOIN_SECONDS)
            if not is_complete:
                self._abandon(is_still_written=any(thread.is_alive() for thread in threads))
        return digest

    def _abandon(self, *, is_still_written: bool) -> None:
        spans = self._spans()
        self._partial.write_journal(spans)
        if is_still_written:
            # A thread is stuck in the network; it must find its file, not another one's number.
            self._partial.leave()
        elif spans:
            self._partial.close()
        else:
            self._partial.discard()

    def _hash(self) -> str:
        digest = hashlib.sha256()
        buffer = memoryview(bytearray(BLOCK_BYTES))
        position = index = 0
        noted = time.monotonic()
        while position < self._file.size:
            with self._changed:
                while (ready := self._chunks[index].position) <= position and not self._error:
                    self._changed.wait(JOURNAL_SECONDS)
                    noted = self._note(noted)
                if self._error:
                    raise self._error
            while position < ready:
                count = self._partial.read_into(buffer[: ready - position], position)
                digest.update(buffer[:count])
                position += count
                noted = self._note(noted)
            if position == self._chunks[index].end:
                index += 1
        return digest.hexdigest()

    def _note(self, noted: float) -> float:
        """Write the journal when it is due, then tell the progress."""
        received = sum(chunk.position - chunk.start for chunk in self._chunks)
        now = time.monotonic()
        if now - noted >= JOURNAL_SECONDS:
            self._partial.write_journal(self._spans())
            noted = now
        if received > self.reported:
            self._report(received - self.reported)
            self.reported = received
        return noted

    def _spans(self) -> list[Span]:
        merged: list[Span] = []
        for chunk in self._chunks:
            if chunk.position == chunk.start:
                continue
            if merged and merged[-1][1] == chunk.start:
                merged[-1] = (merged[-1][0], chunk.position)
            else:
                merged.append((chunk.start, chunk.position))
        return merged

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    chunk = self._pending.popleft()
                except IndexError:
                    return
                self._receive(chunk)
        except BaseException as error:  # noqa: BLE001  (raised again by the calling thread)
            with self._changed:
                self._error = self._error or error
                self._changed.notify()

    def _receive(self, chunk: _Chunk) -> None:
        # A call that ends elsewhere wakes a thread that waits to ask again.
        retries = self._transport.retries(self._stop.wait)
        while chunk.position < chunk.end and not self._stop.is_set():
            before = chunk.position
            try:
                self._read_range(chunk, retries)
            except problems.Unreachable as error:
                if chunk.position > before:
                    retries.progress()
                if not self._stop.is_set():
                    retries.pause(error)

    def _read_range(self, chunk: _Chunk, retries: Retries) -> None:
        is_whole = chunk.position == 0 and chunk.end == self._file.size
        headers = {} if is_whole else {"Range": f"bytes={chunk.position}-{chunk.end - 1}"}
        if not self._has_ranges:
            chunk.position = chunk.start
            headers = {}
        with self._transport.stream(self._file.url, headers, retries=retries) as stream:
            self._check_start(stream, chunk)
            while chunk.position < chunk.end and not self._stop.is_set():
                part = stream.read(min(BLOCK_BYTES, chunk.end - chunk.position))
                if not part:
                    raise problems.Unreachable(
                        f"{self._file.url} ended {chunk.end - chunk.position} bytes too early. "
                        "Try again.",
                        reason="the response was truncated",
                    )
                self._partial.write(part, chunk.position)
                with self._changed:
                    chunk.position += len(part)
                    self._changed.notify()

    def _check_start(self, stream: Stream, chunk: _Chunk) -> None:
        if stream.status == HTTPStatus.PARTIAL_CONTENT:
            match = _CONTENT_RANGE.fullmatch(stream.headers.get("Content-Range", "").strip())
            if not match or int(match[1]) != chunk.position:
                raise _RangesRefused
            total = match[3]
        elif chunk.position or chunk.end != self._file.size:
            raise _RangesRefused
        else:
            total = stream.headers.get("Content-Length", str(self._file.size))
        if total != str(self._file.size):
            raise problems.DigestMismatch(
                f"{self._file.url} has {total} bytes, but the version states {self._file.size}. "
                "Nothing was saved; contact the operator of the hub."
            )


def _cut(size: int, spans: list[Span], chunk_bytes: int) -> list[_Chunk]:
    """Divide a file into chunks in order: those in place, and the gaps between them.

    >>> [(c.start, c.position, c.end) for c in _cut(10, [(0, 3)], 4)]
    [(0, 3, 3), (3, 3, 7), (7, 7, 10)]
    """
    chunks: list[_Chunk] = []
    position = 0
    for start, end in [*spans, (size, size)]:
        while position < start:
            stop = min(start, position + chunk_bytes) if chunk_bytes else start
            chunks.append(_Chunk(position, stop, position))
            position = stop
        if end > start:
            chunks.append(_Chunk(start, end, end))
            position = end
    return chunks


def _ignore(count: int) -> None:
    """Take no notice of progress."""
