"""Whether the hub lives, and whether it can do its work."""

from __future__ import annotations

import shutil
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from hub.protocol import problems
from hub.server.front import draining
from registry.api.authentication import TokenAuthentication
from registry.core.health import health_parts
from registry.storage import verification
from registry.storage.files import store
from runners import pools
from runners.queue import aliases, selectors

log = structlog.get_logger(__name__)


MOST_DIGESTS = 100
# How long an urgent job may wait before monitors report it, in seconds.
URGENT_SECONDS = 60


def alive(_request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok", content_type="text/plain")


def ready(request: HttpRequest) -> HttpResponse:
    """Each part by name; 503 where one that is needed does not answer, or this process ends.

    Anyone learns which part works, administrators the details too.
    """
    parts = report() | {"blobs": _blobs()}
    needed = ("database", "storage", "cache")
    status = 200 if all(parts[name]["ok"] for name in needed) else 503
    if draining.has_begun():
        parts["process"] = {"ok": False, "state": "draining"}
        status = 503
    if not is_administrator(request):
        parts = {name: {"ok": part["ok"]} for name, part in parts.items()}
    return JsonResponse(parts, status=status, headers={"Cache-Control": "no-store"})


def report() -> dict[str, dict[str, Any]]:
    """The state of database, storage, cache, workers, jobs, and of the parts that plug in."""
    return {
        "database": _database(),
        "storage": _storage(),
        "cache": _cache(),
        "workers": _workers(),
        "urgent_jobs": _urgent_jobs(),
        **{part.name: part.report() for part in health_parts if part.report is not None},
    }


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
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
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


def _blobs() -> dict[str, Any]:
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
