"""What each request took: counted for ``/metrics``, and logged where it was slow.

With HUB_LOG_ACCESS, every request is logged. A route is the pattern of an address, never the
address itself: paths hold names of private models. Durations end when the response begins; bodies
are sent at the speed of the client. With several processes, gunicorn's configuration names a folder
in which all of them count (``PROMETHEUS_MULTIPROC_DIR``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.db.backends.signals import connection_created
from django.utils.functional import SimpleLazyObject
from prometheus_client import CollectorRegistry, Counter, Histogram

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.http import HttpRequest

log = structlog.get_logger(__name__)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"})
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
UNKNOWN_ROUTE = "unknown"
_SQL_CHARACTERS = 2000

registry = CollectorRegistry()
_requests = Counter(
    "hub_requests",
    "Requests by method, route and status.",
    ("method", "route", "status"),
    registry=registry,
)
_seconds = Histogram(
    "hub_request_seconds",
    "Time until the response began, in seconds.",
    ("route",),
    buckets=BUCKETS,
    registry=registry,
)
_slow_queries = Counter(
    "hub_slow_queries",
    "SQL statements that took at least HUB_LOG_QUERY_SECONDS.",
    registry=registry,
)


def ended(
    method: str,
    route: str,
    status: int,
    seconds: float,
    *,
    request_id: str,
    user: int | None,
    address: Callable[[], str],
) -> None:
    """Count a request, and log it where it took long or every request is logged.

    ``user`` is the key of an account; ``address``, that of the client, is asked for the log alone.
    """
    route = route or UNKNOWN_ROUTE
    _requests.labels(method if method in METHODS else "other", route, str(status)).inc()
    _seconds.labels(route).observe(seconds)
    fields = {
        "method": method,
        "route": route,
        "status": status,
        "seconds": round(seconds, 4),
        "user": user,
        "request_id": request_id,
    }
    if settings.HUB_LOG_ACCESS:
        log.info("access", address=address(), **fields)
    if 0 <= settings.HUB_LOG_REQUEST_SECONDS <= seconds:
        log.info("request", **fields)


def user_of(request: HttpRequest) -> int | None:
    """The key of the user, where the request has asked for it: none is looked up for a log."""
    user: Any = getattr(request, "_cached_user", None) or request.__dict__.get("user")
    if user is None or isinstance(user, SimpleLazyObject):
        return None
    key = getattr(user, "pk", None)
    return key if isinstance(key, int) else None


class _SlowQueries:
    """Stands around each statement of a connection, and logs those that take long.

    The log's context adds route and id of the request, or the job.
    """

    def __call__(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,  # noqa: FBT001 - Django's signature
        context: dict[str, Any],
    ) -> Any:
        start = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            seconds = time.perf_counter() - start
            if 0 <= settings.HUB_LOG_QUERY_SECONDS <= seconds:
                _slow_queries.inc()
                log.warning(
                    "slow_query",
                    seconds=round(seconds, 3),
                    sql=sql[:_SQL_CHARACTERS],
                )


def watch_queries() -> None:
    """Log slow statements of every connection of this process from now on."""
    connection_created.connect(_watch, dispatch_uid="slow-queries")


def _watch(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if not any(isinstance(wrapper, _SlowQueries) for wrapper in connection.execute_wrappers):
        # First: a wrapper of one request, within which the connection was made, ends the last one.
        connection.execute_wrappers.insert(0, _SlowQueries())
