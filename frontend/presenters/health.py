"""The state of the hub's parts in words, for people; monitors ask ``/readyz``."""

from __future__ import annotations

import shutil
from typing import Any

from django.conf import settings
from django.db import connection

from frontend.parts import formatting
from hub.protocol import problems
from registry.core.health import HealthLine, health_parts
from registry.core.permissions import Actor
from registry.storage import verification
from registry.storage.files import store
from runners.models import Worker
from runners.queue import aliases

LAYERS = {
    "rlimits": "resource limits",
    "namespaces": "namespaces (no network)",
    "mounts": "mounts (only its own files)",
    "landlock": "landlock (no other files)",
    "seccomp": "seccomp (restricted system calls)",
}
LOW = 2**28
LIMIT = 10


def parts(actor: Actor, workers: int, queue: dict[str, int]) -> list[HealthLine]:
    """Database, storage, queue and cache; the database answered, or there would be no page."""
    waiting, running = queue.get("queued", 0), queue.get("running", 0)
    is_administrator = actor.is_authenticated and actor.is_admin
    return [
        HealthLine("Database", "passed", "answers", connection.vendor),
        _storage(),
        _files(is_administrator),
        HealthLine("Cache", "passed", "on", "Redis" if settings.REDIS_URL else "in each process"),
        HealthLine(
            "Workers",
            "passed" if workers else "errored",
            "running" if workers else "none",
            f"{formatting.plural(workers, 'worker')}; jobs: {waiting} queued, {running} running",
        ),
        *(line for part in health_parts for line in part.describe(is_administrator)),
    ]


def worker(row: Worker, *, sees_names: bool) -> tuple[Worker, str, tuple[tuple[str, bool], ...]]:
    """A worker, its name or alias, and each layer of isolation with whether it has that."""
    name = row.name if sees_names else aliases.worker(row.name)
    return row, name, _layers(row.features.get("isolation"))


def _storage() -> HealthLine:
    try:
        store().check()
        usage = shutil.disk_usage(store().root)
    except OSError as error:
        return HealthLine("Storage", "failed", "not responding", str(error.strerror))
    except problems.Unavailable as error:
        return HealthLine("Storage", "failed", "not responding", str(error))
    free = f"{formatting.size(usage.free)} free of {formatting.size(usage.total)}"
    if usage.free < LOW:
        return HealthLine("Storage", "errored", "nearly full", free)
    return HealthLine("Storage", "passed", "answers", free)


def _files(is_administrator: bool) -> HealthLine:  # noqa: FBT001 - the value is the argument
    """Whether stored files are as they came; which are not, for administrators alone."""
    unsound = verification.unsound()
    count = unsound.count()
    if not count:
        return HealthLine("Stored files", "passed", "sound", "")
    detail = f"{formatting.plural(count, 'file')} missing or changed on disk"
    if is_administrator:
        named = (f"sha256:{row.pk} {row.get_problem_display()}" for row in unsound[:LIMIT])
        detail = f"{detail}: {', '.join(named)}"
    return HealthLine("Stored files", "failed", "damaged", detail)


def _layers(isolation: Any) -> tuple[tuple[str, bool], ...]:
    """Every layer with whether it was reached; nothing where the worker told nothing."""
    reached = isolation.get("layers", isolation) if isinstance(isolation, dict) else isolation
    if isinstance(reached, dict):
        reached = [name for name, on in reached.items() if on]
    if not isinstance(reached, list):
        return ()
    return tuple((words, name in reached) for name, words in LAYERS.items())
