"""Whether the hub lives, and whether it can do its work."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import redis
import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from hub.protocol import problems
from hub.server import backends
from hub.server.front import draining
from registry.api.authentication import TokenAuthentication
from registry.core import waiting
from registry.core.health import health_parts
from registry.storage import verification
from registry.storage.files import store
from runners import pools
from runners.queue import aliases, selectors

log = structlog.get_logger(__name__)


MOST_DIGESTS = 100
# How long an urgent job may wait before monitors report it, in seconds.
URGENT_SECONDS = 60
# How long `/readyz` waits for the database, and for the other parts, which are asked meanwhile.
_DATABASE_SECONDS = 1.5
_PROBE_SECONDS = 1.5


def alive(_request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok", content_type="text/plain")


def ready(request: HttpRequest) -> HttpResponse:
    """Each part by name, within 2 s; 503 without a database, and while this process ends.

    Anyone learns which part works, administrators the details too. Where another part does not
    work, other processes have no better one.
    """
    with waiting.within(_DATABASE_SECONDS):
        parts = report() | {"blobs": blobs()}
        details = is_administrator(request)
    status = 200 if parts["database"]["ok"] else 503
    if draining.has_begun():
        parts["process"] = {"ok": False, "state": "draining"}
        status = 503
    if not details:
        parts = {name: {"ok": part["ok"]} for name, part in parts.items()}
    return JsonResponse(parts, status=status, headers={"Cache-Control": "no-store"})


def report() -> dict[str, dict[str, Any]]:
    """The state of the backends, workers, jobs, and of the parts that plug in."""
    until = time.monotonic() + _PROBE_SECONDS
    probes = {name: probe for name, probe in _probes.items() if name != "broker" or _has_broker()}
    answers = {name: probe.ask() for name, probe in probes.items()}
    return {
        "database": _database(),
        **{name: probe.result(answers[name], until) for name, probe in probes.items()},
        "workers": _workers(),
        "urgent_jobs": _urgent_jobs(),
        **{part.name: part.report() for part in health_parts if part.report is not None},
    }


def _has_broker() -> bool:
    return bool(settings.REDIS_URL)


def is_administrator(request: HttpRequest) -> bool:
    """Whether an administrator asks, by token or session; False while the database is away."""
    try:
        credentials = TokenAuthentication().authenticate(request)  # type: ignore[arg-type]
        return aliases.sees_names(credentials[0] if credentials else request.user)
    except (DatabaseError, problems.NotAuthenticated):
        return False


def _failed(part: str, error: Exception) -> dict[str, Any]:
    """A part that does not work; its own words may hold addresses, so they go to the log alone."""
    log.error("part_not_ready", part=part, error=str(error))
    return {"ok": False, "error": type(error).__name__}


def _database() -> dict[str, Any]:
    try:
        backends.ask_database()
    except DatabaseError as error:
        return _failed("database", error)
    return {"ok": True, "engine": connection.vendor}


def _storage() -> dict[str, Any]:
    try:
        store().check()
        usage = shutil.disk_usage(store().root)
    except (OSError, problems.Unavailable) as error:
        return _failed("storage", error)
    return {
        "ok": usage.free > settings.HUB_LIMITS_FREE_BYTES,
        "free_bytes": usage.free,
        "total_bytes": usage.total,
    }


def blobs() -> dict[str, Any]:
    """How many blobs are missing or changed, and which."""
    try:
        unsound = verification.unsound()
        count = unsound.count()
        digests = {f"sha256:{row.pk}": row.problem for row in unsound[:MOST_DIGESTS]}
    except DatabaseError as error:
        return _failed("blobs", error)
    return {"ok": count == 0, "unsound": count, "digests": digests}


def _cache() -> dict[str, Any]:
    try:
        cache.set("health", "ok", 10)
        return {"ok": cache.get("health") == "ok"}
    except Exception as error:  # noqa: BLE001 - a cache backend's client raises its own classes
        return _failed("cache", error)


def _broker() -> dict[str, Any]:
    try:
        return {"ok": backends.ask_redis()}
    except (redis.RedisError, OSError) as error:
        return _failed("broker", error)


class _Probe:
    """A check in a thread: what hangs is asked once, however many wait for it."""

    def __init__(self, name: str, check: Callable[[], dict[str, Any]]) -> None:
        self._name = name
        self._check = check
        self._lock = threading.Lock()
        self._answer: Future[dict[str, Any]] | None = None

    def ask(self) -> Future[dict[str, Any]]:
        """Begin a check, unless one is under way."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer = Future()
                name = f"probe-{self._name}"
                threading.Thread(
                    target=self._run, args=(self._answer,), name=name, daemon=True
                ).start()
            return self._answer

    def result(self, answer: Future[dict[str, Any]], until: float) -> dict[str, Any]:
        """What a check found, unless it takes longer than ``until`` (monotonic clock)."""
        try:
            return answer.result(max(0.0, until - time.monotonic()))
        except TimeoutError as error:
            return _failed(self._name, error)

    def _run(self, answer: Future[dict[str, Any]]) -> None:
        try:
            with waiting.within(waiting.BRIEF_SECONDS):
                answer.set_result(self._check())
        except Exception as error:  # noqa: BLE001 - whatever it is, the part does not work
            answer.set_result(_failed(self._name, error))


_probes = {
    "storage": _Probe("storage", _storage),
    "cache": _Probe("cache", _cache),
    "broker": _Probe("broker", _broker),
}


def _workers() -> dict[str, Any]:
    try:
        live = selectors.live_workers()
    except DatabaseError:
        return {"ok": False, "workers": []}
    return {
        "ok": bool(live),
        "workers": [
            {
                "name": worker.name,
                "pool": worker.pool,
                "seen_at": worker.seen_at.isoformat(),
                "isolation": worker.features.get("isolation"),
            }
            for worker in live
        ],
    }


def _urgent_jobs() -> dict[str, Any]:
    """How long the oldest job has been waiting that a user waits for, in seconds."""
    try:
        since = selectors.waiting_since().get(pools.URGENT)
    except DatabaseError as error:
        return _failed("urgent_jobs", error)
    seconds = (timezone.now() - since).total_seconds() if since else 0.0
    return {"ok": seconds <= URGENT_SECONDS, "seconds": round(seconds, 1)}
