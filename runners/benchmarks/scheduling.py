"""What is timed, where and when: benchmarks that released versions are owed, and those asked for.

A benchmark wants its host, or its GPU, for itself. What nobody asked for is short, comes last but
for the first one of each version, and gives its place up when somebody waits for other work. How a
run goes is docs/benchmarks.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from hub.protocol import problems
from registry.core.permissions import require
from registry.models import File, Variant, Version
from registry.versions import selectors as registry
from runners.engine.benchmark import shapes, verdicts
from runners.engine.benchmark.options import Options, UnusableOptionError
from runners.graphs import differences
from runners.models import Host, Job
from runners.queue import order, selectors, services

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from registry.core.permissions import Actor

KIND, COMPARISON, CALIBRATION = "benchmark", "compare-speed", "calibrate"
KINDS = frozenset({KIND, COMPARISON, CALIBRATION})
CPU = "CPUExecutionProvider"
ASKED, CALIBRATING, IDLE = 3, 8, 8
# Other providers of one runtime beside the CPU's: never those that run elsewhere.
_REMOTE = frozenset({"AzureExecutionProvider"})
# Variants of one version that are timed without being asked for.
_VARIANTS = 4
# Versions that are looked at for what they are still owed, the newest ones.
_NEWEST = 50
_ENOUGH_WAITING = 50
# A host that has just begun has better things to do than to be calibrated.
_SETTLED = timedelta(minutes=5)
_CALIBRATED_FOR = timedelta(days=30)
_TRIED_WITHIN = timedelta(days=1)
# What nobody asked for on a hub that is used beside: seconds, and a busy host makes it noisy.
_EFFORT: dict[str, dict[str, Any]] = {
    "light": {
        "processes": 5,
        "most_processes": 5,
        "budget_seconds": 30.0,
        "warmup_seconds": 0.3,
        "warmup_cap_seconds": 3.0,
        "timed_seconds": 0.5,
        "most_samples": 2000,
        "quiet_seconds": 1.0,
        "quiet_wait_seconds": 10.0,
        "if_busy": "measure",
    }
}
# What a maintainer may set of a run.
CHOSEN = (
    "scenario", "rate_per_s", "concurrency", "latency_bound_ms", "bound_percentile", "call_style",
    "batch", "most_batch", "threads", "shapes", "input_shapes", "sweep_batch", "sweep_threads",
    "strict_provider", "provider_options",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that live workers can time models with, and how such a job is queued."""

    pool: str
    runtime: str
    runtime_version: str
    provider: str

    @property
    def requires(self) -> dict[str, Any]:
        needs = {"runtime": self.runtime, "provider": self.provider}
        return {name: value for name, value in needs.items() if value}

    @property
    def exclusive(self) -> str:
        gpu = self.pool.startswith("gpu-")
        return (Job.Exclusive.GPU if gpu else Job.Exclusive.HOST).value

    @property
    def is_usual(self) -> bool:
        """Whether this is ONNX Runtime on the CPU, which lists of models go by."""
        return (self.pool, self.provider) == (Job.Pool.BENCH_CPU, CPU)

    @property
    def options(self) -> dict[str, Any]:
        return {
            "runtime": self.runtime,
            "runtime_version": self.runtime_version,
            "provider": self.provider,
        }


def offers() -> list[Offer]:
    """What live workers of bench and GPU pools bring, each once, in a fixed order."""
    unique = set()
    for worker in selectors.live_workers():
        versions = worker.capabilities.get("versions", {})
        for queue in worker.queues:
            pool, _, build = queue.partition(".")
            if pool != Job.Pool.BENCH_CPU and not pool.startswith("gpu-"):
                continue
            runtime = build or "onnxruntime"
            if runtime not in worker.capabilities.get("runtimes", {}):
                continue
            version = str(versions.get(runtime, ""))
            for provider in _providers(worker.capabilities, pool, build):
                unique.add(Offer(pool, runtime, version, provider))
    return sorted(
        unique, key=lambda one: (one.pool, one.runtime, one.provider, one.runtime_version)
    )


