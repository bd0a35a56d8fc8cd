"""Differences between two graphs of one model: made when somebody asks, kept in their job's report.

The job belongs to the later version and names the files of the earlier one by their SHA-256. When
the earlier one is withdrawn, what was said of its graph goes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hub.protocol import problems
from registry.models import File, Version
from registry.permissions import require_user
from runners import services
from runners.models import Job
from runners.verification import RELEASED

if TYPE_CHECKING:
    from registry.models import Variant
    from registry.permissions import Actor

KIND = "difference"
# The folder under which a job sees the files of the earlier version.
AGAINST = ".against"
_URGENT = 2


def request(actor: Actor, *, before: Variant, after: Variant) -> Job:
    """Queue the difference between two variants of one model; its job where it was made before.

    Whoever may read both versions may ask, signed in. Raises NotAuthenticated, StateConflict,
    InvalidRequest where both are of different models or are the same file.
    """
    require_user(actor, "read")
    for version in (before.version, after.version):
        if version.state not in RELEASED:
            raise problems.StateConflict(
                f"{version.ref} is {version.state}; graphs are compared of published files.",
                state=version.state,
            )
    if before.version.model_id != after.version.model_id:
        raise problems.InvalidRequest("Graphs are compared within one model.")
    if before.pk == after.pk:
        raise problems.InvalidRequest("Both sides are the same variant; choose another one.")
    return services.enqueue(
        kind=KIND,
        version=after.version,
        entry=after.entry.path,
        given=_given(before, after),
        priority=_URGENT,
        once=True,
    )


def of(before: Variant, after: Variant) -> Job | None:
    """The newest job that compares these two files."""
    subject = f"{after.version.manifest_sha256}:{after.entry.path}"
    key = services.key_of(KIND, subject, _given(before, after))
    rows = Job.objects.filter(version=after.version, kind=KIND, key=key).order_by("-queued_at")
    return rows.filter(state=Job.State.SUCCEEDED).first() or rows.first()


def keep(job: Job) -> None:
    """Keep what a job found, unless a side was withdrawn while it ran."""
    numbers = {job.input.get("against_version")} | ({job.version.number} if job.version else set())
    sides = Version.objects.filter(
        model=job.version.model_id if job.version else None, number__in=numbers
    )
    for version in sides:
        if version.state == Version.State.WITHDRAWN:
            forget(version)


def forget(version: Version) -> int:
    """Drop what was said of a withdrawn version's graph; returns how many differences."""
    rows = Job.objects.filter(
        kind=KIND, version__model=version.model_id, input__against_version=version.number
    )
    mine = Job.objects.filter(kind=KIND, version=version)
    deleted = 0
    for found in (rows, mine):
        deleted += found.exclude(state=Job.State.RUNNING).delete()[1].get("runners.Job", 0)
    return deleted


def _given(before: Variant, after: Variant) -> dict[str, Any]:
    """What tells the sides: their names for people, and the earlier one's files by digest."""
    external = before.facts.get("external_files", [])
    paths = {str(row["path"]) for row in external if isinstance(row, dict) and "path" in row}
    rows = File.objects.filter(version=before.version_id, path__in={before.entry.path, *paths})
    return {
        "variant": after.name,
        "against": f"{AGAINST}/{before.entry.path}",
        "against_version": before.version.number,
        "against_variant": before.name,
        "against_files": dict(sorted(rows.values_list("path", "blob"))),
    }
