"""Heads of plain reads: read as gunicorn reads them, or left to it."""

from __future__ import annotations

import pytest
from gunicorn.config import Config
from gunicorn.http import RequestParser, wsgi
from hypothesis import given
from hypothesis import strategies as st

from hub.server.front.body import RequestBytes
from hub.server.front.direct import read_head

CLIENT = ("192.0.2.7", 4711)
USUAL = "Host: hub.example\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"


def by_gunicorn(head):
    """The same names and values, read by gunicorn."""
    config = Config()
    parser = RequestParser(config, (), CLIENT)
    parser.unreader = RequestBytes(head)
    request = next(parser)
    _, environ = wsgi.create(request, None, CLIENT, ("127.0.0.1", 80), config)
    return environ


def expect_the_same(head):
    found = read_head(head, CLIENT[0])
    assert found is not None
    theirs = by_gunicorn(head)
    theirs.pop("HTTP_CONNECTION", None)
    asked = {name: value for name, value in theirs.items() if name.startswith("HTTP_")}
    ours = {name: value for name, value in found.environ.items() if name.startswith("HTTP_")}
    assert ours == asked
    for name in found.environ.keys() - ours.keys():
        assert found.environ[name] == theirs[name], name
    assert found.length == len(head)
    assert "CONTENT_LENGTH" not in theirs
    assert theirs["SCRIPT_NAME"] == ""


@pytest.mark.parametrize(
    "head",
    [
        f"GET /zoo/net/resolve/main/config.json HTTP/1.1\r\n{USUAL}\r\n",
        f"HEAD /api/v1/models/zoo/net/versions/1/files/a/b.onnx?a=b HTTP/1.1\r\n{USUAL}\r\n",
        "GET /a HTTP/1.1\r\nhost:hub\r\nRANGE: bytes=0-99\r\nConnection: Keep-Alive\r\n\r\n",
        f'GET /a HTTP/1.1\r\n{USUAL}If-None-Match: "abc"  \r\nX-Request-Id: one\r\n\r\n',
        "GET /a HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n",
    ],
)
def test_a_plain_read_is_read_as_gunicorn_reads_it(head):
    expect_the_same(head.encode())


@pytest.mark.parametrize(
    "head",
    [
        f"POST /a HTTP/1.1\r\n{USUAL}\r\n",
        f"GET /a HTTP/1.0\r\n{USUAL}\r\n",
        f"GET /a%20b HTTP/1.1\r\n{USUAL}\r\n",
        f"GET //a HTTP/1.1\r\n{USUAL}\r\n",
        f"GET http://hub/a HTTP/1.1\r\n{USUAL}\r\n",
        f"GET /a#b HTTP/1.1\r\n{USUAL}\r\n",
        f"GET  /a HTTP/1.1\r\n{USUAL}\r\n",
        f"\r\nGET /a HTTP/1.1\r\n{USUAL}\r\n",
        f"GET /a HTTP/1.1\n{USUAL}\r\n",
        "GET /a HTTP/1.1\r\nAccept: */*\r\n\r\n",
        "GET /a HTTP/1.1\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Host: other\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Range: bytes=0-1\r\nrange: bytes=2-3\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Range: bytes=0-1\r\n ,4-5\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Range : bytes=0-1\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Range: \r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Range: bytes=0-1\nX: y\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Connection: close\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Content-Length: 0\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Expect: 100-continue\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Cookie: theme=dark\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Proxy-Authorization: Bearer x\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}X-Forwarded-For: 192.0.2.1\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}X-Forwarded-Proto: https\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Forwarded: for=192.0.2.1\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}X-Unknown: x\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}User_Agent: x\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}Referer: \0\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{USUAL}",
    ],
)
def test_whatever_is_unusual_is_left_to_gunicorn(head):
    assert read_head(head.encode(), CLIENT[0]) is None


def test_the_next_request_is_no_part_of_the_head():
    head = f"GET /a HTTP/1.1\r\n{USUAL}\r\n".encode()
    found = read_head(bytearray(head + b"POST /b HTTP/1.1\r\n"), CLIENT[0])
    assert found is not None
    assert found.length == len(head)


_VALUES = st.text(st.characters(min_codepoint=9, max_codepoint=0x110), max_size=12)
_PIECES = st.one_of(
    st.sampled_from(["/", "a", "?", "=", "&", "%41", ";", "#", "@", ":", "//", "..", "\t", "é"]),
    st.text("abz0._~-", max_size=4),
)
_NAMES = st.one_of(
    st.sampled_from(["Host", "host", "Range", "Accept", "Connection", "Cookie", "Content-Length"]),
    st.text("Aa-_: \t", min_size=1, max_size=6),
)


@given(
    target=st.lists(_PIECES, max_size=6).map("".join),
    headers=st.lists(st.tuples(_NAMES, _VALUES), max_size=4),
)
def test_no_head_is_read_in_another_way_than_gunicorn_reads_it(target, headers):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    head = f"GET /{target} HTTP/1.1\r\nHost: hub\r\n{lines}\r\n".encode()
    if read_head(head, CLIENT[0]) is not None:
        expect_the_same(head)


def test_a_token_is_left_to_the_application():
    head = f"GET /a HTTP/1.1\r\n{USUAL}Authorization: Bearer x\r\n\r\n"
    found = read_head(head.encode(), CLIENT[0])
    assert found is not None
    assert found.environ["HTTP_AUTHORIZATION"] == "Bearer x"
