"""Scheduling of comparisons of two variants of one model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from hub.protocol import problems
from registry.core.permissions import Actor, require
from registry.models import Variant, Version
from registry.versions import selectors as registry
from runners.benchmarks import offers
from runners.benchmarks.offers import Offer
from runners.benchmarks.timing_jobs import COMPARISON, IDLE, REQUESTED
from runners.graphs import differences
from runners.models import Job

# Key that is equal for equal comparisons of a file.
_KEY = ("runtime", "runtime_version", "provider", "against_version", "against_variant")


@transaction.atomic
def ask(
    actor: Actor, *, baseline: Variant, candidate: Variant, runtime: str = "", provider: str = ""
) -> list[Job]:
    """Queue the comparison of two variants of one model, for maintainers.

    Raises NotAllowed, StateConflict, Throttled, and InvalidRequest if they are not two variants of
    one model with the same inputs and outputs, or if no worker offers the runtime.
    """
    user = require(actor, "version.derive", candidate.version.model)
    for version in (baseline.version, candidate.version):
        registry.require_served(version, "versions can be compared")
    if baseline.pk == candidate.pk or baseline.version.model_id != candidate.version.model_id:
        raise problems.InvalidRequest.at("/baseline", "Name two different variants of one model.")
    if _interface(baseline) != _interface(candidate):
        raise problems.InvalidRequest.at(
            "/baseline",
            "Their inputs or outputs differ, so they cannot run on the same input.",
        )
    options = differences.sides(baseline, candidate)
    return [
        offer.enqueue(
            COMPARISON, candidate, options, priority=REQUESTED, again=True, requester=user
        )
        for offer in offers.matching(runtime, provider)
    ]


def schedule_missing(version: Version, live: Iterable[Offer]) -> int:
    """Queue the comparison of a version's first variant with that of the version before it."""
    candidate = version.variants.select_related("entry").first()
    before = Version.objects.filter(
        model=version.model_id,
        branch=version.branch,
        number__lt=version.number,
        state=Version.State.PUBLISHED,
    ).first()
    if candidate is None or before is None:
        return 0
    baseline = before.variants.select_related("entry").first()
    if baseline is None or _interface(baseline) != _interface(candidate):
        return 0
    options = differences.sides(baseline, candidate)
    if options["against_files"] == differences.digests(candidate):
        return 0
    jobs = Job.objects.filter(version=version, kind=COMPARISON, entry=candidate.entry.path)
    requests = {_mark(job.input) for job in jobs.only("input")}
    missing = [
        offer
        for offer in offers.loading(candidate, live)
        if _mark(offer.options | options) not in requests
    ]
    for offer in missing:
        offer.enqueue(COMPARISON, candidate, options, priority=IDLE)
    return len(missing)


def _interface(variant: Variant) -> list[Any]:
    """What a variant declares of its inputs and outputs, without descriptions."""
    facts = variant.typed_facts
    return [[(port.name, port.type) for port in side] for side in (facts.inputs, facts.outputs)]


def _mark(options: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(options.get(name) for name in _KEY)
