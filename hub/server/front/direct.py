"""Plain reads, answered without gunicorn's parser: for small files it costs as much as the rest.

Only heads of one strict form are read here: a GET or HEAD over HTTP/1.1 with none but the headers
named below, so there is no body, no cookie and no proxy to reckon with. Every other head goes
to gunicorn, which alone interprets and refuses what is unusual.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from io import RawIOBase
from typing import Any, NamedTuple

Environment = dict[str, Any]
Application = Callable[[Environment], "DirectAnswer | None"]

_HEAD = re.compile(
    rb"(GET|HEAD) (/(?!/)[A-Za-z0-9._~/@+=:,-]*)(?:\?([A-Za-z0-9._~=&-]*))? HTTP/1\.1\r\n"
    rb"((?:[A-Za-z0-9-]{1,40}: ?[!-~][ -~]{0,1000}\r\n){1,24})\r\n"
)
_HEADER = re.compile(r"([^:]+): ?([^\r]*)\r\n")
# What may stand in such a head, under its name in WSGI.
_NAMES = {
    name: f"HTTP_{name.upper().replace('-', '_')}"
    for name in (
        *(
            "host",
            "connection",
            "authorization",
            "user-agent",
            "accept",
            "accept-encoding",
            "accept-language",
        ),
        *("range", "if-range", "if-none-match", "cache-control", "pragma", "referer", "origin"),
        *("sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "priority"),
        *("x-request-id", "x-amzn-trace-id", "dnt"),
    )
}


class PlainHead(NamedTuple):
    """What a plain read asks, as WSGI names it, and the bytes that its head takes."""

    environ: Environment
    length: int


@dataclass(frozen=True, slots=True)
class DirectAnswer:
    """A response: ``length`` bytes of a file that is positioned at ``start``, or no bytes."""

    status: HTTPStatus
    headers: Mapping[str, str]
    file: RawIOBase | None
    start: int
    length: int

    def head(self) -> bytes:
        """Status line and headers, with those that gunicorn sends."""
        every = {
            "Server": "gunicorn",
            "Date": _date(int(time.time())),
            "Connection": "keep-alive",
            **self.headers,
        }
        lines = "".join([f"{name}: {value}\r\n" for name, value in every.items()])
        return f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n{lines}\r\n".encode("latin-1")


def read_head(data: bytes | bytearray, address: str) -> PlainHead | None:
    """The plain read that ``data`` begins with, from a client at ``address``; None for the rest."""
    match = _HEAD.match(data)
    if match is None:
        return None
    method, path, query, lines = match.groups()
    environ: Environment = {
        "REQUEST_METHOD": method.decode(),
        "PATH_INFO": path.decode(),
        "QUERY_STRING": (query or b"").decode(),
        "REMOTE_ADDR": address,
        "wsgi.url_scheme": "http",
    }
    for header, value in _HEADER.findall(lines.decode()):
        name = _NAMES.get(header.lower())
        if name is None or name in environ:
            return None
        environ[name] = value.rstrip()
    if "HTTP_HOST" not in environ:
        return None
    if environ.pop("HTTP_CONNECTION", "keep-alive").lower() != "keep-alive":
        return None
    return PlainHead(environ, match.end())


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
