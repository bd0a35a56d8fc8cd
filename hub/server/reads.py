"""A request that reads writes nothing: GET, HEAD and OPTIONS run without the right to write.

Neither a statement that changes rows nor one that takes a lock gets through, a transaction
included, since on SQLite it begins with the lock that all writers share. What a read leaves behind
goes to ``registry.core.usage``.

During read-only maintenance (``registry.core.maintenance_mode``) this is so for every request: what
changes nothing, such as a query that is sent by POST, goes on working.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from django.db import connection
from django.http import HttpRequest, HttpResponseBase

from registry.core import maintenance_mode, waiting

log = structlog.get_logger(__name__)

READS = frozenset({"GET", "HEAD", "OPTIONS"})
_ALLOWED = ("SELECT", "WITH", "(", "PRAGMA", "SET ", "RESET ", "SHOW", "EXPLAIN")
_LOCKS = (" FOR UPDATE", " FOR NO KEY UPDATE", " FOR SHARE", " FOR KEY SHARE")


class ReadOnlyError(RuntimeError):
    """A request that only reads tried to change the database, or to take a lock there."""


class ReadOnlyMiddleware:
    """Refuses what a GET, a HEAD or an OPTIONS would write, with ReadOnlyError; limits waits.

    But where a view has ``recovers_on_read``: its reads finish what a crash interrupted. Or
    ``writes_on_read``: another site, or a link of a mail, leads a browser there to sign in.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method not in READS:
            with waiting.within(waiting.WRITE_SECONDS):
                mode = maintenance_mode.current()
                if not mode.is_read_only:
                    return self._get_response(request)
                with connection.execute_wrapper(_Guard(mode)):
                    return _noted(request, self._get_response(request))
        with waiting.within(waiting.read_seconds()), connection.execute_wrapper(_Guard()):
            return self._get_response(request)

    def process_view(self, _request: HttpRequest, view: Any, _args: Any, _options: Any) -> None:
        """Django calls this when it knows the view, before the view runs."""
        recovers = getattr(getattr(view, "cls", None), "recovers_on_read", False)
        if recovers or getattr(view, "writes_on_read", False):
            for guard in _guards():
                guard.is_lifted = not maintenance_mode.current().is_read_only


def _noted(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The response to a change during maintenance; a refusal is no error in the log."""
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        route = request.resolver_match.route if request.resolver_match else ""
        log.info("change_refused", reason="read-only maintenance", route=route)
        # Django logs every answer of 500 and above as an error, unless it has been logged.
        response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


class _Guard:
    """Stands before each statement of one request; in a mode, it refuses changes as that does."""

    def __init__(self, mode: maintenance_mode.Mode | None = None) -> None:
        self.mode = mode
        self.is_lifted = False

    def __call__(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,  # noqa: FBT001 - Django's signature
        context: dict[str, Any],
    ) -> Any:
        if not self.is_lifted and (
            not sql.lstrip().startswith(_ALLOWED) or any(lock in sql for lock in _LOCKS)
        ):
            if self.mode is not None:
                raise self.mode.refusal()
            raise ReadOnlyError(f"A request that reads must not execute: {sql[:200]}")
        return execute(sql, params, many, context)


def _guards() -> list[_Guard]:
    return [guard for guard in connection.execute_wrappers if isinstance(guard, _Guard)]


def is_reading() -> bool:
    """Whether the request of this thread may only read."""
    return any(not guard.is_lifted for guard in _guards())


def is_in_maintenance() -> bool:
    """Whether the request of this thread may only read because of read-only maintenance."""
    return any(not guard.is_lifted and guard.mode is not None for guard in _guards())
