"""HTTP to one hub: a connection pool, the token, retries, and problems turned into exceptions.

No exception of the HTTP library leaves this file: what the server says is a `Problem`, what keeps
it from answering is `Unreachable`. The token goes to the hub's own origin and nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import platform
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlencode, urljoin, urlsplit

from hub.client import certificate
from hub.client.config import Config, origin
from hub.client.retries import Notices, Retries, is_transient, was_processed
from hub.protocol import problems
from hub.protocol.version import __version__

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

    import urllib3

API = "/api/v1/"
CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
LARGEST_ANSWER_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
REDIRECTS = 5

_T = TypeVar("_T")
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
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
        except ValueError as error:
            raise _no_hub(self.url) from error


class Stream:
    """The body of an answer, read in blocks; a cut raises `Unreachable`."""

    def __init__(self, response: urllib3.BaseHTTPResponse, url: str) -> None:
        self._response = response
        self._url = url
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    def read(self, count: int = BLOCK_BYTES) -> bytes:
        """Return the next bytes, at most `count`, or none at the end of the body."""
        with _errors(self._url):
            return self._response.read(count, decode_content=False)


class Transport:
    """The connections to one hub; safe to share between threads and to use after a fork."""

    def __init__(self, config: Config, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.config = config
        self.sleep = sleep
        self.notices = Notices("The hub")
        self._lock = threading.Lock()
        self._pools: dict[tuple[str, bool], urllib3.PoolManager] = {}
        self._certified: ssl.SSLContext | None = None
        self._pid = os.getpid()

    def own(self, address: str) -> str:
        """Return an address of the hub's API as this client reaches it.

        A hub writes its public address into answers; behind a proxy or under another host name
        the client keeps to the address it was configured with. Other addresses stay as they are.
        """
        parts = urlsplit(address)
        start = parts.path.find(API)
        if start < 0:
            return urljoin(self.config.url + "/", address)
        query = f"?{parts.query}" if parts.query else ""
        return f"{self.config.url}{parts.path[start:]}{query}"

    def retries(
        self, sleep: Callable[[float], object] | None = None, *, most_seconds: float = math.inf
    ) -> Retries:
        """Return the retries of a new operation; `sleep` waits between its attempts."""
        seconds = min(self.config.retry_seconds, most_seconds)
        return Retries(seconds, self.notices, sleep or self.sleep)

    def request(
        self,
        method: str,
        address: str,
        *,
        content: Any = None,
        body: bytes | Body | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        repeatable: bool | None = None,
        retries: Retries | None = None,
        once: bool = False,
    ) -> Answer:
        """Send one request, repeat it while the failure can heal, and return the answer.

        `content` is sent as JSON, `body` as it is. A POST or PATCH is repeated only where it had
        no effect; `repeatable` says that a second one does no harm. `retries` shares the time for
        retries with other requests, `once` forbids them. Raise a `Problem` for a status of 400 or
        more and `Unreachable` when no answer came.
        """
        url = self.own(address) + _query(query)
        sent = {"Accept": "application/json", "Accept-Encoding": "gzip", **(headers or {})}
        if content is not None:
            body = json.dumps(content).encode()
            sent["Content-Type"] = "application/json"

        def exchange() -> Answer:
            with self._open(method, url, sent, body) as response:
                return self._read(response, url)

        if once:
            return exchange()
        is_repeatable = method in _REPEATABLE if repeatable is None else repeatable
        return _repeated(exchange, retries or self.retries(), is_repeatable=is_repeatable)

    def get(self, address: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON object at an address; the same errors as `request`."""
        answer = self.request("GET", address, query=query)
        content = answer.json()
        if not isinstance(content, dict):
            raise _no_hub(answer.url)
        return content

    @contextmanager
    def stream(
        self,
        address: str,
        headers: Mapping[str, str] | None = None,
        *,
        retries: Retries | None = None,
    ) -> Iterator[Stream]:
        """Open a GET whose body is read in blocks; the same errors as `request`.

        Only the opening is repeated: the reader of the body knows where to go on.
        """
        url = self.own(address)
        sent = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
        with ExitStack() as stack:

            def opened() -> urllib3.BaseHTTPResponse:
                return stack.enter_context(self._open("GET", url, sent, None))

            response = _repeated(opened, retries or self.retries(), is_repeatable=True)
            yield Stream(response, url)

    @contextmanager
    def _open(
        self, method: str, url: str, headers: dict[str, str], body: bytes | Body | None
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        response = self._send(method, url, headers, body)
        finished = False
        try:
            if response.status >= HTTPStatus.BAD_REQUEST:
                problem = self._problem(response, url)
                problem.retry_after_seconds = _retry_after(response.headers.get("Retry-After"))
                raise problem
            yield response
            finished = True
        finally:
            # A body that was not read to its end would be taken for the next answer.
            if finished and response.closed:
                response.release_conn()
            else:
                response.close()

    def _send(
        self, method: str, url: str, headers: dict[str, str], body: bytes | Body | None
    ) -> urllib3.BaseHTTPResponse:
        for _ in range(REDIRECTS):
            with _errors(url):
                response: urllib3.BaseHTTPResponse = self._pool(url).request(
                    method,
                    url,
                    body=cast("Any", body),
                    headers=headers | self._identity(url),
                    preload_content=False,
                    redirect=False,
                    retries=False,
                )
            location = response.headers.get("Location")
            if response.status not in {301, 302, 303, 307, 308} or not location:
                return response
            response.drain_conn()
            response.release_conn()
            url = self._followed(method, url, location)
        raise problems.Unreachable(f"{url} redirects too many times.", is_transient=False)

    def _followed(self, method: str, url: str, location: str) -> str:
        target = urljoin(url, location)
        scheme = urlsplit(target).scheme
        if method not in {"GET", "HEAD"}:
            raise problems.Unreachable(
                f"{url} redirects to {target}, and only reads follow redirects. "
                "Set HUB_URL to the final address of the hub.",
                is_transient=False,
            )
        if scheme not in {"http", "https"} or (urlsplit(url).scheme == "https" != scheme):
            raise problems.Unreachable(
                f"{url} redirects to {target}, which is not safe to follow. Set HUB_URL to the "
                "final address of the hub.",
                is_transient=False,
            )
        return target

    def _identity(self, url: str) -> dict[str, str]:
        agent = f"onnx-hub/{__version__} python/{platform.python_version()}"
        if self.config.token and origin(url) == origin(self.config.url):
            return {"User-Agent": agent, "Authorization": f"Bearer {self.config.token}"}
        return {"User-Agent": agent}

    def _pool(self, url: str) -> urllib3.PoolManager:
        import urllib3  # noqa: PLC0415  (imported at first use: `import hub` stays light)

        proxy = _proxy(url)
        # A certificate is shown to the hub's own origin, and not where it redirects to.
        is_shown = bool(self.config.certificate) and origin(url) == origin(self.config.url)
        key = (proxy, is_shown)
        with self._lock:
            if self._pid != os.getpid():
                # Parent and child must not write to the same sockets.
                self._pools, self._pid = {}, os.getpid()
            if key not in self._pools:
                options: dict[str, Any] = {
                    "maxsize": 8,
                    "timeout": urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
                    "blocksize": BLOCK_BYTES,
                }
                if is_shown:
                    options["ssl_context"] = self._context()
                self._pools[key] = (
                    urllib3.ProxyManager(proxy, **options)
                    if proxy
                    else urllib3.PoolManager(**options)
                )
            return self._pools[key]

    def _context(self) -> ssl.SSLContext:
        """The certificate's context, read from its files once; raises InvalidRequest."""
        if self._certified is None and self.config.certificate is not None:
            self._certified = certificate.context(
                self.config.certificate, self.config.certificate_key
            )
        return cast("ssl.SSLContext", self._certified)

    def _read(self, response: urllib3.BaseHTTPResponse, url: str) -> Answer:
        parts: list[bytes] = []
        total = 0
        with _errors(url):
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

    def _problem(self, response: urllib3.BaseHTTPResponse, url: str) -> problems.Problem:
        answer = self._read(response, url)
        if answer.body and "problem+json" in response.headers.get("Content-Type", ""):
            return problems.Problem.from_json(answer.json(), answer.status)
        kind = _BY_STATUS.get(answer.status, problems.Problem)
        problem = kind(
            f"{url} answered {answer.status} without an explanation. "
            "Is HUB_URL the address of a model hub?"
        )
        problem.status = answer.status
        return problem


def _no_hub(url: str) -> problems.Unreachable:
    return problems.Unreachable(
        f"{url} did not answer with JSON. Is HUB_URL the address of a model hub?",
        is_transient=False,
    )


def _repeated(call: Callable[[], _T], retries: Retries, *, is_repeatable: bool) -> _T:
    while True:
        try:
            return call()
        except problems.HubError as error:
            if not is_transient(error) or (was_processed(error) and not is_repeatable):
                raise
            retries.pause(error)


@contextmanager
def _errors(url: str) -> Iterator[None]:
    import http.client  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    from urllib3 import exceptions  # noqa: PLC0415

    try:
        yield
    except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
        raise problems.Unreachable(
            f"No hub answers at {_host(url)} ({_cause(error)}). Is it running, and is HUB_URL "
            "correct? Set HUB_OFFLINE=1 to use cached models.",
            reason=_cause(error),
            is_transient=not _is_lasting(error),
            is_unsent=True,
        ) from error
    except (exceptions.HTTPError, http.client.HTTPException, OSError) as error:
        raise problems.Unreachable(
            f"The connection to {_host(url)} failed ({_cause(error)}). Try again.",
            reason=_cause(error),
            is_transient=not _is_lasting(error),
        ) from error


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _is_lasting(error: BaseException) -> bool:
    """Whether a failure is one of names or certificates, which no repeat changes."""
    import socket  # noqa: PLC0415  (imported at first use: `import hub` stays light)
    import ssl  # noqa: PLC0415

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return cause.errno == socket.EAI_NONAME
        if isinstance(cause, ssl.SSLError):
            return not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        cause = cause.__cause__ or cause.__context__
    return False


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error.__context__ or error
    if "CERTIFICATE_REQUIRED" in str(cause):
        return "it requires a client certificate; set HUB_CLIENT_CERTIFICATE and HUB_CLIENT_KEY"
    return str(getattr(cause, "strerror", None) or cause or type(cause).__name__)


def _retry_after(text: str | None) -> float | None:
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _query(fields: Mapping[str, Any] | None) -> str:
    values = {key: value for key, value in (fields or {}).items() if value is not None}
    return f"?{urlencode(values, doseq=True)}" if values else ""


def _proxy(url: str) -> str:
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415  (slow to import)

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(host):
        return ""
    return getproxies().get(parts.scheme, "")
