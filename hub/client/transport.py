"""HTTP to one hub: a connection pool, the token, retries, and problems turned into exceptions.

No exception of the HTTP library leaves this file: what the server says is a `Problem`, what keeps
it from answering is `Unreachable`. The token goes to the hub's own origin and nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode, urljoin, urlsplit

from hub.client import answers, cancellation, certificate, forks, proxies
from hub.client.answers import Answer, Body, Stream
from hub.client.config import Config, origin
from hub.client.connection_errors import as_unreachable
from hub.client.retries import Notices, Retries, is_transient, was_processed
from hub.protocol import problems
from hub.protocol.version import __version__

if TYPE_CHECKING:
    import ssl

    import urllib3

API = "/api/v1/"
CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
SILENT_SECONDS = 10.0
REDIRECTS = 5

_T = TypeVar("_T")
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})


class Transport:
    """The connections to one hub; safe to share between threads and to use after a fork."""

    def __init__(
        self, config: Config, *, sleep: Callable[[float], None] = cancellation.sleep
    ) -> None:
        self.config = config
        self.sleep = sleep
        self.notices = Notices("The hub")
        self._lock = forks.Lock()
        self._pools: dict[tuple[proxies.Proxy | None, bool], urllib3.PoolManager] = {}
        self._contexts: dict[bool, ssl.SSLContext | None] = {}
        self._pid = os.getpid()
        self._silent_until = 0.0
        # Whether a connection has brought an answer, of whatever kind.
        self.has_answered = False

    @property
    def is_silent(self) -> bool:
        """Whether the hub gave no answer to a lookup in the last seconds."""
        return time.monotonic() < self._silent_until

    def note_silence(self) -> None:
        """Remember for a few seconds that the hub gives no answer."""
        self._silent_until = time.monotonic() + SILENT_SECONDS

    def own(self, address: str) -> str:
        """Return an address of the hub's API as this client reaches it.

        A hub writes its public address into answers; behind a proxy or under another host name
        the client keeps to the address it was configured with. Other addresses stay as they are.
        Raise `Unreachable` for one that is not of HTTP.
        """
        try:
            parts = urlsplit(address)
            start = parts.path.find(API)
            if start < 0:
                return _usable(urljoin(self.config.url + "/", address))
        except ValueError:
            raise _unusable(address) from None
        query = f"?{parts.query}" if parts.query else ""
        return f"{self.config.url}{parts.path[start:]}{query}"

    def retries(
        self, sleep: Callable[[float], object] | None = None, *, most_seconds: float = math.inf
    ) -> Retries:
        """Return the retries of a new operation; `sleep` waits between its attempts.

        They end `most_seconds` from now at the latest.
        """
        seconds = min(self.config.retry_seconds, most_seconds)
        return Retries(
            seconds,
            self.notices,
            sleep or self.sleep,
            is_timed=most_seconds < math.inf,
            connect_seconds=self._connect_seconds,
        )

    def _connect_seconds(self) -> float:
        return math.inf if self.has_answered else self.config.first_retry_seconds

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
        silence_seconds: float | None = None,
    ) -> Answer:
        """Send one request, repeat it while the failure can heal, and return the answer.

        `content` is sent as JSON, `body` as it is. A POST or PATCH is repeated only where it had no
        effect; `repeatable` says that a second one does no harm. `retries` shares the time for
        retries with other requests, `once` forbids them. A hub that sends no complete headers in
        `silence_seconds`, or a body more slowly than `hub.pace` allows, does not answer.
        Raise a `Problem` for a status of 400 or more and `Unreachable` when no answer came.
        """
        address += _query(query)
        sent = {"Accept": "application/json", "Accept-Encoding": "gzip", **(headers or {})}
        if content is not None:
            body = json.dumps(content).encode()
            sent["Content-Type"] = "application/json"

        def exchange() -> Answer:
            with self.open(method, address, sent, body, silence_seconds) as (response, url):
                return answers.read_answer(response, url)

        if once:
            return exchange()
        is_repeatable = method in _REPEATABLE if repeatable is None else repeatable
        return _repeated(exchange, retries or self.retries(), is_repeatable=is_repeatable)

    def get(self, address: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON object at an address; the same errors as `request`."""
        answer = self.request("GET", address, query=query)
        content = answer.json()
        if not isinstance(content, dict):
            raise answers.no_hub(answer.url)
        return content

    @contextmanager
    def stream(
        self,
        address: str,
        headers: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        retries: Retries | None = None,
    ) -> Iterator[Stream]:
        """Open a GET whose body is read in blocks; the same errors as `request`.

        Only the opening is repeated: the reader of the body knows where to go on.
        """
        address += _query(query)
        sent = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
        with ExitStack() as stack:

            def opened() -> tuple[urllib3.BaseHTTPResponse, str]:
                return stack.enter_context(self.open("GET", address, sent, None))

            response, url = _repeated(opened, retries or self.retries(), is_repeatable=True)
            if answers.is_page(response.headers) and not urlsplit(url).path.endswith(
                (".html", ".htm")
            ):
                raise answers.foreign_page(url)
            yield Stream(response, url)

    @contextmanager
    def open(
        self,
        method: str,
        address: str,
        headers: dict[str, str],
        body: bytes | Body | None,
        silence_seconds: float | None = None,
    ) -> Iterator[tuple[urllib3.BaseHTTPResponse, str]]:
        """Give the head of an answer, its body unread, and the URL that was asked."""
        url = self.own(address)
        response = self._send(method, url, headers, body, silence_seconds)
        finished = False
        try:
            if response.status >= HTTPStatus.BAD_REQUEST:
                problem = self._problem(response, url)
                problem.retry_after_seconds = _retry_after(response.headers.get("Retry-After"))
                raise problem
            if unknown := [
                name for name in answers.codings(response) if name not in answers.decoders(response)
            ]:
                raise problems.Unreachable(
                    f"{url} came compressed as {unknown[0][:40]!r}, which was not asked for and "
                    "cannot be decoded here. Exclude the hub from the proxy that compresses it.",
                    is_transient=False,
                )
            yield response, url
            finished = True
        finally:
            # A body that was not read to its end would be taken for the next answer.
            if finished and response.closed:
                response.release_conn()
            else:
                response.close()

    def _send(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | Body | None,
        silence_seconds: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        for _ in range(REDIRECTS):
            cancellation.check()
            proxy = proxies.proxy_of(url)
            with as_unreachable(url, proxy):
                response: urllib3.BaseHTTPResponse = self._pool(url, proxy).request(
                    method,
                    url,
                    body=cast("Any", body),
                    headers=headers | self._identity(url),
                    timeout=_timeout(silence_seconds),
                    preload_content=False,
                    redirect=False,
                    retries=False,
                )
            self.has_answered = True
            if proxy and response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
                response.close()
                raise proxy.refusal()
            location = response.headers.get("Location")
            if response.status not in {301, 302, 303, 307, 308} or not location:
                return response
            response.drain_conn()
            response.release_conn()
            url = self._followed(method, url, location)
        raise problems.Unreachable(f"{url} redirects too many times.", is_transient=False)

    def _followed(self, method: str, url: str, location: str) -> str:
        try:
            target = _usable(urljoin(url, location))
        except ValueError:
            raise _unusable(location) from None
        scheme = urlsplit(target).scheme
        if method not in {"GET", "HEAD"}:
            raise problems.Unreachable(
                f"{url} redirects to {target}, and only reads follow redirects. "
                "Set HUB_URL to the final address of the hub.",
                is_transient=False,
            )
        if urlsplit(url).scheme == "https" != scheme:
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

    def _pool(self, url: str, proxy: proxies.Proxy | None) -> urllib3.PoolManager:
        import urllib3  # noqa: PLC0415  (imported at first use: `import hub` stays light)

        from hub import pace  # noqa: PLC0415

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
                    "blocksize": answers.BLOCK_BYTES,
                    "ssl_context": self._context(is_shown=is_shown),
                }
                self._pools[key] = pace.paced(
                    proxy.manager(self._context(is_shown=False), **options)
                    if proxy
                    else urllib3.PoolManager(**options)
                )
            return self._pools[key]

    def _context(self, *, is_shown: bool) -> ssl.SSLContext | None:
        """The context of TLS connections, read from its files once; raises InvalidRequest.

        None is urllib3's own, with the system's authorities.
        """
        if is_shown not in self._contexts:
            files = (self.config.certificate, self.config.certificate_key) if is_shown else ()
            is_default = not (files or self.config.authorities)
            self._contexts[is_shown] = (
                None if is_default else certificate.context(self.config.authorities, *files)
            )
        return self._contexts[is_shown]

    def _problem(self, response: urllib3.BaseHTTPResponse, url: str) -> problems.Problem:
        """Read a refusal, in the form of the protocol."""
        return answers.read_problem(response, url)


def _timeout(silence_seconds: float | None) -> urllib3.Timeout:
    import urllib3  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    most = math.inf if silence_seconds is None else silence_seconds
    return urllib3.Timeout(connect=min(CONNECT_SECONDS, most), read=min(READ_SECONDS, most))


def _usable(url: str) -> str:
    """The address unchanged; raises ValueError for one that no hub can have."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError(url)
    return url


def _unusable(address: str) -> problems.Unreachable:
    return problems.Unreachable(
        f"The hub refers to {address[:200]!r}, which is not an address that this client opens. "
        "Nothing was read from it; contact the operator of the hub.",
        reason="it refers to an unusable address",
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


def _retry_after(text: str | None) -> float | None:
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _query(fields: Mapping[str, Any] | None) -> str:
    """A query string; True is `true`, and several values repeat their name."""
    pairs = [
        (name, str(item).lower() if isinstance(item, bool) else item)
        for name, value in (fields or {}).items()
        for item in (value if isinstance(value, list | tuple | set | frozenset) else [value])
        if item is not None
    ]
    return f"?{urlencode(pairs)}" if pairs else ""
