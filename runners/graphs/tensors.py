"""Statistics of the tensors in a version's files: made on request, kept beside the version.

They are a derived file, named by its SHA-256, as private as the version's files and gone with them:
a tensor of one element has its value for its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from hub.protocol import problems
from registry.core.permissions import Actor, require_user
from registry.models import File, Version
from registry.versions.selectors import require_files
from runners.graphs import derived_files
from runners.models import Job
from runners.queue import services

KIND = "tensors"
FOLDER = "tensors"
# Suffixes of files that may contain tensors.
ENDINGS = (".onnx", ".pb", ".npy", ".npz")
# What the engine writes at most.
MOST_BYTES = 4 << 20
_URGENT = 2


@dataclass(frozen=True, slots=True)
class Reading:
    """Statistics of a file's tensors: the job that computes or computed them, and the table."""

    job: Job | None = None
    file: File | None = None


def may_hold(path: str) -> bool:
    """Whether a file of this name may contain tensors."""
    return PurePosixPath(path).suffix.lower() in ENDINGS


def request(actor: Actor, *, version: Version, file: File) -> Job:
    """Queue the statistics of a file's tensors, or return the job that computed them.

    Any signed-in user who may read the files may request them. Raises NotAuthenticated,
    AccessNeeded, StateConflict, InvalidRequest.
    """
    require_user(actor, "read", of=version.model)
    require_files(actor, version.model)
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; only tensors of published files can be inspected.",
            state=version.state,
        )
    if not may_hold(file.path):
        raise problems.InvalidRequest(
            f"{file.path} is not a tensor file. Tensor files end with {', '.join(ENDINGS)}."
        )
    return services.enqueue(
        kind=KIND,
        version=version,
        entry=file.path,
        job_input={"sha256": file.blob_id},
        priority=_URGENT,
        once=True,
    )


def of(file: File) -> Reading:
    """The statistics of a file's tensors."""
    job, files = derived_files.of(file, KIND)
    return Reading(job, next(iter(files.values()), None))


def table(reading: Reading) -> dict[str, Any]:
    """The table as `runners.engine.graphs.tensor_figures` writes it; empty if there is none."""
    return derived_files.read(reading.file, MOST_BYTES)
