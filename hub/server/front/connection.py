"""One client's connection and where its current request stands."""

from __future__ import annotations

import enum
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gunicorn.http import RequestParser
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import InvalidRequestLine, LimitRequestHeaders

from hub.server.front.body import READ_BYTES, BodyStream, RequestBody, RequestBytes
from hub.server.front.direct import Application, read_head
from hub.server.front.response import ResponseWriter

if TYPE_CHECKING:
    from gunicorn.config import Config


# Longest head of a request.
HEAD_BYTES = 2**16
# The first byte of a TLS handshake (RFC 8446 section 5.1). Clients of registries try TLS first, and
# would wait for an answer to it.
TLS_HANDSHAKE = b"\x16"
# A body is streamed to the application once this much of it came at FAST_RATE or more.
STREAM_BYTES = 2**20
# Bytes per second.
FAST_RATE = 2**23
# No more of one body is received before the application reads it.
AHEAD_BYTES = 2**26
# What an application leaves unread of a stream is read up to here to keep the connection.
UNREAD_BYTES = 2**16


class Phase(enum.Enum):
    """Who owns a connection: the event loop in all phases but RUNNING and TRANSFER."""

    HEAD = "waits for a request or the rest of its head"
    BODY = "receives a body"
    QUEUED = "has much of a body and waits until it may be streamed"
    RUNNING = "is in a thread that runs the application"
    TRANSFER = "is in a thread that copies between disk and connection"
    RESPONSE = "waits for its client to take the rest of a response"
    CLOSING = "has sent all and waits for its client to close"


class Pace:
    """Whether a client keeps up, looked at in windows of time."""

    def __init__(self, size: int) -> None:
        self._since = time.monotonic()
        self._size = size

    def is_slow(self, size: int, rate: int, window_seconds: float) -> bool:
        """Whether a window ended in which ``size`` grew by less than ``rate`` bytes per second."""
        now = time.monotonic()
        if now - self._since < window_seconds:
            return False
        is_slow = size - self._size < rate * (now - self._since)
        self._since, self._size = now, size
        return is_slow


