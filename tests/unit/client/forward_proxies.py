"""Small forward proxies on loopback: HTTP with CONNECT, and SOCKS5, each with a password or none.

Host names are not resolved: every connection goes to one server, as if its name had led there.
"""

from __future__ import annotations

import base64
import contextlib
import selectors
import socket
import socketserver
import struct
import threading
from email import message_from_bytes
from urllib.parse import urlsplit


class ForwardProxy(socketserver.ThreadingTCPServer):
    """A proxy of one kind; ``targets`` are the hosts it was asked for."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, handler, target, credentials=None, refusal=None):
        super().__init__(("127.0.0.1", 0), handler)
        self.target = urlsplit(target).port
        self.credentials = credentials
        self.refusal = refusal
        self.targets = []
        self.port = self.server_address[1]
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self):
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients of these tests go away on purpose."""


class HttpHandler(socketserver.StreamRequestHandler):
    """CONNECT as a tunnel; anything else is sent on without the proxy's own header."""

    def handle(self):
        lines = []
        while (line := self.rfile.readline()) not in {b"\r\n", b""}:
            lines.append(line)
        if not lines:
            return
        method, target, _ = lines[0].decode().split()
        self.server.targets.append(target)
        fields = message_from_bytes(b"".join(lines[1:]))
        if self.server.refusal:
            self._refuse(self.server.refusal)
        elif self.server.credentials and not self._is_welcome(fields.get("Proxy-Authorization")):
            self._refuse("407 Proxy Authentication Required")
        else:
            with socket.create_connection(("127.0.0.1", self.server.target)) as onward:
                if method == "CONNECT":
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    path = urlsplit(target)._replace(scheme="", netloc="").geturl()
                    head = [f"{method} {path} HTTP/1.1\r\nConnection: close\r\n".encode()]
                    head += [line for line in lines[1:] if not line.lower().startswith(b"proxy-")]
                    onward.sendall(b"".join(head) + b"\r\n")
                relay(self.connection, onward)

    def _is_welcome(self, field):
        scheme, _, text = (field or "").partition(" ")
        return scheme == "Basic" and base64.b64decode(text).decode() == self.server.credentials

    def _refuse(self, status):
        self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())


class SocksHandler(socketserver.StreamRequestHandler):
    """SOCKS5 (RFC 1928) with user and password (RFC 1929) where the server has some."""

    def handle(self):
        _, count = self.rfile.read(2)
        offered = self.rfile.read(count)
        method = 2 if self.server.credentials else 0
        if method not in offered:
            self.wfile.write(b"\x05\xff")
            return
        self.wfile.write(bytes([5, method]))
        if method == 2:
            user = self.rfile.read(self.rfile.read(2)[1])
            password = self.rfile.read(self.rfile.read(1)[0])
            is_welcome = f"{user.decode()}:{password.decode()}" == self.server.credentials
            self.wfile.write(b"\x01\x00" if is_welcome else b"\x01\x01")
            if not is_welcome:
                return
        _, _, _, kind = self.rfile.read(4)
        host = (
            self.rfile.read(self.rfile.read(1)[0]).decode()
            if kind == 3
            else socket.inet_ntoa(self.rfile.read(4))
        )
        (port,) = struct.unpack(">H", self.rfile.read(2))
        self.server.targets.append(f"{host}:{port}")
        with socket.create_connection(("127.0.0.1", self.server.target)) as onward:
            self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
            relay(self.connection, onward)


def relay(one, other):
    """Carry bytes both ways until a side ends."""
    with selectors.DefaultSelector() as ready, contextlib.suppress(OSError):
        ready.register(one, selectors.EVENT_READ, other)
        ready.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in ready.select():
                if not (part := key.fileobj.recv(65536)):
                    return
                key.data.sendall(part)
