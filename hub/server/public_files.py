"""Downloads of public files, answered before Django: a small file costs little more than its send.

What it answers, the views of files answer in the same way, header by header; it leaves to them
whatever is not a plain read, by a guest or with a token, of a file that everybody may have. Who may
is asked of the database in each request, so nothing is ever remembered that was withdrawn, hidden
or gated since, and no token that was revoked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import Any, NamedTuple, cast

import structlog
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError, connection
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.urls import resolve

from hub.protocol import problems
from hub.server import requests
from hub.server.front.direct import DirectAnswer
from hub.server.middleware import PERMISSIONS, request_id_of
from registry.api import downloads, guests
from registry.api.authentication import TokenAuthentication
from registry.api.throttles import AnonThrottle, UserThrottle, client_address
from registry.catalogue import summaries
from registry.core import usage, waiting
from registry.models import Blob, User
from registry.protocols.huggingface import published
from registry.protocols.huggingface.views import EXPOSED
from registry.storage.files import store

Environment = dict[str, Any]
Start = Callable[..., Any]
Application = Callable[[Environment, Start], Iterable[bytes]]

# The addresses of `Files.read` and of `Refs.resolve`.
_API = re.compile(r"/api/v1/models/([^/]+)/([^/]+)/versions/([0-9]{1,9})/files/(.+)")
_RESOLVE = re.compile(r"/(?!(?:models|api|datasets|spaces|kernels)/)([^/]+)/([^/]+)/resolve/(.+)")
# Headers of every answer of those views.
_OF_API = {"Allow": "GET, PUT, DELETE, HEAD, OPTIONS"}
_OF_HUB = {
    "Allow": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": EXPOSED,
}
# With any of these a request is not a plain read.
_NOT_PLAIN = ("HTTP_TRANSFER_ENCODING", "HTTP_EXPECT", "SCRIPT_NAME")


class File(NamedTuple):
    """A file that anyone may read, and the headers of its address."""

    version_id: int
    blob: Blob
    path: str
    tag: str
    is_immutable: bool
    headers: dict[str, str]


class _Asker(NamedTuple):
    """As much of a request as throttles look at."""

    META: Environment
    headers: dict[str, str]
    user: User | AnonymousUser


class PublicFiles:
    """Answers downloads of public files; other requests go on to ``application``."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environ: Environment, start_response: Start) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in ("GET", "HEAD") and "wsgi.file_wrapper" in environ:
            file = self.direct(environ)
            if file is not None:
                status = f"{file.status.value} {file.status.phrase}"
                start_response(status, list(file.headers.items()))
                if file.file is None:
                    return ()
                sent: Iterable[bytes] = environ["wsgi.file_wrapper"](
                    file.file, downloads.BLOCK_BYTES
                )
                return sent
        return self._application(environ, start_response)

    def direct(self, environ: Environment) -> DirectAnswer | None:
        """The response to a plain read.

        None, with nothing started, if the application must answer.
        """
        if guests.are_refused() or not (store().has_files and _is_plain(environ)):
            return None
        start = time.perf_counter()
        with waiting.within(waiting.read_seconds()):
            answer, asker = _answer(environ)
        if answer is not None:
            requests.ended(
                environ["REQUEST_METHOD"],
                _route_of(is_api=environ["PATH_INFO"].startswith("/api/")),
                answer.status.value,
                time.perf_counter() - start,
                request_id=answer.headers["X-Request-Id"],
                user=asker.user.pk,
                address=lambda: client_address(cast("Any", asker)),
            )
        return answer


@lru_cache(maxsize=2)
def _route_of(*, is_api: bool) -> str:
    """The route of the view that answers in the same way."""
    path = "/api/v1/models/a/b/versions/1/files/c" if is_api else "/a/b/resolve/main/c"
    return str(resolve(path).route)


def _answer(environ: Environment) -> tuple[DirectAnswer | None, _Asker]:
    structlog.contextvars.clear_contextvars()  # another request's, of this thread
    asker = _guest(environ)
    try:
        file = _find(environ)
        # With a token `main` may be another commit.
        if file is None or not (file.is_immutable or "HTTP_AUTHORIZATION" not in environ):
            return None, asker
        asker = _signed_in(asker)
        request = downloads.DownloadRequest(
            environ["REQUEST_METHOD"],
            environ.get("HTTP_RANGE", ""),
            environ.get("HTTP_IF_RANGE"),
            environ.get("HTTP_IF_NONE_MATCH", ""),
        )
        answer = downloads.answer(
            request, file.blob, file.path, immutable=file.is_immutable, tag=file.tag
        )
        if not _is_in_time(asker):
            return None, asker  # Django refuses, and does not count it again
        part: downloads.Slice | None = None
        if request.method == "GET" and answer.status != HTTPStatus.NOT_MODIFIED:
            part = downloads.open_part(file.blob, answer)
    except (problems.Problem, DatabaseError):
        return None, asker  # Django finds the same, and says it in words
    if file.path.endswith(".onnx") and request.begins_download(answer.status):
        usage.notes.add_download(file.version_id)
    headers = answer.headers | file.headers | _constant_headers(_is_secure(environ))
    if asker.user.is_authenticated:
        del headers["Vary"]  # a session was not looked for
    headers.setdefault("Content-Length", "0")  # of a 304
    headers["X-Request-Id"] = request_id_of(environ.get("HTTP_X_REQUEST_ID", ""))
    direct = DirectAnswer(HTTPStatus(answer.status), headers, part, answer.start, answer.length)
    return direct, asker