class Connection:
    """A client's connection. Its socket never blocks outside of a streamed body."""

    def __init__(self, sock: socket.socket, client: Any, server: Any, folder: str) -> None:
        self.socket = sock
        self.client = client
        self.server = server
        self.phase = Phase.HEAD
        self.since = time.monotonic()
        self.pace = Pace(0)
        self.on_ready: Callable[[Connection], None] | None = None
        self.keep_alive = False
        self.is_streaming = False
        self.is_probe = False
        self.has_ended = False
        self.parser: Any = None
        self.request: Any = None
        self.body: RequestBody | None = None
        self._folder = folder
        self._head = bytearray()
        self._searched = 0
        self._has_whole_head = False
        self._linger_bytes = 0
        self._stream: BodyStream | None = None
        self.writer = ResponseWriter(sock, folder)
        sock.setblocking(False)
        if isinstance(client, tuple):  # TCP: small responses must not wait for an acknowledgement
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def sock(self) -> ResponseWriter:
        """What gunicorn writes a response to."""
        return self.writer

    @property
    def is_idle(self) -> bool:
        """Whether nothing of a request has come."""
        return self.phase is Phase.HEAD and not self._head

    def transferred(self) -> int:
        """Bytes that came of a body, or that the client has taken of a response."""
        if self.phase is Phase.RESPONSE:
            return self.writer.taken_bytes()
        return self.body.size if self.body is not None else 0

    def body_rate(self) -> float:
        """Bytes per second at which the body came so far."""
        if self.body is None:
            return 0.0
        return self.body.size / (1 + time.monotonic() - self.body.started)

    def await_client(self) -> None:
        """The response continues when the client reads more of it."""
        if self.phase is not Phase.RESPONSE:
            self.phase = Phase.RESPONSE
            self.pace = Pace(self.transferred())

    def receive_head(self) -> bool:
        """Read what came; whether a head is complete, or too long.

        Raises OSError where the client left.
        """
        data = self.socket.recv(HEAD_BYTES)
        if not data:
            raise ConnectionResetError("The client closed the connection.")
        if not self._head:
            self.since = time.monotonic()
        self._head += data
        return self.has_head()

    def has_head(self) -> bool:
        """Whether the head of a request is complete, longer than HEAD_BYTES, or TLS."""
        self._has_whole_head = self._head.find(b"\r\n\r\n", max(0, self._searched - 3)) >= 0
        self._searched = len(self._head)
        is_tls = self._head.startswith(TLS_HANDSHAKE)
        return self._has_whole_head or is_tls or len(self._head) >= HEAD_BYTES

    def asks(self, paths: Sequence[str]) -> bool:
        """Whether the request whose head has come is a GET of one of these paths of the hub."""
        prefix = os.environ.get("SCRIPT_NAME", "")
        return self._head.startswith(tuple(f"GET {prefix}{path} ".encode() for path in paths))

    def answer_directly(self, application: Application) -> bool:
        """Answer a plain read as ``application`` does; False, with nothing taken, where it is none.

        Raises OSError where the client or the file is gone.
        """
        head = read_head(self._head, self.client[0]) if isinstance(self.client, tuple) else None
        answer = application(head.environ) if head else None
        if head is None or answer is None:
            return False
        del self._head[: head.length]
        self._searched = 0
        self.writer.sendall(answer.head())
        if answer.file is not None:
            with answer.file as file:
                self.writer.sendfile(file, answer.start, answer.length)
        return True

    def parse(self, config: Config) -> None:
        """Parse the head; raises gunicorn's parse errors."""
        if self._head.startswith(TLS_HANDSHAKE):
            raise InvalidRequestLine("TLS on a port that speaks plain HTTP")
        if not self._has_whole_head:
            raise LimitRequestHeaders(f"more than {HEAD_BYTES} bytes")
        self.parser = RequestParser(config, (), self.client)
        self.parser.unreader = RequestBytes(bytes(self._head))
        self._head.clear()
        self._searched = 0
        self.request = next(self.parser)

    def expects_body(self) -> bool:
        """Whether more of the body must come; what came with the head is part of it."""
        if self.body is not None:
            return False
        # Framing is what gunicorn read in the head; nothing here interprets headers again.
        reader = self.request.body.reader
        length = reader.length if isinstance(reader, LengthReader) else None
        if length == 0:
            return False
        rest = self.parser.unreader.take_unread()
        self.body = RequestBody(length=length, folder=self._folder)
        self.pace = Pace(0)
        if length is None:
            self.body.write(rest)
        else:
            self.body.write(rest[:length])
            self._head += rest[length:]
        return not self.body.is_complete

    def invite_body(self) -> None:
        """Send the client that waits for it a 100 (RFC 9110 section 10.1.1)."""
        if self.request._expected_100_continue:  # noqa: SLF001 - else gunicorn sends it later
            self.request._expected_100_continue = False  # noqa: SLF001
            self.writer.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def receive_body(self, limit: int) -> None:
        """Read up to ``limit`` bytes of the body. Raises OSError."""
        if self.body is None:
            return
        while limit > 0 and not (self.body.is_complete or self.body.is_lost):
            try:
                data = self.socket.recv(min(limit, self.body.next_bytes()))
            except BlockingIOError:
                return
            if not data:
                self.has_ended = True
                return
            self.body.write(data)
            limit -= len(data)

    def is_fast(self) -> bool:
        """Whether the client sends its body so fast that it may go straight to the application."""
        if self.body is None or self.body.size < STREAM_BYTES:
            return False
        return self.body.size >= FAST_RATE * (time.monotonic() - self.body.started)

    def prepare(self, stream_wanted: Callable[[], bool]) -> None:
        """Make the body readable by the application; see BodyStream about ``stream_wanted``."""
        if self.body is not None:
            if self.is_streaming:
                self._stream = BodyStream(self.socket, stream_wanted)
            is_cut = self.has_ended and not self.body.is_complete
            self.parser.unreader.attach(self.body, self._stream, is_cut=is_cut)

    def finish_request(self, *, keep_alive: bool) -> None:
        """The application is done; decides whether another request may follow."""
        self.keep_alive = keep_alive and not self.has_ended
        if self.keep_alive and self.parser is not None:
            most = None
            if self._stream is not None:
                self._stream.stop_waiting()
                most = UNREAD_BYTES
            try:
                self.keep_alive = bool(self.parser.finish_body(max_bytes=most))
            except OSError:  # the application did not read a stream to its end
                self.keep_alive = False
        if self.keep_alive and self.parser is not None:
            self._head[:0] = self.parser.unreader.take_unread()
        if self.body is not None:
            self.body.close()
        self.body = self.request = self.parser = self._stream = None

    def next_request(self) -> bool:
        """Begin again on the same connection; whether the next head has come already."""
        self.writer = ResponseWriter(self.socket, self._folder)
        self.since = time.monotonic()
        return bool(self._head) and self.has_head()

    def refuse(self, status: str, detail: str) -> None:
        """Write a problem (RFC 9457) for a request that never reached the application."""
        code, _, title = status.partition(" ")
        problem = {"type": "about:blank", "title": title, "status": int(code), "detail": detail}
        content = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
            f"Retry-After: 5\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self.keep_alive = False
        self.writer.sendall(head.encode())
        self.writer.sendall(content)

    def begin_closing(self) -> None:
        """End the response: a reset would take its last bytes from a client that still sends."""
        self.phase = Phase.CLOSING
        self.since = time.monotonic()
        self.socket.shutdown(socket.SHUT_WR)

    def drain(self) -> bool:
        """Read and drop what the client still sends; whether the connection can be closed."""
        data = self.socket.recv(READ_BYTES)
        self._linger_bytes += len(data)
        return not data or self._linger_bytes > AHEAD_BYTES

    def close(self) -> None:
        """Close at once; the kernel must not go on with a response that was not taken."""
        if self.writer.waiting_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.close()
        if self.body is not None:
            self.body.close()
        self.socket.close()
