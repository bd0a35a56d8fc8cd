"""What is done once a night: the dump, and the comparison of graphs with the rows they come from.

How the comparison ended is in the database: one machine compares for all. Each machine without a
shared folder has a dump of its own, and a file beside it says how that ended. So a restart repeats
nothing, and leases and locks keep a second process from doing the same at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import structlog
from django.conf import settings
from django.db import connections
from django.utils import timezone

from hub import counting
from metadata.models import Comparison, NamedGraph
from metadata.store import dump, maintenance
from registry.core import leases, maintenance_mode, outbox
from registry.core.health import HealthLine, HealthPart, health_parts
from registry.core.maintenance import MaintenanceTask, maintenance_tasks
from registry.core.shared_files import replace_text, try_lock
from registry.storage.files import store

log = structlog.get_logger(__name__)

# When a hub in most places is least busy, in UTC.
NIGHT = time(2, 0, tzinfo=UTC)
# Counts up where a release writes other graphs of the same rows: a hub then rewrites all of them.
FORM = 2
COMPARISON = "comparison"
# How long after a failure the next try comes.
AGAIN = timedelta(minutes=10)
_EXAMPLES = 10
# Names of the tasks, for people.
TITLES = {COMPARISON: "Graphs", "dump": "Graph dump"}
_worker: threading.Thread | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended: ``detail`` is one sentence for people.

    ``address`` is the hub's own then, ``form`` that of the graphs that its release writes.
    """

    task: str
    ok: bool
    detail: str
    started_at: str
    finished_at: str
    address: str = ""
    form: int = 0


def register(package: str) -> None:
    """Plug into the process of the graphs, and into health."""
    maintenance_tasks.register(
        package, MaintenanceTask("periodic work", lambda: (run_due, lambda: None))
    )
    health_parts.register(package, HealthPart("nightly", _describe))


def _describe(_is_administrator: bool) -> Iterator[HealthLine]:  # noqa: FBT001 - as the port says
    for outcome in filter(None, map(last, TASKS)):
        at = datetime.fromisoformat(outcome.finished_at)
        state, word = ("passed", "done") if outcome.ok else ("errored", "reported something")
        detail = f"{outcome.detail} ({at:%Y-%m-%d %H:%M} UTC)"
        yield HealthLine(TITLES[outcome.task], state, word, detail)


def run_due(*, wait: bool = False) -> None:
    """Begin what is due, in a thread of this process unless ``wait``; returns at once otherwise.

    Nothing starts while one of the tasks runs, here or in another process.
    """
    global _worker  # noqa: PLW0603 - one thread a process, whoever asks
    if _worker is not None and _worker.is_alive():
        return
    names = due()
    if not names:
        return
    if wait:
        _run(names)
        return
    _worker = threading.Thread(target=_run_apart, args=(names,), name="periodic", daemon=True)
    _worker.start()


def due(now: datetime | None = None) -> list[str]:
    """The names of the tasks to be done now."""
    if maintenance_mode.current().is_read_only:
        return []
    at = now or timezone.now()
    night = datetime.combine(at.astimezone(UTC), NIGHT)
    night = night if night <= at else night - timedelta(days=1)
    return [name for name in TASKS if _is_due(name, at, night)]


def last(name: str) -> Outcome | None:
    """How a task ended last; None where it was never run."""
    if name == COMPARISON:
        return _comparison()
    try:
        return Outcome(**json.loads((_folder() / f"{name}.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _comparison() -> Outcome | None:
    row = Comparison.objects.filter(pk=1).first()
    if row is None:
        return None
    began, ended = row.started_at.isoformat(), row.finished_at.isoformat()
    return Outcome(COMPARISON, row.ok, row.detail, began, ended, row.address, row.form)


def make_dump() -> tuple[bool, str]:
    """Write the dump of all public graphs."""
    latest = dump.make()
    statements = counting.plural(latest.quads, "statement")
    graphs = counting.plural(latest.graphs, "graph")
    return True, f"{statements} in {graphs}, {counting.size(latest.size)}"


def compare() -> tuple[bool, str]:
    """Compare each graph with its rows, and make again what differs.

    What differs at the second look as well was no event on its way to its graph. A hub that
    answers at an address for the first time has other names for everything, and a new release may
    write other graphs of the same rows: all is made.
    """
    before = last(COMPARISON)
    if before is not None and before.address == settings.HUB_PUBLIC_URL and before.form != FORM:
        return True, f"{_rebuilt()}: this release writes them differently"
    moved = before is not None and before.address != settings.HUB_PUBLIC_URL
    if moved or not NamedGraph.objects.exists():
        return True, f"{_rebuilt()}: the hub's address is new to them"
    outbox.deliver()
    wrong = list(maintenance.differences())
    if wrong:
        outbox.deliver()
        again = set(maintenance.differences())
        wrong = [line for line in wrong if line in again]
    if not wrong:
        return True, "every graph is what its rows say"
    log.error("graphs_differ", count=len(wrong), graphs=wrong[:_EXAMPLES])
    count = counting.plural(len(wrong), "graph")
    return False, f"{count} differed from their rows; {_rebuilt()}"


def _rebuilt() -> str:
    """Make every graph; returns a message with the number of changed ones."""
    return f"{counting.plural(maintenance.rebuild(), 'graph was', 'graphs were')} made"


TASKS: dict[str, Callable[[], tuple[bool, str]]] = {COMPARISON: compare, "dump": make_dump}


def _is_due(name: str, at: datetime, night: datetime) -> bool:
    outcome = last(name)
    if outcome is None or (outcome.address, outcome.form) != (settings.HUB_PUBLIC_URL, FORM):
        return True
    began = datetime.fromisoformat(outcome.started_at)
    if name == "dump" and not outcome.ok:
        return began + AGAIN <= at
    return began < night or (name == "dump" and _dump_is_stale())


def _dump_is_stale() -> bool:
    """Whether the dump is missing, or holds what is no longer public."""
    latest = dump.newest()
    return latest is None or dump.tells_too_much(latest)


def _run_apart(names: list[str]) -> None:
    try:
        _run(names)
    finally:
        connections.close_all()


def _run(names: list[str]) -> None:
    with try_lock(_folder() / "lock") as alone:
        for name in names if alone else ():
            if name != COMPARISON:
                _do(name)
                continue
            with leases.held(COMPARISON) as hold:
                # Another machine may have done it since.
                if hold is not None and name in due():
                    _do(name)


def _do(name: str) -> None:
    started_at = timezone.now().isoformat()
    try:
        ok, detail = TASKS[name]()
    except Exception as error:  # shown on the page of health, and tried again
        log.exception("periodic_failed", task=name)
        ok, detail = False, f"{type(error).__name__}: {error}"[:500]
    else:
        log.info("periodic_done", task=name, ok=ok, detail=detail)
    finished_at = timezone.now().isoformat()
    home = settings.HUB_PUBLIC_URL
    outcome = Outcome(name, ok, detail, started_at, finished_at, home, FORM)
    if name == COMPARISON:
        values = {key: value for key, value in asdict(outcome).items() if key != "task"}
        Comparison.objects.update_or_create(pk=1, defaults=values)
    else:
        replace_text(_folder() / f"{name}.json", json.dumps(asdict(outcome)))


def _folder() -> Path:
    return store().root / "periodic"
