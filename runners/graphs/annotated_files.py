"""Copies of model files with more metadata: made on request, kept while they are current.

The same properties of the same file are the same work, so asking again makes nothing new; a card or
a licence that changed since is other work, and the older copy stays readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hub.protocol import problems
from registry.core.permissions import Actor, require_user
from registry.core.prepared_queries import Prepared
from registry.models import File, Variant, Version
from runners.models import Job
from runners.queue import services

KIND = "annotate"
_URGENT = 2


@dataclass(frozen=True, slots=True)
class Copy:
    """What there is of a copy: the job that makes or made it, and its file once it is there."""

    source: str
    job: Job
    file: File | None = None


def request(actor: Actor, *, version: Version, variant: Variant, props: Mapping[str, str]) -> Job:
    """Queue the copy of a variant's file with ``props``; its job where it was made before.

    Whoever may read the version may ask, signed in. Raises NotAuthenticated, StateConflict.
    """
    require_user(actor, "read", of=version.model)
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; metadata can be added only to published files.",
            state=version.state,
        )
    return services.enqueue(
        kind=KIND,
        version=version,
        entry=variant.entry.path,
        job_input={"props": dict(props)},
        priority=_URGENT,
        once=True,
    )


def copies(version: Version, properties: Mapping[str, Mapping[str, str]]) -> dict[str, Copy]:
    """The newest copy with ``properties`` of each file (by path), in two queries."""
    keys = {
        services.key_of(KIND, f"{version.manifest_sha256}:{path}", {"props": dict(props)}): path
        for path, props in properties.items()
    }
    jobs = Job.objects.filter(version=version, kind=KIND, key__in=keys).order_by("queued_at")
    newest = {keys[job.key]: job for job in jobs}
    files = _files(version, newest.values())
    return {path: Copy(path, job, files.get(_copy_digest(job))) for path, job in newest.items()}


_SUCCEEDED = Prepared(
    lambda version_id: Job.objects.filter(version=version_id, kind=KIND, state=Job.State.SUCCEEDED)
)


def sources(version: Version) -> dict[str, str]:
    """Each copy's SHA-256 with the path of the file that it was made from."""
    rows = _SUCCEEDED.instances(version.pk)
    return {_copy_digest(job): job.entry for job in rows if _copy_digest(job)}


def _files(version: Version, jobs: Iterable[Job]) -> dict[str, File]:
    digests = {_copy_digest(job) for job in jobs} - {""}
    rows = File.objects.filter(version=version, derived=True, blob__in=digests)
    return {file.blob_id: file for file in rows.select_related("blob")}


def _copy_digest(job: Job) -> str:
    digests = job.typed_report.files.values() if job.state == "succeeded" else ()
    return next(iter(digests), "")
