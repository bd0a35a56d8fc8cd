"""Differences between two graphs of one model, kept in their job's report.

Differences of neighbouring versions are made ahead, others on request.

The job belongs to the later version and names the files of the earlier one by their SHA-256. When
the earlier one is withdrawn, the differences of its graph are deleted too.
"""

from __future__ import annotations

from typing import Any

from hub.protocol import problems, stored
from registry.core.permissions import Actor, require_user
from registry.models import File, Variant, Version
from registry.versions import selectors as registry
from runners.engine.graphs.changes import Change
from runners.models import Job
from runners.queue import order, services

KIND = "difference"
# Folder of the files of the earlier version in a job.
AGAINST = ".against"
_URGENT = 2


def schedule_missing(version: Version) -> int:
    """Queue missing differences to the served versions just before and after; returns their number.

    The first variant of each version is compared; none if both have the same files.
    """
    served = Version.objects.filter(model=version.model_id, state__in=Version.SERVED)
    earlier = served.filter(number__lt=version.number).order_by("-number").first()
    later = served.filter(number__gt=version.number).order_by("number").first()
    queued = 0
    for pair in ((earlier, version), (version, later)):
        before, after = (_first_variant(of) for of in pair)
        if before is None or after is None or digests(before) == digests(after):
            continue
        _enqueue(before, after, order.DEEP)
        queued += 1
    return queued


def request(actor: Actor, *, before: Variant, after: Variant) -> Job:
    """Queue the difference of two variants of one model, or return the job that made it.

    Any signed-in user who may read both versions may request it; ``report_of`` removes weights for
    users who may not read the files. Raises NotAuthenticated, StateConflict, and InvalidRequest if
    both are of different models or are the same file.
    """
    require_user(actor, "read", of=after.version.model)
    for version in (before.version, after.version):
        registry.require_served(version, "files can be compared")
    if before.version.model_id != after.version.model_id:
        raise problems.InvalidRequest("Only graphs of the same model can be compared.")
    if before.pk == after.pk:
        raise problems.InvalidRequest("Both sides are the same variant. Choose another one.")
    return _enqueue(before, after, _URGENT)


def of(before: Variant, after: Variant) -> Job | None:
    """The newest job that compares these two files."""
    subject = f"{after.version.manifest_sha256}:{after.entry.path}"
    key = services.key_of(KIND, subject, sides(before, after))
    rows = Job.objects.filter(version=after.version, kind=KIND, key=key).order_by("-queued_at")
    return rows.filter(state=Job.State.SUCCEEDED).first() or rows.first()


def can_be_raised(job: Job) -> bool:
    """Whether a difference waits behind other jobs, and a request would raise its priority."""
    return job.state == Job.State.QUEUED and job.priority > _URGENT


def report_of(job: Job, *, may_have: bool) -> dict[str, Any] | None:
    """A job's report; without weights if it is a difference whose files the reader may not have."""
    is_open = may_have or job.kind != KIND or job.version is None or not job.version.model.is_gated
    return job.report if is_open else without_weights(job.report)


def without_weights(report: dict[str, Any] | None) -> dict[str, Any] | None:
    """A difference's report for readers without file access: only types of possible weights."""
    facts = report.get("facts") if report else None
    if not isinstance(facts, dict):
        return report
    nodes = [_without_weights(row) for row in stored.rows(facts.get("changed"))]
    return {**(report or {}), "facts": {**facts, "changed": nodes}}


def _without_weights(node: dict[str, Any]) -> dict[str, Any]:
    changes = list(map(Change.read, stored.rows(node.get("changes"))))
    earlier = (change.before.rsplit(".", 1)[-1] for change in changes if change.what == "operator")
    operators = {str(node.get("op")), *earlier}
    return {**node, "changes": [change.without_weights(operators).to_json() for change in changes]}


def keep(job: Job) -> None:
    """Keep the difference that a job reports, unless a side was withdrawn while it ran."""
    numbers = {job.input.get("against_version")} | ({job.version.number} if job.version else set())
    sides = Version.objects.filter(
        model=job.version.model_id if job.version else None, number__in=numbers
    )
    for version in sides:
        if version.state == Version.State.WITHDRAWN:
            forget(version)


def forget(version: Version) -> int:
    """Delete the differences of a withdrawn version's graph; returns their number."""
    rows = Job.objects.filter(
        kind=KIND, version__model=version.model_id, input__against_version=version.number
    )
    mine = Job.objects.filter(kind=KIND, version=version)
    deleted = 0
    for jobs in (rows, mine):
        deleted += jobs.exclude(state=Job.State.RUNNING).delete()[1].get("runners.Job", 0)
    return deleted


def _enqueue(before: Variant, after: Variant, priority: int) -> Job:
    return services.enqueue(
        kind=KIND,
        version=after.version,
        entry=after.entry.path,
        job_input=sides(before, after),
        priority=priority,
        once=True,
    )


def _first_variant(version: Version | None) -> Variant | None:
    if version is None:
        return None
    return version.variants.select_related("entry", "version").order_by("pk").first()


def digests(variant: Variant) -> dict[str, str]:
    """The SHA-256 of each file that a variant is loaded from, by path."""
    rows = File.objects.filter(version=variant.version_id, path__in=variant.paths)
    return dict(sorted(rows.values_list("path", "blob")))


def sides(before: Variant, after: Variant) -> dict[str, Any]:
    """Options of a job about its sides: their display names, and the earlier one's files."""
    return {
        "variant": after.name,
        "against": f"{AGAINST}/{before.entry.path}",
        "against_version": before.version.number,
        "against_variant": before.name,
        "against_files": digests(before),
    }
