"""Servers that send one byte after another, over real sockets."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

PAUSE_SECONDS = 0.1


class Dribble:
    """A server that sends `start` at once, then one byte of `rest` after another.

    It reads requests as slowly where `reads` says how many bytes at a time.
    """

    def __init__(self, start: bytes, rest: bytes, *, reads: int = 1 << 16) -> None:
        self.start, self.rest, self.reads = start, rest, reads
        self.asked = 0
        self._stop = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._threads.append(threading.Thread(target=self._answer, args=(connection,)))
                self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while b"\r\n\r\n" not in connection.recv(self.reads):
                self._stop.wait(PAUSE_SECONDS)
            self.asked += 1
            connection.sendall(self.start)
            for byte in self.rest:
                connection.sendall(bytes([byte]))
                if self._stop.wait(PAUSE_SECONDS):
                    return

    def close(self) -> None:
        self._stop.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join()
