"""Scheduling of benchmarks: missing ones of released versions, and requested ones.

A benchmark needs its host, or its GPU, exclusively. Scheduled ones are short, run last except for
the first of each version, and give way when a user waits for other work. How a run goes is
docs/benchmarks.md.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction

from hub.protocol import problems
from registry.core.permissions import Actor, require
from registry.models import Variant, Version
from registry.versions import selectors as registry
from runners.benchmarks import comparisons, offers, unmeasured
from runners.benchmarks.timing_jobs import BENCHMARK, IDLE, REQUESTED
from runners.engine.benchmark import shapes
from runners.engine.benchmark.options import Options, UnusableOptionError
from runners.models import Job
from runners.queue import order

# Variants of one version that are timed without being asked for.
_VARIANTS = 4
# Number of newest versions that are searched for missing benchmarks.
_NEWEST = 50
_ENOUGH_WAITING = 50
# What a maintainer may set of a run.
_SETTINGS = frozenset(
    {
        "scenario",
        "rate_per_s",
        "concurrency",
        "latency_bound_ms",
        "bound_percentile",
        "call_style",
        "batch",
        "most_batch",
        "threads",
        "shapes",
        "input_shapes",
        "sweep_batch",
        "sweep_threads",
        "strict_provider",
        "provider_options",
    }
)


def schedule_missing(version: Version, *, with_comparison: bool = True) -> int:
    """Queue the benchmarks of a released version that no job has done or will do; how many.

    A file that ONNX Runtime did not load in the check is not timed on the CPU with it.
    """
    if settings.HUB_BENCH == "off":
        return 0
    jobs = Job.objects.filter(version=version, kind=BENCHMARK).only("entry", "input")
    requests = {_mark(job.entry, job.input) for job in jobs if _SETTINGS.isdisjoint(job.input)}
    live = offers.live()
    queued = 0
    variants = _timed(version)
    main = next((variant for variant in variants if not unmeasured.obstacle(variant)), None)
    for variant in variants:
        for offer in offers.loading(variant, live):
            if _mark(variant.entry.path, offer.options) not in requests:
                is_first = variant is main and offer.is_usual and settings.HUB_BENCH == "light"
                priority = order.FIRST if is_first else IDLE
                offer.enqueue(BENCHMARK, variant, {}, priority=priority)
                queued += 1
    return queued + (comparisons.schedule_missing(version, live) if with_comparison else 0)


@transaction.atomic
def ask(
    actor: Actor,
    *,
    version: Version,
    variant: str = "",
    runtime: str = "",
    provider: str = "",
    pool: str = "",
    effort: str = "full",
    **options: Any,
) -> list[Job]:
    """Queue benchmarks of a variant (the first unless named) once more, for maintainers.

    Runtime, provider and pool narrow what workers offer; ``options`` are settings of a run. Raises
    NotAllowed, StateConflict, VariantMissing, InvalidRequest, Throttled.
    """
    user = require(actor, "version.derive", version.model)
    registry.require_served(version, "versions can be benchmarked")
    row = registry.variant(version, variant or None, None, None)
    _check(row, {name: value for name, value in options.items() if name != "provider_options"})
    matches = offers.matching(runtime, provider, pool)
    for offer in matches:
        _check_options({"runtime": offer.runtime, "provider": offer.provider} | options)
    request = options | {"effort": effort}
    return [
        offer.enqueue(BENCHMARK, row, request, priority=REQUESTED, again=True, requester=user)
        for offer in matches
    ]


def catch_up() -> int:
    """Owe the newest published versions what new workers can time; returns how many jobs."""
    waiting = Job.objects.filter(state=Job.State.QUEUED, kind=BENCHMARK).count()
    if settings.HUB_BENCH == "off" or waiting > _ENOUGH_WAITING:
        return 0
    rows = Version.objects.filter(state=Version.State.PUBLISHED, model__deleted_at=None)
    return sum(
        schedule_missing(version, with_comparison=False)
        for version in rows.order_by("-pk")[:_NEWEST]
    )


def _check(variant: Variant, options: dict[str, Any]) -> None:
    """Raises InvalidRequest for options out of their limits, and sizes that the model has not."""
    _check_options(options)
    ports = {port.name: port.type.shape for port in variant.typed_facts.inputs}
    if not ports:
        return  # not described yet: the engine, which reads the model, refuses what does not fit
    try:
        shapes.sizes_of(ports, options.get("shapes", {}), options.get("input_shapes", {}))
    except shapes.UnfitShapeError as error:
        raise problems.InvalidRequest.at(error.field, f"The benchmark: {error}.") from None


def _check_options(options: dict[str, Any]) -> None:
    try:
        Options.from_json(options)
    except UnusableOptionError as error:
        raise problems.InvalidRequest.at(f"/{error.option}", str(error)) from None


def _timed(version: Version) -> list[Variant]:
    """The variants that are timed by themselves: an upgraded one only has another opset.

    Where ONNX Runtime does not load a file but its upgrade, that stands in for it.
    """
    rows = version.variants.select_related("entry")
    variants = list(rows.exclude(origin=Variant.Origin.UPGRADED)[:_VARIANTS])
    for row in variants[:] if rows.count() > len(variants) else ():
        upgraded = rows.filter(origin=Variant.Origin.UPGRADED, derived_from=row).order_by("-opset")
        stand_in = next((variant for variant in upgraded if variant.is_chosen), None)
        if stand_in and unmeasured.obstacle(row):
            variants.insert(variants.index(row) + 1, stand_in)
    return variants


def _mark(entry: str, options: dict[str, Any]) -> tuple[Any, ...]:
    """Key that is equal for equal benchmarks."""
    return entry, *(options.get(name) for name in ("runtime", "runtime_version", "provider"))
