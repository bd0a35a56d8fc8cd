"""One run of a model on a user's inputs: requested, shown, and deleted.

Inputs and outputs belong to the user who requested the run. No other user sees the job, it is in no
list, and both are deleted after an hour; the bytes follow as any that nothing needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hub.protocol import digests, problems
from registry.core.permissions import require_user
from registry.models import Blob, Variant
from registry.versions import blob_selectors
from registry.versions import selectors as registry
from runners.models import Job
from runners.queue import selectors, services

if TYPE_CHECKING:
    from hub.protocol.inputs import Image, Polarity
    from registry.core.permissions import Actor

KIND = "run"
# The version path under which a run sees its inputs.
FOLDER = ".run"
FORMATS = ("npy", "json", "picture")
MOST_INPUTS = 64
# All inputs of one run together, and how many runs one person may have in the queue.
MOST_BYTES = 64 * 10**6
MOST_LIVE = 2


@dataclass(frozen=True, slots=True)
class Input:
    """The value of one input: a `.npy` file, JSON or a picture, uploaded by the user.

    A picture becomes the tensor as ``image`` says; ``polarity`` is the picture's own.
    """

    name: str
    format: str
    digest: str
    image: Image | None = None
    polarity: Polarity | None = None

    def document(self, path: str) -> dict[str, Any]:
        """The input as a job has it, its file under this path."""
        row: dict[str, Any] = {"name": self.name, "path": path, "format": self.format}
        if self.image is not None:
            row |= {"image": self.image.document(), "polarity": self.polarity}
        return row


def request(actor: Actor, *, variant: Variant, inputs: Sequence[Input], draw: bool = False) -> Job:
    """Queue a run of a variant for a signed-in user who may read its files.

    With ``draw``, outputs that have a picture's shape are drawn, too.

    Guests run models in their own browser: what the hub computes and keeps for a while must belong
    to a user. Raises NotAuthenticated, AccessNeeded, StateConflict, InvalidRequest, TooLarge,
    Throttled.
    """
    version = variant.version
    user = require_user(actor, "read", of=version.model)
    registry.require_files(actor, version.model)
    registry.require_served(version, "versions are run")
    _check(inputs)
    services.forget_runs()
    live = Job.objects.filter(kind=KIND, state__in=Job.LIVE, input__asked_by=user.pk)
    if live.count() >= MOST_LIVE:
        raise problems.Throttled(
            f"{MOST_LIVE} of your runs are still waiting or running. Wait until one has ended."
        )
    paths = [f"{FOLDER}/{index}.{value.format}" for index, value in enumerate(inputs)]
    blobs = [blob_selectors.linkable(actor, digests.parse(value.digest)) for value in inputs]
    if sum(blob.size for blob in blobs) > MOST_BYTES:
        raise problems.TooLarge(
            f"The inputs of one run may have {MOST_BYTES // 10**6} MB together. Run a larger one "
            "on your own machine: hub.load gives you the model."
        )
    return services.enqueue(
        kind=KIND,
        version=version,
        entry=variant.entry.path,
        job_input={
            "asked_by": user.pk,
            "variant": variant.name,
            "runtime": "onnxruntime",
            "draw": draw,
            "inputs": [value.document(path) for value, path in zip(inputs, paths, strict=True)],
            "input_files": {path: blob.sha256 for path, blob in zip(paths, blobs, strict=True)},
        },
        requires={"runtime": "onnxruntime"},
        priority=Job.URGENT,
        max_attempts=1,
    )


def uuid_of(reference: str) -> UUID:
    """The id of a run as an address has it; raises NotFound for what is none."""
    try:
        return UUID(reference)
    except ValueError:
        raise problems.NotFound("There is no run of this id that you can see.") from None


def of(actor: Actor, uuid: UUID) -> Job:
    """A run that the actor asked for; raises NotFound."""
    job = selectors.job(actor, uuid)
    if job.kind != KIND:
        raise problems.NotFound("There is no run of this id that you can see.")
    return job


def output(job: Job, name: str) -> Blob:
    """A file that a run made; raises NotFound."""
    sha256 = job.typed_report.files.get(name)
    blob = Blob.objects.filter(pk=sha256, erased_at=None).first()
    if blob is not None:
        return blob
    raise problems.NotFound(f"This run has no output {name[:64]}.")


def _check(inputs: Sequence[Input]) -> None:
    if len(inputs) > MOST_INPUTS:
        raise problems.InvalidRequest(f"A run takes at most {MOST_INPUTS} inputs.")
    if any(value.format not in FORMATS for value in inputs):
        raise problems.InvalidRequest("An input is given as .npy, as JSON or as a picture.")
    if len({value.name for value in inputs}) != len(inputs):
        raise problems.InvalidRequest("An input was given twice.")
