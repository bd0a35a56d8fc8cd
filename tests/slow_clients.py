"""Crowds of slow clients on plain sockets: bodies and responses a byte at a time, and idle ones."""

from __future__ import annotations

import contextlib
import http.client
import resource
import selectors
import socket
import threading
import time
from statistics import quantiles

INTERVAL_SECONDS = 0.5


class SlowClients:
    """Connections that are kept open by one thread of this process until the block ends.

    ``bodies`` announce a megabyte and send a byte each INTERVAL_SECONDS; ``readers`` ask for
    ``path`` and take 64 bytes each; ``idle`` ones say nothing and come back when they are closed.
    """

    def __init__(self, port, *, bodies=0, readers=0, idle=0, path="/", headers="", host="hub"):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._place = ("127.0.0.1", port)
        head = f"Host: {host}\r\n{headers}"
        self._post = (
            f"POST /api/v1/cards/check HTTP/1.1\r\n{head}Content-Type: text/markdown\r\n"
            "Content-Length: 1000000\r\n\r\n#"
        ).encode()
        self._get = f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()
        self._counts = {"body": bodies, "reader": readers, "idle": idle}
        self._open = {kind: set() for kind in self._counts}
        self._waiting = selectors.DefaultSelector()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.closed = 0
        self.is_complete = threading.Event()

    def __enter__(self):
        self._thread.start()
        if not self.is_complete.wait(60):
            raise TimeoutError(f"Only {self.open()} connections could be opened.")
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join(30)

    def open(self):
        """How many connections of each kind are open."""
        return {kind: len(sockets) for kind, sockets in self._open.items()}

    def _run(self):
        while not self._stopping.is_set():
            for kind, count in self._counts.items():
                while len(self._open[kind]) < count and not self._stopping.is_set():
                    self._connect(kind)
            self.is_complete.set()
            until = time.monotonic() + INTERVAL_SECONDS
            while (left := until - time.monotonic()) > 0:
                for key, _ in self._waiting.select(left):
                    self._close(key.data, key.fileobj)
            for kind, use in (("body", self._send_byte), ("reader", self._take_bytes)):
                for each in list(self._open[kind]):
                    use(kind, each)
        for kind, sockets in self._open.items():
            for each in list(sockets):
                self._close(kind, each)

    def _connect(self, kind):
        connection = socket.socket()
        connection.settimeout(20)
        if kind == "reader":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(self._place)
        if kind != "idle":
            connection.sendall(self._post if kind == "body" else self._get)
        connection.setblocking(False)
        self._open[kind].add(connection)
        if kind == "idle":
            self._waiting.register(connection, selectors.EVENT_READ, kind)

    def _send_byte(self, kind, connection):
        try:
            connection.send(b"#")
        except BlockingIOError:
            pass
        except OSError:
            self._close(kind, connection)

    def _take_bytes(self, kind, connection):
        with contextlib.suppress(BlockingIOError):
            try:
                taken = connection.recv(64)
            except ConnectionError:
                taken = b""
            if not taken:
                self._close(kind, connection)

    def _close(self, kind, connection):
        if connection in self._open[kind]:
            self._open[kind].remove(connection)
            if kind == "idle":
                self._waiting.unregister(connection)
            self.closed += 1
        connection.close()


def latencies(port, path="/healthz", *, count=100, pause=0.02, host="hub"):
    """Seconds of ``count`` requests one after another, each on a connection of its own."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("GET", path, headers={"Host": host})
        answer = line.getresponse()
        answer.read()
        line.close()
        if answer.status != 200:
            raise ConnectionError(f"{path} answered {answer.status}.")
        times.append(time.perf_counter() - began)
        time.sleep(pause)
    return times


def p95(times):
    """The 95th percentile of some times."""
    return quantiles(times, n=20)[-1]
