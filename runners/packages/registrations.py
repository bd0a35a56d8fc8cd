"""What packages plug into the core."""

from __future__ import annotations

from typing import Any

from hub.protocol import generation, strict
from hub.protocol.packages import METHOD
from hub.protocol.stored import mapping
from registry.core import outbox
from registry.core.event_subjects import EventSubject, describe_version, event_subjects
from registry.packages import services
from registry.versions import evidence
from registry.versions.implied_terms import ImpliedTerms, implied_terms
from runners.packages import jobs, selectors
from runners.queue.job_kinds import JobKind, job_kinds


def register(package: str) -> None:
    """Plug into the queue, its events and the kinds of evidence."""
    event_subjects.register(package, EventSubject(("package",), describe_version))
    outbox.subscribe("packages.jobs", ("version.submitted",), jobs.on_submitted)
    job_kinds.register(
        package,
        JobKind(
            jobs.KIND,
            jobs.take,
            method=str(METHOD),
            reads_all=True,
            schedule_missing=jobs.schedule_missing,
            covers_older=True,
            forget=services.forget,
        ),
        JobKind(
            jobs.GENERATION,
            jobs.take_generation,
            method=str(generation.METHOD),
            is_conclusive=_is_accepted,
            reads_all=True,
            schedule_missing=jobs.schedule_missing,
            covers_older=True,
        ),
    )
    implied_terms.register(package, ImpliedTerms(selectors.implied_terms))
    evidence.register(
        evidence.Evidence(
            jobs.GENERATION, "generation", "/checks#generation", "/package", selectors.describe
        )
    )


def _is_accepted(facts: dict[str, Any]) -> bool:
    """Whether speeds were measured, without noise; others must be measured again."""
    try:
        result = generation.Generation.read(mapping(facts).get("generation"))
    except strict.UnreadableError:
        return False
    return result.fastest.is_ranked
