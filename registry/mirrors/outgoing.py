"""Requests to a source: to its origin, and to public addresses that it redirects to.

An administrator names the origins that may be asked. A redirect elsewhere is followed to public
addresses alone (``registry.core.public_addresses``), so that neither a source nor a name server
leads the hub into its own network. The token goes to the origin alone. Every
answer has a limit of bytes, and one that comes more slowly than `hub.pace` allows is given up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3

from hub.pace import paced
from hub.protocol import problems
from hub.protocol.version import __version__
from registry.core import public_addresses

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
MOST_ANSWER_BYTES = 32 << 20
# For a whole answer, however steadily it comes.
ANSWER_READ_SECONDS = 120.0
REDIRECTS = 5
LONGEST_DETAIL = 300
_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin(url: str) -> str:
    """The origin of an address, `https://host[:port]`; raises InvalidRequest for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if (
        parts.scheme not in _DEFAULT_PORTS
        or not parts.hostname
        or parts.username is not None
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        raise problems.InvalidRequest.at(
            "/source",
            "Write the source as https://host/namespace/model, without a user or a query.",
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_default = port in (None, _DEFAULT_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}" + ("" if is_default else f":{port}")


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON answer and its headers."""

    content: Any
    headers: Mapping[str, str]


class Stream:
    """The body of an answer, read in blocks; a cut raises Unreachable."""

    def __init__(self, response: urllib3.BaseHTTPResponse, url: str) -> None:
        self._response = response
        self._url = url

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        try:
            # What is there: a slow source must not keep one call for hours.
            return self._response.read1(size, decode_content=False)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _unreachable(self._url, error) from error


class Client:
    """Requests to one origin with its token."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = origin(url)
        self._token = token
        self._own = paced(urllib3.PoolManager(maxsize=2))
        self._public = public_addresses.manager(maxsize=2)

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Answer:
        """The JSON at a path of the origin; raises Unreachable, and a Problem from 400 on."""
        address = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        content, headers = self._read(address, "application/json")
        try:
            return Answer(json.loads(content), headers)
        except (ValueError, RecursionError):
            raise problems.Unreachable(
                f"{self.url} does not answer as a model hub: {path} is no JSON. Check the "
                "address and the protocol.",
                is_transient=False,
            ) from None

    def read(self, path: str) -> bytes:
        """The content at a path of the origin, as it is; raises as ``get``."""
        return self._read(f"{self.url}{path}", "*/*")[0]

    def _read(self, address: str, accept: str) -> tuple[bytes, Mapping[str, str]]:
        with self._open(address, {"Accept": accept}) as (response, url):
            content = bytearray()
            stream = Stream(response, url)
            until = time.monotonic() + ANSWER_READ_SECONDS
            while block := stream.read(1 << 16):
                content += block
                if time.monotonic() > until:
                    raise problems.Unreachable(
                        f"{url} took over {ANSWER_READ_SECONDS:.0f} s to answer."
                    )
                if len(content) > MOST_ANSWER_BYTES:
                    raise problems.TooLarge(f"{url} answers with over {MOST_ANSWER_BYTES} bytes.")
            return bytes(content), response.headers

    @contextmanager
    def open(self, path: str, offset: int) -> Iterator[Stream]:
        """The bytes at a path from ``offset`` on; raises as ``get``."""
        headers = {"Accept": "*/*"} | ({"Range": f"bytes={offset}-"} if offset else {})
        with self._open(f"{self.url}{path}", headers) as (response, url):
            stream = Stream(response, url)
            skipped = 0 if response.status == HTTPStatus.PARTIAL_CONTENT else offset
            while skipped:
                block = stream.read(min(skipped, 1 << 16))
                if not block:
                    raise problems.Unreachable(f"{url} has fewer bytes than it states.")
                skipped -= len(block)
            yield stream

    @contextmanager
    def _open(
        self, url: str, headers: dict[str, str]
    ) -> Iterator[tuple[urllib3.BaseHTTPResponse, str]]:
        for _ in range(REDIRECTS):
            response = self._send(url, headers)
            try:
                location = response.headers.get("Location")
                if response.status not in {301, 302, 303, 307, 308} or not location:
                    if response.status >= HTTPStatus.BAD_REQUEST:
                        raise self._problem(response, url)
                    yield response, url
                    return
            finally:
                response.close()
            target = urljoin(url, location)
            if urlsplit(url).scheme == "https" != urlsplit(target).scheme:
                raise problems.Unreachable(
                    f"{url} redirects to {target[:200]}, which is not encrypted.",
                    is_transient=False,
                )
            origin(target)
            url = target
        raise problems.Unreachable(f"{url} redirects too many times.", is_transient=False)

    def _send(self, url: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        is_own = origin(url) == self.url
        sent = {"User-Agent": f"onnx-hub/{__version__} mirror", "Accept-Encoding": "identity"}
        if is_own and self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        pool = self._own if is_own else self._public
        try:
            return pool.request(
                "GET",
                url,
                headers=headers | sent,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
                preload_content=False,
                redirect=False,
                retries=False,
            )
        except public_addresses.NotPublicError as error:
            raise problems.Unreachable(
                f"{self.url} redirects to {urlsplit(url).netloc}, and {error}. Mirrors follow "
                "redirects to public addresses alone.",
                is_transient=False,
            ) from error
        except (urllib3.exceptions.HTTPError, OSError, UnicodeError, ValueError) as error:
            raise _unreachable(url, error) from error

    def _problem(self, response: urllib3.BaseHTTPResponse, url: str) -> problems.Problem:
        """What the source refuses, in its words and with what to do."""
        detail = _detail(response)
        status = response.status
        words = f" Its message: {detail}" if detail else ""
        if status == HTTPStatus.UNAUTHORIZED and self._token:
            return problems.NotAuthenticated(
                f"{self.url} rejected the token of this mirror. Set a token with read "
                f"permission.{words}"
            )
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
            cure = (
                "If it is private, the token may not have access to it."
                if self._token
                else "If it is private, set a token of that server."
            )
            return problems.NotFound(f"{urlsplit(url).path} not found at {self.url}. {cure}{words}")
        if status == HTTPStatus.FORBIDDEN:
            return problems.NotAllowed(f"{self.url} refuses access to its files.{words}")
        is_busy = status == HTTPStatus.TOO_MANY_REQUESTS
        kind = problems.Throttled if is_busy else problems.Unavailable
        return kind(f"{self.url} answered {status}.{words}")


def _detail(response: urllib3.BaseHTTPResponse) -> str:
    try:
        body = json.loads(response.read(1 << 16))
        text = body.get("detail") or body.get("error") or ""
    except (ValueError, RecursionError, AttributeError, OSError, urllib3.exceptions.HTTPError):
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return line[:LONGEST_DETAIL].strip()


def _unreachable(url: str, error: Exception) -> problems.Unreachable:
    parts = urlsplit(url)
    return problems.Unreachable(
        f"{parts.scheme}://{parts.netloc} does not answer ({type(error).__name__}). Is it running, "
        "and can this hub reach it?"
    )
