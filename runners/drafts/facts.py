"""Reading a draft's file for its author, before anything is submitted: only facts, no verdict.

The same sandboxed job as after submission; what it finds suggests fields of the card and is shown
to nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol import problems
from hub.protocol.facts import Facts
from registry.core.permissions import Actor, require
from registry.models import File, Version
from registry.versions import lifecycle
from runners.models import Job
from runners.queue import services

# In a job's input: it was asked for by the author of a draft, and no check waits for it.
MARK = "reading"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of the file that a draft's card is about."""

    path: str = ""
    facts: Facts | None = None
    origin: str = ""
    job: Job | None = None


def likelihood(path: str) -> tuple[int, bool, str]:
    """What sorts the path of the likeliest entry of a version before the others."""
    return path.count("/"), path != "model.onnx", path


def entry_of(version: Version) -> File | None:
    """The ONNX file that a version is most likely about."""
    rows = File.objects.filter(version=version, derived=False, path__iendswith=".onnx")
    return min(rows, key=lambda file: likelihood(file.path), default=None)


def ask(actor: Actor, *, version: Version) -> Job:
    """Have the file of a draft read; the same bytes are read once.

    Raises StateConflict unless it is a draft, ModelMissing where it has no ONNX file.
    """
    require(actor, "version.edit", version.model)
    lifecycle.expect(version, "draft")
    entry = problems.expect(
        entry_of(version),
        problems.ModelMissing(f"{version.ref} contains no .onnx file. Add one first."),
    )
    return services.enqueue(
        kind="describe",
        version=version,
        entry=entry.path,
        job_input={MARK: entry.blob_id},
        priority=1,
        once=True,
    )


def of(version: Version) -> Reading:
    """Facts of the draft's own file where it was read, else those of the version before."""
    entry = entry_of(version)
    if entry is None:
        return Reading()
    jobs = Job.objects.filter(
        version=version, kind="describe", entry=entry.path, subject=entry.blob_id
    ).order_by("-queued_at")[:20]
    read = next((job for job in jobs if job.state == Job.State.SUCCEEDED), None)
    if read is not None:
        return Reading(entry.path, Facts.read(read.typed_report.facts), entry.path, read)
    newest = jobs[0] if jobs else None
    before = (
        Version.objects.filter(model=version.model_id, number__lt=version.number)
        .filter(state__in=Version.SERVED)
        .prefetch_related("variants")
        .first()
    )
    variant = next((row for row in before.variants.all() if row.facts), None) if before else None
    if before is None or variant is None:
        return Reading(entry.path, None, "", newest)
    return Reading(entry.path, variant.typed_facts, f"version {before.number}", newest)
