"""Errors of the HTTP library and the system as `Unreachable`, with readable reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from hub.client import proxies
from hub.protocol import problems

_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")


@contextmanager
def as_unreachable(url: str, proxy: proxies.Proxy | None = None) -> Iterator[None]:
    """Raise `Unreachable`, or what a proxy refuses, for the errors of the HTTP library."""
    import http.client  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    from urllib3 import exceptions  # noqa: PLC0415

    from hub import pace  # noqa: PLC0415

    way = f" through the proxy {proxy.address}" if proxy else ""
    try:
        yield
    except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
        # PySocks tells this apart by its words alone.
        if proxy and proxy.is_socks and "SOCKS5 authentication" in str(error):
            raise proxy.refusal() from None
        raise problems.Unreachable(
            f"No hub answers at {_host(url)}{way} ({_cause(error)}). Is it running, and is HUB_URL "
            "correct? Set HUB_OFFLINE=1 to use cached models.",
            reason=_cause(error),
            is_transient=not _is_lasting(error),
            is_unsent=True,
        ) from None
    except (exceptions.HTTPError, http.client.HTTPException, OSError) as error:
        tunnel = _TUNNEL.search(str(_root(error))) if proxy else None
        if proxy and tunnel and tunnel[1] == "407":
            raise proxy.refusal() from None
        raise problems.Unreachable(
            f"The connection to {_host(url)}{way} failed ({_cause(error)}). Try again.",
            reason=_cause(error),
            # What a proxy refuses for good it refuses again.
            is_transient=not (_is_lasting(error) or (tunnel and _is_refusal(int(tunnel[1])))),
            is_unsent=bool(tunnel) or _was_unsent(error),
            is_slow=isinstance(_root(error), pace.SlowAnswerError),
        ) from None


def _root(error: BaseException) -> BaseException:
    """The error of the system or the proxy below those of the HTTP library."""
    return getattr(error, "original_error", None) or error.__cause__ or error.__context__ or error


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _is_refusal(status: int) -> bool:
    return 400 <= status < 500 and status not in {408, 429}


def _was_unsent(error: BaseException) -> bool:
    """Whether no connection was made, to the hub or to its proxy."""
    from urllib3 import exceptions  # noqa: PLC0415  (imported at first use)

    kinds = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError)
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those below it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        inner = getattr(cause, "original_error", None)
        cause = inner or cause.__cause__ or cause.__context__


def _is_lasting(error: BaseException) -> bool:
    """Whether a failure is one that no repeat changes.

    Such are wrong names, certificates and addresses, and answers that are no HTTP.
    """
    import http.client  # noqa: PLC0415  (imported at first use: `import hub` stays light)
    import socket  # noqa: PLC0415  (imported at first use: `import hub` stays light)
    import ssl  # noqa: PLC0415

    from urllib3 import exceptions  # noqa: PLC0415

    absurd = (
        exceptions.LocationValueError,
        exceptions.DecodeError,
        exceptions.InvalidHeader,
        http.client.LineTooLong,
        http.client.BadStatusLine,
    )
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return cause.errno == socket.EAI_NONAME
        if isinstance(cause, ssl.SSLError):
            return not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        if isinstance(cause, http.client.IncompleteRead | http.client.RemoteDisconnected):
            return False
        if type(cause) is http.client.HTTPException or isinstance(cause, absurd):
            return True
    return False


def _cause(error: BaseException) -> str:
    cause = _root(error)
    if "CERTIFICATE_REQUIRED" in str(cause):
        return "it requires a client certificate; set HUB_CLIENT_CERTIFICATE and HUB_CLIENT_KEY"
    if "CERTIFICATE_VERIFY_FAILED" in str(cause):
        reason = getattr(cause, "verify_message", None) or "verification failed"
        return f"its certificate is not trusted: {reason}; set HUB_CA_BUNDLE to its authority's"
    words = str(getattr(cause, "strerror", None) or cause or type(cause).__name__)
    return problems.one_line(words)