def owe(version: Version, *, with_comparison: bool = True) -> int:
    """Queue the benchmarks of a released version that no job has done or will do; how many."""
    if settings.HUB_BENCH == "off":
        return 0
    jobs = Job.objects.filter(version=version, kind__in=(KIND, COMPARISON)).only("entry", "input")
    requests = {_mark(job.entry, job.input) for job in jobs}
    offered = offers()
    queued = 0
    for place, variant in enumerate(_timed(version)):
        for offer in offered:
            if _mark(variant.entry.path, offer.options) not in requests:
                is_first = place == 0 and offer.is_usual and settings.HUB_BENCH == "light"
                priority = order.FIRST if is_first else IDLE
                _queue(version, variant, offer, {}, priority=priority)
                queued += 1
    if with_comparison:
        queued += _owe_comparison(version, offered, requests)
    return queued


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

    Runtime, provider and pool narrow what workers offer; ``options`` are of those in CHOSEN. Raises
    NotAllowed, StateConflict, VariantMissing, InvalidRequest.
    """
    require(actor, "version.derive", version.model)
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; only published versions can be benchmarked.",
            state=version.state,
        )
    row = registry.variant(version, variant or None, None, None)
    _check(row, {name: value for name, value in options.items() if name != "provider_options"})
    matches = [
        offer
        for offer in offers()
        if runtime in ("", offer.runtime)
        and provider in ("", offer.provider)
        and pool in ("", offer.pool)
    ]
    if not matches:
        raise problems.InvalidRequest.at(
            "/runtime",
            "No worker of this hub can run this benchmark; see /api/v1/workers. Start one with "
            "`hub worker --pool bench-cpu`.",
        )
    for offer in matches:
        _check_options({"runtime": offer.runtime, "provider": offer.provider} | options)
    request = options | {"effort": effort}
    return [_queue(version, row, offer, request, priority=ASKED, again=True) for offer in matches]


def _check(variant: Variant, options: dict[str, Any]) -> None:
    """Raises InvalidRequest for options out of their limits, and sizes that the model has not."""
    _check_options(options)
    ports = {one.name: one.type.shape for one in variant.typed_facts.inputs}
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


def ask_comparison(
    actor: Actor, *, baseline: Variant, candidate: Variant, runtime: str = "", provider: str = ""
) -> list[Job]:
    """Queue the comparison of two variants of one model, for maintainers.

    Raises NotAllowed, StateConflict, InvalidRequest where they are no two of one model with the
    same inputs and outputs, or no worker offers what is wanted.
    """
    require(actor, "version.derive", candidate.version.model)
    for version in (baseline.version, candidate.version):
        if not version.is_served:
            raise problems.StateConflict(
                f"{version.ref} is {version.state}; only published versions can be compared.",
                state=version.state,
            )
    if baseline.pk == candidate.pk or baseline.version.model_id != candidate.version.model_id:
        raise problems.InvalidRequest.at("/baseline", "Name two different variants of one model.")
    if not is_same_interface(baseline, candidate):
        raise problems.InvalidRequest.at(
            "/baseline",
            "Their inputs or outputs differ, so they cannot run on the same input.",
        )
    matches = [
        offer
        for offer in offers()
        if runtime in ("", offer.runtime) and provider in ("", offer.provider)
    ]
    if not matches:
        raise problems.InvalidRequest.at(
            "/runtime", "No worker of this hub can run this benchmark; see /api/v1/workers."
        )
    return [_compare(baseline, candidate, offer, priority=ASKED, again=True) for offer in matches]


def is_same_interface(one: Variant, other: Variant) -> bool:
    """Whether two variants take and give the same: names, types and shapes of what they declare."""
    return _interface(one) == _interface(other)


def keep_up() -> None:
    """Have hosts of live bench workers calibrated that are not, or were long ago or while busy."""
    if settings.HUB_BENCH == "off":
        return
    now = timezone.now()
    wanting = {
        worker.host
        for worker in selectors.live_workers("bench-cpu")
        if worker.started_at < now - _SETTLED and "onnxruntime" in worker.capabilities["runtimes"]
    }
    if not wanting:
        return
    fresh = Host.objects.filter(
        name__in=wanting, calibrated_at__gt=now - _CALIBRATED_FOR, calibration__is_quiet=True
    )
    for host in wanting - set(fresh.values_list("name", flat=True)):
        jobs = Job.objects.filter(kind=CALIBRATION, requires__host=host)
        if not jobs.filter(Q(queued_at__gt=now - _TRIED_WITHIN) | Q(state__in=Job.LIVE)).exists():
            calibrate(host)


def calibrate(host: str) -> Job:
    """Queue the run of one file against itself that tells how quiet a host is."""
    return services.enqueue(
        kind=CALIBRATION,
        version=None,
        given={"effort": settings.HUB_BENCH},
        requires={"host": host, "runtime": "onnxruntime"},
        pool=Job.Pool.BENCH_CPU,
        exclusive=Job.Exclusive.HOST,
        priority=CALIBRATING,
        max_attempts=1,
    )


def catch_up() -> int:
    """Owe the newest published versions what new workers can time; returns how many jobs."""
    waiting = Job.objects.filter(state=Job.State.QUEUED, kind=KIND).count()
    if settings.HUB_BENCH == "off" or waiting > _ENOUGH_WAITING:
        return 0
    rows = Version.objects.filter(state=Version.State.PUBLISHED, model__deleted_at=None)
    return sum(owe(version, with_comparison=False) for version in rows.order_by("-pk")[:_NEWEST])


def options_at(job: Job) -> dict[str, Any]:
    """Everything that a run is told: what the job says, its effort, and what holds on its host.

    The host's calibration, watts and region are read when it begins, as they change meanwhile.
    """
    names = {field.name for field in fields(Options)}
    effort = dict(_EFFORT.get(str(job.input.get("effort", "")), {}))
    if not effort:
        effort["budget_seconds"] = settings.HUB_BENCH_SECONDS
    if job.kind != KIND and "processes" in effort:
        # Fewer give no verdict; as both models share a process, these are no more work.
        effort["processes"] = verdicts.LEAST_PAIRS
    options = {name: value for name, value in job.input.items() if name in names}
    gate = Host.objects.filter(name=job.host).values_list("calibration", flat=True).first()
    here = {
        "gate": gate if isinstance(gate, dict) else {},
        "watts_per_core": settings.HUB_BENCH_WATTS,
        "grid_region": settings.HUB_GRID_REGION,
    }
    return effort | options | here


def job_seconds(options: dict[str, Any]) -> float:
    """How long a job with these options may take in all."""
    sides = 2 if options.get("against") else 1
    return Options.from_json(options).job_seconds(sides)


def _providers(capabilities: dict[str, Any], pool: str, build: str) -> Iterator[str]:
    """The providers that one worker times with in a pool; of another build's runtime none is named.

    On a GPU the CPU is left out: the bench pool is for that.
    """
    if build:
        yield ""
        return
    for provider in capabilities.get("providers", []):
        if provider not in _REMOTE and (pool == Job.Pool.BENCH_CPU or provider != CPU):
            yield str(provider)


def _timed(version: Version) -> list[Variant]:
    """The variants that are timed by themselves: an upgraded one only has another opset."""
    rows = Variant.objects.filter(version=version).exclude(origin=Variant.Origin.UPGRADED)
    return list(rows.select_related("entry")[:_VARIANTS])


def _queue(
    version: Version,
    variant: Variant,
    offer: Offer,
    options: dict[str, Any],
    *,
    priority: int,
    again: bool = False,
) -> Job:
    return services.enqueue(
        kind=KIND,
        version=version,
        entry=variant.entry.path,
        given=offer.options | {"effort": settings.HUB_BENCH} | options,
        requires=offer.requires,
        pool=offer.pool,
        exclusive=offer.exclusive,
        priority=priority,
        again=again,
    )


def _owe_comparison(version: Version, offered: Iterable[Offer], requests: set[Any]) -> int:
    """Queue the comparison of a version's first variant with that of the version before it."""
    candidate = Variant.objects.filter(version=version).select_related("entry", "version").first()
    before = Version.objects.filter(
        model=version.model_id,
        branch=version.branch,
        number__lt=version.number,
        state=Version.State.PUBLISHED,
    ).first()
    if candidate is None or before is None:
        return 0
    baseline = Variant.objects.filter(version=before).select_related("entry", "version").first()
    if baseline is None or not is_same_interface(baseline, candidate):
        return 0
    sides = _sides(baseline, candidate)
    if sides["against_files"] == _files(candidate):
        return 0
    matches = [
        offer
        for offer in offered
        if _mark(candidate.entry.path, offer.options | sides) not in requests
    ]
    for offer in matches:
        _compare(baseline, candidate, offer, priority=IDLE)
    return len(matches)


