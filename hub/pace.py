"""Connections on which every answer ends: one that comes too slowly is given up.

The timeout of a socket is one of silence, which a server that sends a byte now and then never
breaks. Here it is the time for the whole head of an answer, and a body must bring 1 kB/s over that
time, not counting the time in which nothing is read. A request may be sent as slowly.
"""

from __future__ import annotations

import http.client
import io
import math
import socket
import time
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import urllib3
    from _typeshed import WriteableBuffer

BYTES_PER_SECOND = 1000
SEND_SECONDS = 60.0


class SlowAnswerError(TimeoutError):
    """An answer was given up because it came too slowly."""


class _Reader(io.RawIOBase):
    """The bytes of a socket; `_seconds` are those that may be waited until more must be there."""

    def __init__(self, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._sock = sock
        self._raw = raw
        self._seconds = sock.gettimeout() or math.inf
        self._waited = 0.0
        self._missing = math.inf
        self._reason = f"no complete response headers in {self._seconds:g} s"

    def begin_body(self) -> None:
        """Expect a body from now on."""
        self._reason = f"less than 1 kB/s for {self._seconds:g} s"
        self._renew()

    def _renew(self) -> None:
        self._waited = 0.0
        self._missing = self._seconds * BYTES_PER_SECOND

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        left = self._seconds - self._waited
        if left <= 0:
            raise SlowAnswerError(self._reason)
        self._sock.settimeout(None if left == math.inf else left)
        began = time.monotonic()
        try:
            count: int | None = self._raw.readinto(buffer)
        except TimeoutError:
            raise SlowAnswerError(self._reason) from None
        self._waited += time.monotonic() - began
        self._missing -= count or 0
        if self._missing <= 0:
            self._renew()
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer that is read so."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self._reader = _Reader(sock, self.fp.detach())
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        self._reader.begin_body()


class _Paced:
    """What such a connection does otherwise."""

    response_class = _Response
    sock: socket.socket | None

    def send(self, data: Any) -> None:
        if self.sock is None or not isinstance(data, bytes | bytearray):
            super().send(data)  # type: ignore[misc]
            return
        # A socket's timeout is for all bytes of one call, and here the one of connecting at first.
        before = self.sock.gettimeout()
        self.sock.settimeout(SEND_SECONDS)
        view, step = memoryview(data), int(SEND_SECONDS * BYTES_PER_SECOND)
        for start in range(0, len(view), step):
            super().send(view[start : start + step])  # type: ignore[misc]
        self.sock.settimeout(before)


@cache
def _pool(kind: type[urllib3.HTTPConnectionPool]) -> type[urllib3.HTTPConnectionPool]:
    connection = type("PacedConnection", (_Paced, kind.ConnectionCls), {})
    return type("PacedPool", (kind,), {"ConnectionCls": connection})


def paced(manager: urllib3.PoolManager) -> urllib3.PoolManager:
    """Give the manager connections of this kind."""
    pools = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {scheme: _pool(kind) for scheme, kind in pools.items()}
    return manager
