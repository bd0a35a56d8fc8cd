"""The body of one request: received by the event loop, read by the application."""

from __future__ import annotations

import re
import select
import socket
import tempfile
import time
from collections.abc import Callable

from gunicorn.http.unreader import Unreader

MEMORY_BYTES = 2**18
READ_BYTES = 2**20
# A chunk's size line with its extensions; gunicorn refuses longer ones itself.
_LINE_BYTES = 8190


class ChunkedEnd:
    """Finds the end of a chunked body (RFC 9112 section 7.1) without keeping its bytes.

    Only a hint that the body is complete: gunicorn's parser decides what the bytes mean. So what
    looks malformed counts as the end, and the parser refuses it.
    """

    _SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")

    def __init__(self) -> None:
        self.reached = False
        self._data_left = 0
        self._in_trailers = False
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        """Look at the next bytes."""
        position = 0
        while position < len(data) and not self.reached:
            if self._data_left:
                step = min(self._data_left, len(data) - position)
                self._data_left -= step
                position += step
                continue
            end = data.find(b"\n", position)
            if end < 0:
                self._line += data[position:]
                self.reached = len(self._line) > _LINE_BYTES
                return
            self._end_of_line(bytes(self._line) + data[position : end + 1])
            self._line.clear()
            position = end + 1

    def _end_of_line(self, line: bytes) -> None:
        if self._in_trailers:
            self.reached = line in (b"\r\n", b"\n")
            return
        size = self._SIZE.match(line)
        if size is None:
            self.reached = True
        elif int(size[0], 16):
            self._data_left = int(size[0], 16) + 2  # and the line break after the data
        else:
            self._in_trailers = True


class RequestBody:
    """Bytes of a body that arrived before the application asked for them.

    The first MEMORY_BYTES are held in memory, more in an unnamed file in ``folder``.
    """

    def __init__(self, *, length: int | None, folder: str) -> None:
        self.length = length
        self.size = 0
        self.is_lost = False
        self.started = time.monotonic()
        self._end = ChunkedEnd() if length is None else None
        self._store = tempfile.SpooledTemporaryFile(MEMORY_BYTES, dir=folder)  # noqa: SIM115 - closed with the request

    @property
    def is_complete(self) -> bool:
        """Whether nothing of the body is missing."""
        if self._end is not None:
            return self._end.reached
        return self.length is not None and self.size >= self.length

    @property
    def is_on_disk(self) -> bool:
        """Whether the next write goes to a file, which may have to wait for the disk."""
        return self.size + self.next_bytes() > MEMORY_BYTES

    def next_bytes(self) -> int:
        """How many bytes to ask the connection for next, at most READ_BYTES."""
        return READ_BYTES if self.length is None else min(READ_BYTES, self.length - self.size)

    def write(self, data: bytes) -> None:
        """Keep what arrived; where the disk is full the body ``is_lost``."""
        try:
            self._store.write(data)
        except OSError:
            self.is_lost = True
        self.size += len(data)
        if self._end is not None:
            self._end.feed(data)

    def rewind(self) -> None:
        """From now on the body is read."""
        self._store.seek(0)

    def read(self, size: int) -> bytes:
        """The next bytes, all for -1; empty at the end of what arrived."""
        return bytes(self._store.read(size))

    def close(self) -> None:
        """Free what it holds."""
        self._store.close()


class BodyStream:
    """The rest of a body, read from a connection that does not block.

    A stream holds a thread of the application, so it must not stall, and must be quick while
    ``is_wanted`` says that other bodies wait for the thread.
    """

    STALL_SECONDS = 10.0
    # Bytes per second, looked at in windows of STALL_SECONDS.
    RATE = 2**16

    def __init__(self, connection: socket.socket, is_wanted: Callable[[], bool]) -> None:
        self._connection = connection
        self._is_wanted = is_wanted
        self._patience = self.STALL_SECONDS
        self._window = time.monotonic()
        self._window_bytes = 0

    def stop_waiting(self) -> None:
        """From now on only what has come already is read."""
        self._patience = 0.0

    def read(self, size: int) -> bytes:
        """The next bytes, empty where the client closed; raises TimeoutError where it is slow."""
        while True:
            try:
                data = self._connection.recv(size)
            except BlockingIOError:
                self._wait()
            else:
                self._window_bytes += len(data)
                return data

    def _wait(self) -> None:
        now = time.monotonic()
        if now - self._window > self.STALL_SECONDS:
            if self._window_bytes < self.RATE * self.STALL_SECONDS and self._is_wanted():
                raise TimeoutError("The body comes too slowly while others wait.")
            self._window, self._window_bytes = now, 0
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        if not poll.poll(self._patience * 1000):
            raise TimeoutError("The body stopped coming.")


class RequestBytes(Unreader):  # type: ignore[misc] # gunicorn has no types
    """What gunicorn's parser reads: the head, the received body, then a stream if there is one.

    Raises ConnectionResetError where the client went away before the end, so that no application
    takes a part of a body for the whole, and TimeoutError where a stream is too slow.
    """

    def __init__(self, head: bytes) -> None:
        super().__init__()
        self._head = head
        self._body: RequestBody | None = None
        self._stream: BodyStream | None = None
        self._is_cut = False

    def take_unread(self) -> bytes:
        """The bytes that came and were not parsed, such as the next requests; removed here.

        A chunked body is received in large reads, so requests behind it may be among its bytes.
        """
        unread = self.take_buffered() + self._head
        self._head = b""
        if self._body is not None:
            unread += self._body.read(-1)
        return bytes(unread)

    def attach(self, body: RequestBody, stream: BodyStream | None, *, is_cut: bool) -> None:
        """Go on with a received body; ``is_cut`` where the client closed before its end."""
        body.rewind()
        self._body, self._stream, self._is_cut = body, stream, is_cut

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next piece, at most READ_BYTES; gunicorn calls it."""
        if self._head:
            head, self._head = self._head, b""
            return head
        size = min(max(size_hint or 0, 2**13), READ_BYTES)
        if self._body is not None and (data := self._body.read(size)):
            return data
        if self._stream is not None:
            data = self._stream.read(size)
            if data:
                return data
            self._is_cut = True
        if self._is_cut:
            raise ConnectionResetError("The client closed the connection within a request body.")
        return b""
