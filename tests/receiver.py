"""A real receiver of webhooks on this machine."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook

NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")


class Receiver(ThreadingHTTPServer):
    """What it received, and what it answers: a status with headers and a body."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.messages = []
        self.answer = (204, {}, b"")
        self.before_answer = lambda: None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    def ids(self):
        return [headers["webhook-id"] for headers, _ in self.messages]

    def verified(self, secret, position=-1):
        """A message, as the reference implementation of Standard Webhooks reads it."""
        headers, body = self.messages[position]
        return Webhook(secret).verify(body, {name: headers[name] for name in NAMES})


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.messages.append((dict(self.headers), body))
        self.server.before_answer()
        status, headers, content = self.server.answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def receiving():
    """A receiver that runs within this."""
    server = Receiver()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
