"""The check of a version's package, and then of how its decoder generates.

Both are queued beside the other checks, and for older versions later. They refuse nothing, so the
version is published without waiting for them.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

from hub.protocol import generation as generations
from hub.protocol import strict
from hub.protocol.generation import Generation
from hub.protocol.packages import METHOD, Package, may_be_one
from registry.core import outbox
from registry.models import Version
from registry.packages import selectors, services
from runners.drafts import facts as draft_facts
from runners.models import Job
from runners.queue import order
from runners.queue import services as queue

KIND, GENERATION = "package", "generation"


def on_submitted(subject: outbox.Subject) -> None:
    """Queue the check of a version that was submitted; its author waits for it."""
    version = Version.objects.filter(pk=subject.key, state=Version.State.SUBMITTED).first()
    if version is not None:
        schedule_missing(version, priority=Job.URGENT)


def schedule_missing(version: Version, *, priority: int | None = None) -> int:
    """Queue what these methods have neither made nor are making; returns how many jobs."""
    if not is_one(version):
        return 0
    entry = draft_facts.entry_of(version)
    priority = order.DEEP if priority is None else priority
    if entry is not None and not _jobs(version, KIND, METHOD).exists():
        queue.enqueue(
            kind=KIND,
            version=version,
            entry=entry.path,
            job_input={"method": METHOD},
            priority=priority,
        )
        return 1
    row = selectors.of(version)
    return _schedule_generation(version, row.package, priority) if row is not None else 0


def _schedule_generation(version: Version, package: Package, priority: int) -> int:
    """Queue the measurement of a package's decoder; it needs its host alone if it takes times."""
    if not package.decoder or _jobs(version, GENERATION, generations.METHOD).exists():
        return 0
    is_timed = settings.HUB_BENCH != "off"
    place: dict[str, Any] = {}
    if is_timed:
        place = {"pool": Job.Pool.BENCH_CPU, "exclusive": Job.Exclusive.HOST}
    queue.enqueue(
        kind=GENERATION,
        version=version,
        entry=package.decoder,
        job_input={"method": generations.METHOD, "timed": is_timed},
        priority=priority,
        **place,
    )
    return 1


def _jobs(version: Version, kind: str, method: int) -> Any:
    return Job.objects.filter(
        version=version,
        kind=kind,
        input__method=method,
        input__manifest_sha256=version.manifest_sha256,
    )


def is_one(version: Version) -> bool:
    """Whether the files of a version can be more than a single model."""
    files = version.files.filter(derived=False)
    return may_be_one(files.values_list("path", flat=True))


def take(job: Job) -> None:
    """Keep the package of a job that succeeded; what is none is left out."""
    if job.version is None:
        return
    try:
        package = Package.read(job.typed_report.facts.get("package"))
    except strict.UnreadableError:
        return
    manifest = job.input["manifest_sha256"]
    if services.keep(version=job.version, manifest_sha256=manifest, package=package):
        _schedule_generation(job.version, package, order.DEEP)


def take_generation(job: Job) -> None:
    """Keep what a job measured of a decoder; what is nothing is left out."""
    if job.version is None:
        return
    try:
        generation = Generation.read(job.typed_report.facts.get("generation"))
    except strict.UnreadableError:
        return
    manifest = job.input["manifest_sha256"]
    services.keep_generation(version=job.version, manifest_sha256=manifest, generation=generation)
