"""Another address of a hub that notes what was asked and how long the hub took to answer."""

from __future__ import annotations

import http.client
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OWN = frozenset({"connection", "transfer-encoding", "keep-alive", "date", "server"})


@dataclass(frozen=True)
class Asked:
    """One request: the method, the path, the status of its answer, and the milliseconds."""

    method: str
    path: str
    status: int
    milliseconds: float


class Watched:
    """A hub behind a plain reverse proxy on loopback."""

    def __init__(self, port):
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(port, self.asked))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def missing(self):
        """What was asked for and is not there."""
        return [each for each in self.asked if each.status == 404]

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(port, asked):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            start = time.perf_counter()
            try:
                line.request(self.command, self.path, body, dict(self.headers))
                answer = line.getresponse()
                content = answer.read()
            finally:
                line.close()
            spent = (time.perf_counter() - start) * 1000
            asked.append(Asked(self.command, self.path, answer.status, spent))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in OWN:
                    self.send_header(name, value)
            if "Content-Length" not in answer.headers:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_OPTIONS = forward  # noqa: N815

        def log_message(self, *_):
            """Say nothing."""

    return Handler
