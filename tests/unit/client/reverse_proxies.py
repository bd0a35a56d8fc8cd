"""A reverse proxy before a hub that changes answers as some real ones do."""

from __future__ import annotations

import gzip
import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KEPT_BY_STRIPPING = {"content-type", "location"}
PAGE = b"<html><body>Blocked by policy</body></html>"


class ReverseProxy:
    """A server at `url` whose `faults` are a set of:

    `gzip` (compresses, whatever the client accepts), `brotli` (names a coding that nobody has),
    `strip` (drops headers), `no-ranges`, `chunked` (no lengths), `cut` (the first two long bodies),
    `page` (HTML in place of files), `page-everywhere`.
    """

    def __init__(self, upstream, *faults):
        self.upstream = urlsplit(upstream).netloc
        self.faults = set(faults)
        self.cuts = 2
        self.requests = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def log_message(self, *args):
        """Say nothing."""

    def do_GET(self):
        proxy = self.server.proxy
        proxy.requests.append(self.path)
        faults = proxy.faults
        sent = {name: value for name, value in self.headers.items() if name != "Connection"}
        if "no-ranges" in faults:
            sent.pop("Range", None)
        length = int(self.headers.get("Content-Length") or 0)
        upstream = http.client.HTTPConnection(proxy.upstream)
        upstream.request(self.command, self.path, self.rfile.read(length), sent)
        answer = upstream.getresponse()
        body = answer.read()
        upstream.close()
        headers = {
            name.lower(): value
            for name, value in answer.getheaders()
            if name.lower() not in {"content-length", "connection", "transfer-encoding"}
        }
        self._answer(answer.status, *self._spoilt(answer.status, headers, body))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def _spoilt(self, status, headers, body):
        faults = self.server.proxy.faults
        is_file = "/blobs/" in self.path
        if "strip" in faults:
            headers = {key: value for key, value in headers.items() if key in KEPT_BY_STRIPPING}
        if "gzip" in faults and status in {200, 206}:
            body = gzip.compress(body)
            headers["content-encoding"] = "gzip"
        if "brotli" in faults and is_file:
            headers["content-encoding"] = "x-unknown"
        if "page-everywhere" in faults or ("page" in faults and is_file):
            headers, body = {"content-type": "text/html; charset=utf-8"}, PAGE
        return headers, body

    def _answer(self, status, headers, body):
        proxy = self.server.proxy
        is_chunked = "chunked" in proxy.faults and status not in {204, 304}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        elif status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if "cut" in proxy.faults and len(body) > 100_000 and proxy.cuts:
            proxy.cuts -= 1
            body = body[: len(body) // 3]
            self.close_connection = True
        if status != 304:
            self.wfile.write(body)
