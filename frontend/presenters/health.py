"""The state of the hub's parts in words, for people; monitors ask ``/readyz``."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection

from frontend.parts import formatting
from hub.protocol import problems
from metadata import nightly
from metadata.sparql import service
from registry.storage import verification
from registry.storage.files import store
from runners.queue import aliases

if TYPE_CHECKING:
    from registry.core.permissions import Actor
    from runners.models import Worker

LAYERS = {
    "rlimits": "resource limits",
    "namespaces": "namespaces (no network)",
    "mounts": "mounts (only its own files)",
    "landlock": "landlock (no other files)",
    "seccomp": "seccomp (restricted system calls)",
}
LOW = 2**28
LIMIT = 10
_NIGHTLY = {"comparison": "Graphs", "dump": "Graph dump"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the hub."""

    title: str
    state: str
    word: str
    detail: str


def parts(actor: Actor, workers: int, queue: dict[str, int]) -> list[Part]:
    """Database, storage, queue and cache; the database answered, or there would be no page."""
    waiting, running = queue.get("queued", 0), queue.get("running", 0)
    return [
        Part("Database", "passed", "answers", connection.vendor),
        _storage(),
        _files(actor),
        Part("Cache", "passed", "on", "Redis" if settings.REDIS_URL else "in each process"),
        Part(
            "Workers",
            "passed" if workers else "errored",
            "running" if workers else "none",
            f"{formatting.plural(workers, 'worker')}; jobs: {waiting} queued, {running} running",
        ),
        _graphs(actor),
        *(_night(outcome) for outcome in nightly.outcomes()),
    ]


def worker(row: Worker, *, sees_names: bool) -> tuple[Worker, str, tuple[tuple[str, bool], ...]]:
    """A worker, its name or alias, and each layer of isolation with whether it has that."""
    name = row.name if sees_names else aliases.worker(row.name)
    return row, name, _layers(row.features.get("isolation"))


def _night(outcome: nightly.Outcome) -> Part:
    at = datetime.fromisoformat(outcome.finished_at)
    detail = f"{outcome.detail} ({at:%Y-%m-%d %H:%M} UTC)"
    state, word = ("passed", "done") if outcome.ok else ("errored", "reported something")
    return Part(_NIGHTLY.get(outcome.task, outcome.task), state, word, detail)


def _storage() -> Part:
    try:
        store().check()
        usage = shutil.disk_usage(store().root)
    except OSError as error:
        return Part("Storage", "failed", "not responding", str(error.strerror))
    except problems.Unavailable as error:
        return Part("Storage", "failed", "not responding", str(error))
    free = f"{formatting.size(usage.free)} free of {formatting.size(usage.total)}"
    if usage.free < LOW:
        return Part("Storage", "errored", "nearly full", free)
    return Part("Storage", "passed", "answers", free)


def _files(actor: Actor) -> Part:
    """Whether stored files are as they came; which are not, for administrators alone."""
    unsound = verification.unsound()
    count = unsound.count()
    if not count:
        return Part("Stored files", "passed", "sound", "")
    detail = f"{formatting.plural(count, 'file')} missing or changed on disk"
    if actor.is_authenticated and actor.is_admin:
        named = (f"sha256:{row.pk} {row.get_problem_display()}" for row in unsound[:LIMIT])
        detail = f"{detail}: {', '.join(named)}"
    return Part("Stored files", "failed", "damaged", detail)


def _graphs(actor: Actor) -> Part:
    """How far the graph store is; which graphs it refuses, for administrators alone."""
    status = service.store_status()
    if status.revision is None:
        return Part("Graph store", "errored", "not ready", "it is being built")
    if status.refused:
        count = formatting.plural(len(status.refused), "graph")
        detail = f"{count} malformed and left out"
        if actor.is_authenticated and actor.is_admin:
            detail = f"{detail}: {', '.join(status.refused[:LIMIT])}"
        return Part("Graph store", "failed", "incomplete", detail)
    if not status.is_sound:
        seconds = round(status.behind.total_seconds())
        return Part("Graph store", "errored", "behind", f"{seconds} s behind the published models")
    return Part("Graph store", "passed", "complete", f"revision {status.revision}")


def _layers(isolation: Any) -> tuple[tuple[str, bool], ...]:
    """Every layer with whether it was reached; nothing where the worker told nothing."""
    reached = isolation.get("layers", isolation) if isinstance(isolation, dict) else isolation
    if isinstance(reached, dict):
        reached = [name for name, on in reached.items() if on]
    if not isinstance(reached, list):
        return ()
    return tuple((words, name in reached) for name, words in LAYERS.items())
