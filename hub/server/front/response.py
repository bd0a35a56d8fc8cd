"""The response of one request: written by the application, sent as fast as the client takes it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import struct
import tempfile
import termios
import time
from collections import deque
from dataclasses import dataclass
from io import RawIOBase
from typing import BinaryIO

# What a client has not taken yet is held in memory up to here, then in an unnamed file.
MEMORY_BYTES = 2**18
# An application that is this far ahead of its client waits for it, which holds a thread ...
AHEAD_BYTES = 2**26
# ... so the client must take so many bytes per second, looked at in windows of WINDOW_SECONDS.
RATE = 2**16
WINDOW_SECONDS = 10.0
# Smaller files need no care for full packets.
CORK_BYTES = 2**20
# One call sends no more than this, so that other connections have their turn.
TURN_BYTES = 2**24


@dataclass(slots=True)
class _FilePart:
    """A range of an open file that is still to be sent; closed with the last byte."""

    file: BinaryIO | RawIOBase
    offset: int
    length: int


class ResponseWriter:
    """Stands in for the socket that gunicorn writes a response to; never waits for slow clients.

    It is used by one thread at a time: that of the application, then whichever sends the rest.
    """

    def __init__(self, connection: socket.socket, folder: str) -> None:
        self._socket = connection
        self._folder = folder
        self._parts: deque[memoryview | _FilePart] = deque()
        self._in_memory = 0
        self._head: bytes | None = None
        self._is_corked = False
        self._is_aborted = False
        self.waiting_bytes = 0
        self._sent_bytes = 0
        self._window, self._window_bytes = time.monotonic(), 0

    # What gunicorn calls.

    def sendall(self, data: bytes) -> None:
        """Send ``data``, or keep it until the client takes it; raises OSError when it is gone.

        The first bytes, which are the headers, go together with what follows them.
        """
        if self._head is None:
            self._head = bytes(data)
            return
        self._flush_head(data)

    def sendfile(
        self, file: BinaryIO | RawIOBase, offset: int = 0, count: int | None = None
    ) -> None:
        """Send a part of a file by the kernel; the caller may close the file afterwards."""
        length = os.fstat(file.fileno()).st_size - offset if count is None else count
        # Full packets: without, the kernel sends what each page of the file fills.
        self._cork(on=length > CORK_BYTES)
        self._flush_head(b"", more=True)
        remaining = _FilePart(file, offset, length)
        if not self._parts:
            with contextlib.suppress(BlockingIOError):
                self._send_range(remaining, TURN_BYTES)
        if remaining.length:
            remaining.file = os.fdopen(os.dup(file.fileno()), "rb", buffering=0)
            self._parts.append(remaining)
            self.waiting_bytes += remaining.length
            self.send_waiting()

    def send(self, data: bytes) -> int:
        """Send an interim response (1xx) at once."""
        return self._socket.send(data)

    def fileno(self) -> int:
        """The connection's descriptor."""
        return self._socket.fileno()

    def gettimeout(self) -> float:
        """Writing never waits."""
        return 0.0

    def shutdown(self, how: int) -> None:
        """Send nothing more; gunicorn asks for this where an application broke off."""
        self.close()
        self._is_aborted = True
        self._socket.shutdown(how)
        raise ConnectionAbortedError("The application broke off its response.")

    # What the hub calls.

    def is_gone(self) -> bool:
        """Whether the client closed the connection while it was being served."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def finish(self) -> bool:
        """The application is done: send what is left; whether the client has taken everything."""
        if self._head and not self._is_aborted:
            self._flush_head(b"")
        return self.send_waiting()

    def send_waiting(self) -> bool:
        """Send what the connection takes now, at most TURN_BYTES; whether nothing is left."""
        remaining = TURN_BYTES
        with contextlib.suppress(BlockingIOError):
            while self._parts and remaining > 0:
                remaining -= self._send_part(self._parts[0], remaining)
        if not self._parts:
            self._cork(on=False)
        return not self._parts

    def taken_bytes(self) -> int:
        """What the client has acknowledged; the kernel may hold megabytes more."""
        unacknowledged = struct.pack("i", 0)
        with contextlib.suppress(OSError):  # a kernel that cannot tell: what was handed to it
            unacknowledged = fcntl.ioctl(self.fileno(), termios.TIOCOUTQ, unacknowledged)
        return self._sent_bytes - int(struct.unpack("i", unacknowledged)[0])

    def close(self) -> None:
        """Forget what is left."""
        while self._parts:
            part = self._parts.popleft()
            if isinstance(part, _FilePart):
                part.file.close()
        self.waiting_bytes = 0

    def _flush_head(self, data: bytes, *, more: bool = False) -> None:
        """Send the headers with ``data``; ``more`` says that a file follows at once."""
        if self._head:
            data, self._head = self._head + data, b""
        view = memoryview(data)
        if not self._parts and view:
            with contextlib.suppress(BlockingIOError):
                count = self._socket.send(view, socket.MSG_MORE if more else 0)
                self._sent_bytes += count
                view = view[count:]
        if view:
            self._keep(view)

    def _keep(self, data: memoryview) -> None:
        if self._in_memory + len(data) <= MEMORY_BYTES:
            self._parts.append(memoryview(bytes(data)))
            self._in_memory += len(data)
        else:
            last = self._parts[-1] if self._parts else None
            if not isinstance(last, _FilePart) or not last.file.writable():
                overflow = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115 - closed when sent
                last = _FilePart(overflow, 0, 0)
                self._parts.append(last)
            last.file.seek(0, os.SEEK_END)
            last.length += last.file.write(data)
        self.waiting_bytes += len(data)
        self._window, self._window_bytes = time.monotonic(), self._sent_bytes
        while self.waiting_bytes > AHEAD_BYTES:
            self._wait_for_client()
            self.send_waiting()

    def _send_part(self, part: memoryview | _FilePart, limit: int) -> int:
        if isinstance(part, _FilePart):
            count = self._send_range(part, limit)
            if not part.length:
                part.file.close()
                self._parts.popleft()
        else:
            count = self._socket.send(part)
            self._sent_bytes += count
            self._in_memory -= count
            if count == len(part):
                self._parts.popleft()
            else:
                self._parts[0] = part[count:]
        self.waiting_bytes -= count
        return count

    def _send_range(self, part: _FilePart, limit: int) -> int:
        size = min(part.length, limit)
        count = os.sendfile(self._socket.fileno(), part.file.fileno(), part.offset, size)
        if not count:
            raise ConnectionAbortedError("A file became shorter while it was being sent.")
        part.offset += count
        part.length -= count
        self._sent_bytes += count
        return count

    def _wait_for_client(self) -> None:
        now = time.monotonic()
        if now - self._window > WINDOW_SECONDS:
            if self._sent_bytes - self._window_bytes < RATE * WINDOW_SECONDS:
                raise TimeoutError("The client takes the response too slowly.")
            self._window, self._window_bytes = now, self._sent_bytes
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        if not poll.poll(WINDOW_SECONDS * 1000):
            raise TimeoutError("The client takes nothing of the response.")

    def _cork(self, *, on: bool) -> None:
        # Linux alone has it, and only for TCP; a connection that is gone needs it no more.
        if on != self._is_corked and hasattr(socket, "TCP_CORK"):
            self._is_corked = on
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, on)
