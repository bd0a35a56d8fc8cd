"""Receives one file in parallel ranges into its partial file, and hashes it while it arrives.

Receiving threads write each byte once, to its place in a preallocated file; the calling thread
hashes the written prefix as it grows.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from hub.client import cancellation
from hub.client.answers import Stream
from hub.client.cache import RemoteFile
from hub.client.retries import Retries
from hub.client.transport import Transport
from hub.protocol import problems

if TYPE_CHECKING:
    from hub.client.partial_downloads import Partial, Span

PARALLEL_BYTES = 64_000_000
CHUNK_BYTES = 32 << 20
BLOCK_BYTES = 1 << 20
JOURNAL_SECONDS = 2.0
JOIN_SECONDS = 5.0
CONTENT_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})")


class RangesRefused(Exception):  # noqa: N818  (`download` starts again)
    """The server sends whole files only."""


@dataclass(slots=True)
class Chunk:
    """A stretch of the file that one request asks for; `position` is the next byte missing."""

    start: int
    end: int
    position: int


class Receiver:
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
        cancellation.check()
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

    def _receive(self, chunk: Chunk) -> None:
        # A call that ends elsewhere wakes a thread that waits to ask again.
        retries = self._transport.retries(self._stop.wait)
        while chunk.position < chunk.end and not self._stop.is_set():
            before = chunk.position
            try:
                self._read_range(chunk, retries)
            except problems.Unreachable as error:
                if chunk.position > before and not error.is_slow:
                    retries.progress()
                if not self._stop.is_set():
                    retries.pause(error)

    def _read_range(self, chunk: Chunk, retries: Retries) -> None:
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

    def _check_start(self, stream: Stream, chunk: Chunk) -> None:
        if stream.status == HTTPStatus.PARTIAL_CONTENT:
            if stream.is_coded:
                raise RangesRefused  # a range of which bytes?
            match = CONTENT_RANGE.fullmatch(stream.headers.get("Content-Range", "").strip())
            if not match or int(match[1]) != chunk.position:
                raise RangesRefused
            total = match[3]
        elif chunk.position or chunk.end != self._file.size:
            raise RangesRefused
        elif stream.is_coded:
            return
        else:
            total = stream.headers.get("Content-Length", str(self._file.size))
        if total != str(self._file.size):
            raise problems.DigestMismatch(
                f"{self._file.url} has {total} bytes, but the version states {self._file.size}. "
                "Nothing was saved; contact the operator of the hub."
            )


def _cut(size: int, spans: list[Span], chunk_bytes: int) -> list[Chunk]:
    """Divide a file into chunks in order: those in place, and the gaps between them.

    >>> [(c.start, c.position, c.end) for c in _cut(10, [(0, 3)], 4)]
    [(0, 3, 3), (3, 3, 7), (7, 7, 10)]
    """
    chunks: list[Chunk] = []
    position = 0
    for start, end in [*spans, (size, size)]:
        while position < start:
            stop = min(start, position + chunk_bytes) if chunk_bytes else start
            chunks.append(Chunk(position, stop, position))
            position = stop
        if end > start:
            chunks.append(Chunk(start, end, end))
            position = end
    return chunks
