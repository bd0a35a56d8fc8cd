"""The check of a version's package: queued beside its other checks, and for older versions later.

It refuses nothing, so the version is published without waiting for it.
"""

from __future__ import annotations

from hub.protocol import strict
from hub.protocol.packages import METHOD, Package, may_be_one
from registry.core import outbox
from registry.models import Version
from registry.packages import services
from runners.drafts import facts as draft_facts
from runners.models import Job
from runners.queue import order
from runners.queue import services as queue

KIND = "package"


def on_submitted(subject: outbox.Subject) -> None:
    """Queue the check of a version that was submitted; its author waits for it."""
    version = Version.objects.filter(pk=subject.key, state=Version.State.SUBMITTED).first()
    if version is not None:
        schedule_missing(version, priority=Job.URGENT)


def schedule_missing(version: Version, *, priority: int | None = None) -> int:
    """Queue the check unless this method has made it or is making it; returns how many jobs."""
    if not is_one(version):
        return 0
    entry = draft_facts.entry_of(version)
    same = Job.objects.filter(
        version=version,
        kind=KIND,
        input__method=METHOD,
        input__manifest_sha256=version.manifest_sha256,
    )
    if entry is None or same.exists():
        return 0
    queue.enqueue(
        kind=KIND,
        version=version,
        entry=entry.path,
        job_input={"method": METHOD},
        priority=order.DEEP if priority is None else priority,
    )
    return 1


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
    services.keep(
        version=job.version, manifest_sha256=job.input["manifest_sha256"], package=package
    )