def _compare(
    baseline: Variant, candidate: Variant, offer: Offer, *, priority: int, again: bool = False
) -> Job:
    return services.enqueue(
        kind=COMPARISON,
        version=candidate.version,
        entry=candidate.entry.path,
        given=offer.options | {"effort": settings.HUB_BENCH} | _sides(baseline, candidate),
        requires=offer.requires,
        pool=offer.pool,
        exclusive=offer.exclusive,
        priority=priority,
        again=again,
    )


def _sides(baseline: Variant, candidate: Variant) -> dict[str, Any]:
    """What tells a comparison's sides, with the files of the earlier one by their digests."""
    return {
        "variant": candidate.name,
        "against": f"{differences.AGAINST}/{baseline.entry.path}",
        "against_version": baseline.version.number,
        "against_variant": baseline.name,
        "against_files": _files(baseline),
    }


def _files(variant: Variant) -> dict[str, str]:
    """The files that a variant is loaded from, by path."""
    rows = File.objects.filter(version=variant.version_id, path__in=variant.paths)
    return dict(sorted(rows.values_list("path", "blob")))


def _interface(variant: Variant) -> list[Any]:
    """What a variant declares of its inputs and outputs, without what is said for people."""
    facts = variant.typed_facts
    return [[(one.name, one.type) for one in side] for side in (facts.inputs, facts.outputs)]


def _mark(entry: str, options: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two jobs the same piece of what is owed; a sweep is more than that."""
    named = ("runtime", "runtime_version", "provider", "against_version", "against_variant")
    extra = not set(CHOSEN).isdisjoint(options)
    return entry, extra, *(options.get(name) for name in named)
