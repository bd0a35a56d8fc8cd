"""Requests of mirrors: to which addresses, with which token, and how much they read."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hub.protocol import problems
from registry.mirrors import outgoing


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("Authorization")))
        status, headers, body = self.server.pages[self.path]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def servers():
    """Make servers of pages; each notes its requests."""
    made = []

    def make(pages):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        server.pages, server.requests = pages, []
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.append(server)
        return server

    yield make
    for server in made:
        server.shutdown()
        server.server_close()


def test_a_redirect_to_a_private_address_is_never_asked(servers):
    inner = servers({"/": (200, {}, b"{}")})
    for host in (inner.url, inner.url.replace("127.0.0.1", "localhost")):
        source = servers({"/a": (302, {"Location": f"{host}/"}, b"")})
        with pytest.raises(problems.Unreachable, match="is not a public address"):
            outgoing.Client(source.url, "hf_secret").get("/a")
    assert inner.requests == []


@pytest.mark.parametrize("target", ["ftp://example.org/x", "file:///etc/passwd", "http://u@x/"])
def test_a_redirect_to_no_web_address_is_refused(servers, target):
    source = servers({"/a": (302, {"Location": target}, b"")})
    with pytest.raises(problems.HubError):
        outgoing.Client(source.url).get("/a")


def test_a_redirect_at_the_origin_carries_the_token(servers):
    source = servers({"/a": (302, {"Location": "/b"}, b""), "/b": (200, {}, b"[1]")})
    assert outgoing.Client(source.url, "hf_secret").get("/a").content == [1]
    assert source.requests == [("/a", "Bearer hf_secret"), ("/b", "Bearer hf_secret")]


def test_a_circle_of_redirects_ends(servers):
    source = servers({"/a": (302, {"Location": "/a"}, b"")})
    with pytest.raises(problems.Unreachable, match="redirects too many times"):
        outgoing.Client(source.url).get("/a")
    assert len(source.requests) == outgoing.REDIRECTS


def test_a_long_answer_and_a_deep_one_are_refused(servers, monkeypatch):
    monkeypatch.setattr(outgoing, "MOST_ANSWER_BYTES", 200_000)
    deep = b"[" * 100_000
    source = servers({"/long": (200, {}, b" " * 300_000), "/deep": (200, {}, deep)})
    with pytest.raises(problems.TooLarge):
        outgoing.Client(source.url).get("/long")
    with pytest.raises(problems.Unreachable, match="does not answer as a model hub"):
        outgoing.Client(source.url).get("/deep")


def test_an_answer_that_never_ends_is_given_up(servers, monkeypatch):
    monkeypatch.setattr(outgoing, "ANSWER_READ_SECONDS", 0.0)
    source = servers({"/slow": (200, {}, b"[]")})
    with pytest.raises(problems.Unreachable, match="to answer"):
        outgoing.Client(source.url).get("/slow")


def test_a_body_that_is_cut_is_no_end(servers):
    source = servers({"/file": (200, {"Content-Length": "20"}, b"0123456789")})
    with outgoing.Client(source.url).open("/file", 0) as stream:
        assert stream.read(100) == b"0123456789"
        with pytest.raises(problems.Unreachable):
            stream.read(100)


def test_a_source_without_ranges_is_read_from_the_offset(servers):
    source = servers({"/file": (200, {}, b"0123456789")})
    with outgoing.Client(source.url).open("/file", 4) as stream:
        assert stream.read(100) == b"456789"
    with (
        pytest.raises(problems.Unreachable, match="fewer bytes"),
        outgoing.Client(source.url).open("/file", 11),
    ):
        pass


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Hub.example.org/zoo", "https://hub.example.org"),
        ("https://hub.example.org:443/", "https://hub.example.org"),
        ("http://[::1]:8000/a/b", "http://[::1]:8000"),
    ],
)
def test_an_origin_has_one_form(url, origin):
    assert outgoing.origin(url) == origin


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nX-Long: ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n",
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 9000\r\n\r\n",
    ],
    ids=["head", "body", "refusal"],
)
def test_an_answer_byte_by_byte_is_given_up(dribble, monkeypatch, first):
    monkeypatch.setattr(outgoing, "ANSWER_SECONDS", 0.7)
    server = dribble(first, b"x" * 1000)
    began = time.monotonic()
    with pytest.raises(problems.HubError):
        outgoing.Client(server.url).get("/api/models/a/b")
    assert time.monotonic() - began < 3
