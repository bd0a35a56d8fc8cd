"""What periodic tasks did and what work costs, in words, for administrators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frontend.parts import formatting
from frontend.presenters import figures
from registry.core import periodic
from registry.models import PeriodicTask, WorkTotal

if TYPE_CHECKING:
    from datetime import datetime

# The kinds of jobs that prove a version, once each variant is checked.
PROOF = frozenset({"describe", "check", "upgrade", "conformance"})


@dataclass(frozen=True, slots=True)
class Task:
    """A periodic task: its last success with what it did, and its failure if that came later."""

    title: str
    succeeded_at: datetime | None
    duration: str
    result: str
    error: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The mean cost of one kind of work."""

    title: str
    count: str
    seconds: str
    cpu_seconds: str
    energy: str


def tasks() -> list[Task]:
    """Every periodic task that has run."""
    return [_task(row) for row in PeriodicTask.objects.all()]


def costs() -> list[Cost]:
    """What proving one version costs, then one attempt of each kind of job."""
    rows = list(WorkTotal.objects.all())
    kinds = sorted({row.kind for row in rows})
    means = [_mean(kind, [row for row in rows if row.kind == kind]) for kind in kinds]
    proof = _proof(rows)
    return [proof, *means] if proof else means


def _task(row: PeriodicTask) -> Task:
    is_failing = row.failed_at and (not row.succeeded_at or row.failed_at > row.succeeded_at)
    parts = [formatting.grouped(row.done)] if row.done else []
    parts += [formatting.size(row.done_bytes)] if row.done_bytes else []
    return Task(
        title=periodic.titles().get(row.name, row.name),
        succeeded_at=row.succeeded_at,
        duration=formatting.duration(row.seconds) if row.succeeded_at else "n/a",
        result=", ".join(parts) or "none",
        error=row.error if is_failing else "",
    )


def _mean(kind: str, rows: list[WorkTotal]) -> Cost:
    attempts = sum(row.attempts for row in rows)
    return Cost(
        kind,
        formatting.plural(attempts, "attempt"),
        formatting.duration(sum(row.seconds for row in rows) / attempts),
        _cpu(sum(row.cpu_seconds for row in rows), sum(row.cpu_attempts for row in rows)),
        _energy(sum(row.joules for row in rows), sum(row.metered_attempts for row in rows)),
    )


def _proof(rows: list[WorkTotal]) -> Cost | None:
    """All work of the kinds of a proof, failures included, for each check that passed."""
    rows = [row for row in rows if row.kind in PROOF]
    versions = sum(row.attempts for row in rows if (row.kind, row.outcome) == ("check", "passed"))
    if not versions:
        return None
    # A sum of which parts were not measured would be too small.
    has_cpu = all(row.cpu_attempts == row.attempts for row in rows)
    has_energy = all(row.metered_attempts == row.attempts for row in rows)
    return Cost(
        "Proof of one version",
        formatting.plural(versions, "version"),
        formatting.duration(sum(row.seconds for row in rows) / versions),
        _cpu(sum(row.cpu_seconds for row in rows), versions if has_cpu else 0),
        _energy(sum(row.joules for row in rows), versions if has_energy else 0),
    )


def _cpu(seconds: float, count: int) -> str:
    return figures.or_unmeasured(formatting.duration(seconds / count) if count else "")


def _energy(joules: float, count: int) -> str:
    return figures.or_unmeasured(f"{formatting.figure(joules / count)} J" if count else "")
