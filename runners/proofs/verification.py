"""Missing proofs of published versions: a verdict of each runtime, and a current opset.

No requests are stored: a proof is missing if no job of the version has made it or is making it. So
scheduling may run at any time, and a new version of a runtime or of onnx, or a new method, only
makes more proofs missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from hub.protocol import problems, proofs
from hub.protocol.runtime_builds import CPU, PORTABLE
from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from registry.core.permissions import Actor, require
from registry.core.prepared_queries import Prepared
from registry.models import Variant, Version
from registry.versions import selectors as registry
from runners.engine import conformance
from runners.engine.onnx_files.describe import METHOD
from runners.models import ConformanceResult, Job, MethodSet, Runtime, SuiteRun
from runners.queue import job_kinds, order, selectors, services
from runners.queue.content import ENGINE

# A runtime that no worker has offered for this long gets no more proofs.
RETIRED = timedelta(days=7)
# Time after which a runtime has settled and gets the operator suite.
SETTLED = timedelta(minutes=10)
REQUESTED, LATER, IDLE = 2, 7, 9
BATCH = 20
# While this many jobs are queued, no older versions are scheduled.
ENOUGH_WAITING = 200
UPGRADING = ONNXRUNTIME
# The reference is about 100 times slower than the runtime, so it has a job of its own.
SLOW = [ConformanceResult.Check.REFERENCE.value]
QUICK = [name for name in ConformanceResult.Check.values if name not in SLOW]
SUITE_PARTS = 16


def keep_up() -> None:
    """Register the runtimes of workers, and schedule missing proofs of a few more versions."""
    register()
    catch_up()


def register() -> None:
    """Register the runtimes that live workers offer."""
    now = timezone.now()
    for name, version in sorted(offered()):
        row, is_new = Runtime.objects.get_or_create(name=name, version=version)
        if is_new:
            continue
        if row.seen_at < now - RETIRED:  # what was published meanwhile has to be looked at again
            row.cursor, row.caught_up_at = 0, None
        row.seen_at = now
        row.save(update_fields=["seen_at", "cursor", "caught_up_at"])


def offered() -> dict[tuple[str, str], str]:
    """The runtimes of workers: (runtime, its version) and the onnx version beside it."""
    offers = {}
    for worker in selectors.live_workers():
        features = worker.typed_features
        versions = features.versions
        for name in features.runtimes:
            version = versions.get("onnx" if name == REFERENCE else name)
            if version:
                offers[name, version] = versions.get("onnx", "")
    return offers


def current() -> list[Runtime]:
    """The newest version of each runtime that is offered or was until recently."""
    rows: list[Runtime] = _SINCE.instances(timezone.now() - RETIRED)
    return list({row.name: row for row in rows}.values())


_SINCE = Prepared(lambda since: Runtime.objects.filter(seen_at__gt=since).order_by("first_seen_at"))


def schedule_missing(version: Version, *, priority: int | None = None) -> int:
    """Queue missing proofs of a published version; returns the number of jobs.

    Unless a priority is given, its upgrade and its conformance on ONNX Runtime come first, and all
    else, the comparison with the reference too, after the first evidence of other versions.
    """
    runtimes = current()
    marks_of_jobs = {
        _mark(job.kind, job.entry, job_input)
        for job in Job.objects.filter(version=version)
        for job_input in (job.input, _made_with(job))
    }
    queued = 0
    for variant in Variant.objects.filter(version=version).select_related("entry"):
        for kind, job_input in _due(variant, runtimes):
            # One job may have done all checks that are two jobs now.
            whole = {name: value for name, value in job_input.items() if name != "checks"}
            marks = {_mark(kind, variant.entry.path, options) for options in (job_input, whole)}
            if not marks_of_jobs.isdisjoint(marks):
                continue
            usual = order.FIRST if _is_first(kind, variant, job_input) else order.DEEP
            _queue(kind, version, variant, job_input, priority=priority or usual)
            queued += 1
    return queued


def _is_first(kind: str, variant: Variant, job_input: dict[str, Any]) -> bool:
    """Whether this is part of the first evidence of a version."""
    return (
        kind in ("conformance", "upgrade")
        and variant.origin == Variant.Origin.UPLOADED
        and job_input["runtime"] == UPGRADING
        and job_input.get("checks") != SLOW
        and job_input.get("target") is None
    )


def again(actor: Actor, *, version: Version, variant: str = "", runtime: str = "") -> list[Job]:
    """Queue the conformance of a variant (default: of all) again, for maintainers.

    ``runtime`` narrows it to one. Raises NotAllowed, StateConflict, VariantMissing, InvalidRequest.
    """
    require(actor, "version.derive", version.model)
    registry.require_served(version, "versions can be tested for conformance")
    rows = version.variants.select_related("entry")
    variants = [registry.variant(version, variant, None, None)] if variant else list(rows)
    offers = [row for row in current() if runtime in ("", row.name)]
    if not offers:
        raise problems.InvalidRequest.at(
            "/runtime",
            f"No worker of this hub provides {runtime or 'a runtime'}; see /api/v1/runtimes.",
        )
    return [
        _queue(
            "conformance",
            version,
            variant,
            _conformance_input(offer, variant),
            priority=REQUESTED,
            again=True,
        )
        for variant in variants
        for offer in offers
    ]


def catch_up() -> int:
    """Schedule what older versions lack on new runtimes and by new methods; returns how many jobs.

    Only what was done by an older method is done again by a new one, but for kinds of jobs that
    cover older versions.
    """
    waiting = Job.objects.filter(state=Job.State.QUEUED, priority__gte=LATER, pool=Job.Pool.CPU)
    if waiting.count() > ENOUGH_WAITING:
        return 0
    queued = 0
    for runtime in current():
        if runtime.caught_up_at is None:
            queued += _advance(runtime, schedule_missing)
    for schedule, methods in _methods().items():
        words = ", ".join(f"{kind} {method}" for kind, method in methods.items())
        row, _ = MethodSet.objects.get_or_create(methods=words)
        if row.caught_up_at is None:
            kinds = () if schedule in _covering_older() else methods
            queued += _advance(row, schedule, kinds=kinds)
    return queued


def _methods() -> dict[Callable[..., int], dict[str, str]]:
    """The kinds of jobs that each of these functions schedules, with their methods.

    Those that depend on the job are not among them, nor methods that never changed, unless their
    kind covers older versions.
    """
    methods: dict[Callable[..., int], dict[str, str]] = defaultdict(dict)
    for kind in sorted(job_kinds.job_kinds, key=lambda kind: kind.name):
        has_changed = kind.method != ENGINE or kind.covers_older
        if kind.schedule_missing and isinstance(kind.method, str) and has_changed:
            methods[kind.schedule_missing][kind.name] = kind.method
    return methods


def _covering_older() -> set[Callable[..., int]]:
    """What schedules jobs for older versions that never had one."""
    return {
        kind.schedule_missing
        for kind in job_kinds.job_kinds
        if kind.covers_older and kind.schedule_missing
    }


def schedule_suite() -> int:
    """Queue the operator suite for each runtime version that has not had it."""
    queued, brought = 0, offered()
    for runtime in current():
        onnx_version = brought.get((runtime.name, runtime.version))
        if onnx_version and runtime.first_seen_at < timezone.now() - SETTLED:
            queued += len(start_suite(runtime, onnx_version))
    return queued


@transaction.atomic
def start_suite(runtime: Runtime, onnx_version: str, *, priority: int = IDLE) -> list[Job]:
    """Queue the parts of the suite that a runtime version lacks; none twice."""
    run, _ = SuiteRun.objects.get_or_create(
        runtime=runtime.name,
        runtime_version=runtime.version,
        onnx_version=onnx_version,
        defaults={"parts": SUITE_PARTS},
    )
    tried = {
        job.input["part"]
        for job in Job.objects.filter(kind="suite", input__run=run.pk).only("input")
    }
    return [
        services.enqueue(
            kind="suite",
            version=None,
            job_input={"run": run.pk, "runtime": run.runtime, "part": part, "parts": run.parts},
            requires={"runtime": run.runtime},
            priority=priority,
        )
        for part in range(run.parts)
        if part not in tried
    ]


def _queue(
    kind: str,
    version: Version,
    variant: Variant,
    job_input: dict[str, Any],
    *,
    priority: int,
    again: bool = False,
) -> Job:
    return services.enqueue(
        kind=kind,
        version=version,
        entry=variant.entry.path,
        job_input=job_input,
        requires={"runtime": job_input["runtime"]},
        priority=priority,
        again=again,
    )


@transaction.atomic
def _advance(
    behind: Runtime | MethodSet, schedule: Callable[..., int], kinds: Iterable[str] = ()
) -> int:
    """Look at the next versions, with ``kinds`` only those that had such jobs."""
    row = type(behind).objects.select_for_update().get(pk=behind.pk)
    if row.cursor != behind.cursor:  # another worker is at it
        return 0
    rows = Version.objects.filter(pk__gt=row.cursor, state=Version.State.PUBLISHED)
    if kinds:
        rows = rows.filter(Exists(Job.objects.filter(version=OuterRef("pk"), kind__in=kinds)))
    batch = list(rows.filter(model__deleted_at=None).order_by("pk")[:BATCH])
    queued = sum(schedule(version, priority=LATER) for version in batch)
    if batch:
        row.cursor = batch[-1].pk
    else:
        row.caught_up_at = timezone.now()
    row.save(update_fields=["cursor", "caught_up_at"])
    return queued


def _due(variant: Variant, runtimes: Iterable[Runtime]) -> Iterable[tuple[str, dict[str, Any]]]:
    versions = {runtime.name: runtime.version for runtime in runtimes}
    for runtime in runtimes:
        if runtime.name == REFERENCE and variant.origin != Variant.Origin.UPLOADED:
            continue  # it judges derived files too, but is tested on uploaded ones alone
        job_input = _runtime_input(runtime)
        checks = _conformance_input(runtime, variant)
        is_first = runtime.name == UPGRADING and variant.origin == Variant.Origin.UPLOADED
        if is_first and REFERENCE in versions:
            yield "conformance", checks | {"checks": QUICK}
            yield "conformance", checks | {"checks": SLOW}
        else:
            yield "conformance", checks
        if runtime.name == UPGRADING and variant.facts and variant.typed_facts.method < METHOD:
            yield "describe", {**job_input, "method": METHOD}
        if is_first:
            options = job_input | {"source": variant.name} | upgrade_options(variant)
            for target in (None, *_outdated_targets(variant)):
                yield "upgrade", options | {"target": target}
            if REFERENCE in versions:
                yield "check", {**job_input, "onnx_version": versions[REFERENCE]}


def _outdated_targets(source: Variant) -> list[int]:
    """Opsets of upgraded variants by an older method that an upgrade without a target leaves out.

    They were requested, or were the highest of an older runtime.
    """
    rows = source.derivatives.filter(origin=Variant.Origin.UPGRADED)
    rows = rows.filter(Q(proof=None) | Q(proof__method__lt=proofs.METHOD))
    opsets = set(rows.values_list("opset", flat=True))
    return sorted(filter(None, opsets - {PORTABLE.opset, CPU.ceiling.opset}))


def upgrade_options(source: Variant) -> dict[str, Any]:
    """Options of every upgrade of a variant.

    The method, the opset that every runtime loads, and the inputs that its card declares.
    """
    return {"method": proofs.METHOD, "portable": PORTABLE.opset} | source.input_options


def _conformance_input(runtime: Runtime, variant: Variant) -> dict[str, Any]:
    method = {"method": conformance.METHOD}
    return _runtime_input(runtime) | method | variant.input_options


def _runtime_input(runtime: Runtime) -> dict[str, Any]:
    return {"runtime": runtime.name, "runtime_version": runtime.version}


def _made_with(job: Job) -> dict[str, Any]:
    """What a check was made with, which the check before publication did not know."""
    versions = job.typed_report.versions
    if job.kind != "check" or UPGRADING not in versions:
        return dict(job.input)
    return {
        "runtime": UPGRADING,
        "runtime_version": versions[UPGRADING],
        "onnx_version": versions.get("onnx"),
    }


def _mark(kind: str, entry: str, job_input: dict[str, Any]) -> tuple[Any, ...]:
    """Key that is equal for equal proofs."""
    named = ("runtime", "runtime_version", "onnx_version", "target", "method", "portable")
    checks = tuple(job_input.get("checks") or ())
    return kind, entry, checks, *(job_input.get(name) for name in named)
