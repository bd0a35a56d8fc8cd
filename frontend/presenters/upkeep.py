"""What periodic tasks did and what work costs, in words, for administrators."""

from __future__ import annotations

from typing import Any

from frontend.parts import formatting
from frontend.presenters import figures
from registry.core import periodic
from registry.models import PeriodicTask, WorkTotal

# The kinds of jobs that prove a version, once each variant is checked.
PROOF = frozenset({"describe", "check", "upgrade", "conformance"})


def tasks() -> list[dict[str, Any]]:
    """Every periodic task that has run."""
    return [_task(row) for row in PeriodicTask.objects.all()]


def costs() -> list[dict[str, Any]]:
    """What proving one version costs, then one attempt of each kind of job."""
    rows = list(WorkTotal.objects.all())
    kinds = sorted({row.kind for row in rows})
    means = [_mean(kind, [row for row in rows if row.kind == kind]) for kind in kinds]
    proof = _proof(rows)
    return [proof, *means] if proof else means


def _task(row: PeriodicTask) -> dict[str, Any]:
    is_failing = row.failed_at and (not row.succeeded_at or row.failed_at > row.succeeded_at)
    parts = [formatting.grouped(row.done)] if row.done else []
    parts += [formatting.size(row.done_bytes)] if row.done_bytes else []
    return {
        "title": periodic.titles().get(row.name, row.name),
        "succeeded_at": row.succeeded_at,
        "duration": formatting.duration(row.seconds) if row.succeeded_at else "n/a",
        "result": ", ".join(parts) or "none",
        "error": row.error if is_failing else "",
    }


def _mean(kind: str, rows: list[WorkTotal]) -> dict[str, Any]:
    attempts = sum(row.attempts for row in rows)
    return {
        "title": kind,
        "count": formatting.plural(attempts, "attempt"),
        "seconds": formatting.duration(sum(row.seconds for row in rows) / attempts),
        "cpu_seconds": _cpu(
            sum(row.cpu_seconds for row in rows), sum(row.cpu_attempts for row in rows)
        ),
        "energy": _energy(
            sum(row.joules for row in rows), sum(row.metered_attempts for row in rows)
        ),
    }


def _proof(rows: list[WorkTotal]) -> dict[str, Any] | None:
    """All work of the kinds of a proof, failures included, for each check that passed."""
    rows = [row for row in rows if row.kind in PROOF]
    versions = sum(row.attempts for row in rows if (row.kind, row.outcome) == ("check", "passed"))
    if not versions:
        return None
    # A sum of which parts were not measured would be too small.
    has_cpu = all(row.cpu_attempts == row.attempts for row in rows)
    has_energy = all(row.metered_attempts == row.attempts for row in rows)
    return {
        "title": "Proof of one version",
        "count": formatting.plural(versions, "version"),
        "seconds": formatting.duration(sum(row.seconds for row in rows) / versions),
        "cpu_seconds": _cpu(sum(row.cpu_seconds for row in rows), versions if has_cpu else 0),
        "energy": _energy(sum(row.joules for row in rows), versions if has_energy else 0),
    }


def _cpu(seconds: float, count: int) -> str:
    return figures.or_unmeasured(formatting.duration(seconds / count) if count else "")


def _energy(joules: float, count: int) -> str:
    return figures.or_unmeasured(f"{formatting.figure(joules / count)} J" if count else "")
