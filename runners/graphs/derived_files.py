"""Derived files that only help pages to show something: a graph without weights, a list of tensors.

They belong to a version as what was derived from it does, as private as it and gone with it, and no
graph of metadata tells of them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from django.db import transaction

from hub.protocol.stored import mapping
from registry.models import File
from registry.storage.files import store
from registry.versions.services import derivatives
from runners.models import Job


@transaction.atomic
def keep(job: Job, folder: str) -> None:
    """Keep the files that a job made, in a folder beside the version's own files."""
    if job.version is None:
        return
    for name, sha256 in job.typed_report.files.items():
        derivatives.attach_evidence(
            version=job.version,
            manifest_sha256=job.input["manifest_sha256"],
            folder=folder,
            output=derivatives.Output(name, sha256),
        )


def of(file: File, kind: str) -> tuple[Job | None, dict[str, File]]:
    """The newest job of a kind on a file, one that succeeded first, and what it made, by name."""
    jobs = Job.objects.filter(
        version=file.version_id, kind=kind, entry=file.path, subject=file.blob_id
    ).order_by("-queued_at")
    job = jobs.filter(state=Job.State.SUCCEEDED).first() or jobs.first()
    if job is None or job.state != Job.State.SUCCEEDED:
        return job, {}
    digests = job.typed_report.files
    rows = File.objects.filter(
        version=file.version_id, derived=True, blob__in=digests.values(), blob__erased_at=None
    )
    files = {row.blob_id: row for row in rows.select_related("blob")}
    return job, {name: files[digest] for name, digest in digests.items() if digest in files}


def is_in(file: File, folder: str) -> bool:
    """Whether a file is a derived one in that folder."""
    return file.derived and file.path.startswith(f"{folder}/")


def read(file: File | None, most: int) -> dict[str, Any]:
    """The content of a JSON file of at most ``most`` bytes; empty if it is absent or no object.

    It was made by a process that has read an upload: its parts may be anything.
    """
    return {} if file is None or file.blob.size > most else _read(file.blob_id)


@lru_cache(maxsize=8)
def _read(sha256: str) -> dict[str, Any]:
    with store().open(sha256) as file:
        return mapping(json.load(file))