def _is_in_time(asker: _Asker) -> bool:
    """Count a request; False where there were too many."""
    throttle: Any = UserThrottle() if asker.user.is_authenticated else AnonThrottle()
    return bool(throttle.allow_request(asker, None))


def _guest(environ: Environment) -> _Asker:
    names = {"HTTP_X_FORWARDED_FOR": "x-forwarded-for", "HTTP_AUTHORIZATION": "Authorization"}
    headers = {name: environ[key] for key, name in names.items() if environ.get(key)}
    return _Asker(environ, headers, AnonymousUser())


def _signed_in(asker: _Asker) -> _Asker:
    """Who asks with a token, or the guest; raises NotAuthenticated."""
    request: Any = asker
    signed_in = TokenAuthentication().authenticate(request)
    return asker._replace(user=signed_in[0]) if signed_in else asker


def _is_plain(environ: Environment) -> bool:
    """Whether a guest or a token asks, with nothing that only Django understands."""
    return (
        not any(environ.get(name) for name in _NOT_PLAIN)
        and environ.get("HTTP_AUTHORIZATION", "Bearer ")[:7].lower() == "bearer "
        and settings.SESSION_COOKIE_NAME not in environ.get("HTTP_COOKIE", "")
        and environ.get("CONTENT_LENGTH") in (None, "", "0")
        and "format" not in environ.get("QUERY_STRING", "")
        and environ["PATH_INFO"].isascii()
        and _is_our_host(environ.get("HTTP_HOST", ""))
    )


def _find(environ: Environment) -> File | None:
    """The public file at an address; raises DatabaseError."""
    path = environ["PATH_INFO"]
    if match := _API.fullmatch(path):
        if "*/*" not in environ.get("HTTP_ACCEPT", "*/*"):
            return None  # Django negotiates
        _renew_connection()
        namespace, name, number, inner = match.groups()
        row = summaries.public_file(namespace, name, int(number), inner)
        return row and File(row[1], row[0], inner, "", True, _OF_API)
    match = _RESOLVE.fullmatch(path)
    if match is None:
        return None
    _renew_connection()
    at_and_file = published.public_file(*match.groups())
    if at_and_file is None:
        return None
    at, file = at_and_file
    headers = _OF_HUB | {"X-Repo-Commit": at.commit_id}
    if file.is_lfs:
        headers |= {"X-Linked-Size": str(file.size), "X-Linked-ETag": f'"{file.sha256}"'}
    blob = Blob(sha256=file.sha256, size=file.size)
    tag = "" if file.is_lfs else file.git_oid
    return File(at.version_id, blob, at.path, tag, at.is_fixed, headers)


def _renew_connection() -> None:
    """Drop a connection that broke or is too old, as Django does between requests.

    A connection that ended unnoticed is found by the question itself, which Django then repeats:
    to ask whether it lives would be a round trip for each file.
    """
    now: Any = connection
    if now.in_atomic_block:
        return
    health = now.health_check_done
    now.close_if_unusable_or_obsolete()
    now.health_check_done = health


def _is_secure(environ: Environment) -> bool:
    """Whether the request came by HTTPS, as Django's `is_secure` has it."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        if name in environ:
            return bool(environ[name].partition(",")[0].strip() == secure)
    return bool(environ["wsgi.url_scheme"] == "https")


@lru_cache(maxsize=64)
def _is_our_host(host: str) -> bool:
    return validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)


@lru_cache(maxsize=2)
def _constant_headers(is_secure: bool) -> dict[str, str]:  # noqa: FBT001 - the key of a cache
    """What middleware adds to every answer, as Django's own middleware says it."""
    scheme = "https" if is_secure else "http"
    request = WSGIRequest(
        {"REQUEST_METHOD": "GET", "wsgi.input": BytesIO(), "wsgi.url_scheme": scheme}
    )
    response = HttpResponse()
    del response["Content-Type"]
    for middleware in (XFrameOptionsMiddleware, SecurityMiddleware):
        middleware(lambda _: response).process_response(request, response)
    return dict(response.items()) | {"Vary": "Cookie", "Permissions-Policy": PERMISSIONS}
