"""Answers of a hub: read into memory or in blocks, and refusals turned into problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hub.client import cancellation
from hub.client.connection_errors import as_unreachable
from hub.protocol import problems

if TYPE_CHECKING:
    import urllib3

LARGEST_ANSWER_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
_BY_STATUS: dict[int, type[problems.Problem]] = {
    401: problems.NotAuthenticated,
    403: problems.NotAllowed,
    404: problems.NotFound,
    410: problems.UploadGone,  # the only thing asked for by HEAD, whose answers have no body
    413: problems.TooLarge,
    416: problems.RangeNotSatisfiable,
    429: problems.Throttled,
    503: problems.Unavailable,
}


class Body(Protocol):
    """A request's body that is read while it is sent."""

    def read(self, count: int = -1, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of the server, read into memory."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str

    def json(self) -> Any:
        """Return the decoded body; raise `Unreachable` when it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            if is_page(self.headers):
                raise foreign_page(self.url) from None
            raise no_hub(self.url) from None


class Stream:
    """The body of an answer, read in blocks; a cut raises `Unreachable`.

    `is_coded` is true where a proxy compressed the body, which is decoded here: its headers are
    then about other bytes than those that are read.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse, url: str) -> None:
        self._response = response
        self._url = url
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.is_coded = bool(codings(response))

    def read(self, count: int = BLOCK_BYTES) -> bytes:
        """Return the next bytes, at most `count`, or none at the end of the body."""
        cancellation.check()
        with as_unreachable(self._url):
            return self._response.read(count, decode_content=self.is_coded)


def read_answer(response: urllib3.BaseHTTPResponse, url: str) -> Answer:
    """The whole answer in memory; raises `Unreachable` for a cut, and for one that is too large."""
    parts: list[bytes] = []
    total = 0
    with as_unreachable(url):
        while part := response.read(BLOCK_BYTES, decode_content=True):
            parts.append(part)
            total += len(part)
            if total > LARGEST_ANSWER_BYTES:
                raise problems.Unreachable(
                    f"{url} sent a response that is too large. Is HUB_URL the address of a "
                    "model hub?",
                    is_transient=False,
                )
    return Answer(response.status, response.headers, b"".join(parts), url)


def read_problem(response: urllib3.BaseHTTPResponse, url: str) -> problems.Problem:
    """What the hub refused, by its own document or else by the status; raises `Unreachable`."""
    answer = read_answer(response, url)
    if answer.body and "problem+json" in response.headers.get("Content-Type", ""):
        return problems.Problem.from_json(answer.json(), answer.status)
    kind = _BY_STATUS.get(answer.status, problems.Problem)
    problem = kind(
        f"{url} answered {answer.status} without an explanation. "
        "Is HUB_URL the address of a model hub?"
    )
    problem.status = answer.status
    return problem


def codings(response: urllib3.BaseHTTPResponse) -> list[str]:
    """How a body is compressed, in the order in which that was done."""
    names = str(response.headers.get("Content-Encoding", "")).lower().split(",")
    return [name.strip() for name in names if name.strip() not in {"", "identity"}]


def decoders(response: urllib3.BaseHTTPResponse) -> list[str]:
    return list(type(response).CONTENT_DECODERS)


def is_page(headers: Mapping[str, str]) -> bool:
    return "text/html" in headers.get("Content-Type", "").lower()


def foreign_page(url: str) -> problems.Unreachable:
    return problems.Unreachable(
        f"{url} answered with an HTML page, as a proxy or a sign-in page does. Is HUB_URL the "
        "address of a model hub, and may this machine reach it?",
        reason="an HTML page came instead",
        is_transient=False,
    )


def no_hub(url: str) -> problems.Unreachable:
    return problems.Unreachable(
        f"{url} did not answer with JSON. Is HUB_URL the address of a model hub?",
        is_transient=False,
    )
