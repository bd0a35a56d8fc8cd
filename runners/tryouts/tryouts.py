"""One run of a model on inputs of its reader: requested, shown, and deleted.

Inputs and outputs belong to the user who requested the run, or to the browser of a guest, which
keeps a secret. Nobody else sees the job, it is in no list, and both are deleted after an hour; the
bytes follow as any that nothing needs.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from hub.protocol import digests, problems
from hub.protocol.inputs import Image, Polarity
from registry.core import rates
from registry.core.permissions import Actor, require_user
from registry.models import Blob, Variant, Version
from registry.storage.services import blobs
from registry.versions import blob_selectors
from registry.versions import selectors as registry
from runners.models import Job
from runners.queue import selectors, services

KIND = "run"
# The version path under which a run sees its inputs.
FOLDER = ".run"
FORMATS = ("npy", "json", "picture")
MOST_INPUTS = 64
# All inputs of one run together, and how many runs one person may have in the queue.
MOST_BYTES = 64 * 10**6
MOST_LIVE = 2
# What a run of a guest may take: processor seconds, bytes of all inputs and of each output, bytes
# of the model; and how many guests' runs the hub has in the queue.
GUEST_SECONDS = 2
GUEST_BYTES = 8 * 10**6
GUEST_MODEL_BYTES = 100 * 10**6
GUESTS_LIVE = 4


@dataclass(frozen=True, slots=True)
class Input:
    """The value of one input: a `.npy` file, JSON or a picture, in storage under its digest.

    A picture becomes the tensor as ``image`` says; ``polarity`` is the picture's own.
    """

    name: str
    format: str
    digest: str = ""
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

    Raises NotAuthenticated, AccessNeeded, StateConflict, InvalidRequest, TooLarge, Throttled.
    """
    user = require_user(actor, "read", of=variant.version.model)
    _check(actor, variant, inputs)
    services.forget_runs()
    live = Job.objects.filter(kind=KIND, state__in=Job.LIVE, input__asked_by=user.pk)
    if live.count() >= MOST_LIVE:
        raise problems.Throttled(
            f"{MOST_LIVE} of your runs are still waiting or running. Wait until one has ended."
        )
    sizes = [blob_selectors.linkable(actor, digests.parse(value.digest)).size for value in inputs]
    if sum(sizes) > MOST_BYTES:
        raise problems.TooLarge(
            f"The inputs of one run may have {MOST_BYTES // 10**6} MB together. Run a larger one "
            "on your own machine: hub.load gives you the model."
        )
    return _enqueue({"asked_by": user.pk, "draw": draw}, variant, inputs)


def guest_rate() -> rates.Rate:
    """How many runs the guests of one address have; without events, this hub runs nothing."""
    return rates.Rate.parse(settings.HUB_LIMITS_GUEST_RUNS_RATE)


def runs_for_guests(model_bytes: int = 0) -> bool:
    """Whether this hub runs models of a size for guests."""
    return guest_rate().events > 0 and model_bytes <= GUEST_MODEL_BYTES


def request_for_guest(
    address: str,
    *,
    variant: Variant,
    inputs: Sequence[tuple[Input, bytes]],
    draw: bool = False,
) -> tuple[Job, str]:
    """Queue a run for a guest at an address, and store what the inputs hold.

    Returns the job with the secret that shows it. Raises NotAuthenticated where this hub runs
    nothing for guests, and as ``request``.
    """
    if not runs_for_guests():
        raise problems.NotAuthenticated("Sign in to run a model on the server.")
    _check(AnonymousUser(), variant, [value for value, _ in inputs])
    files = variant.version.files.filter(path__in=variant.paths)
    if not runs_for_guests(sum(files.values_list("blob__size", flat=True))):
        raise problems.TooLarge(
            f"Without an account, models of up to {GUEST_MODEL_BYTES // 10**6} MB are run. Sign in."
        )
    if sum(len(content) for _, content in inputs) > GUEST_BYTES:
        raise problems.TooLarge(
            f"Without an account, the inputs of a run may have {GUEST_BYTES // 10**6} MB together. "
            "Sign in."
        )
    live = Job.objects.filter(kind=KIND, state__in=Job.LIVE, input__has_key="guest")
    if live.count() >= GUESTS_LIVE:
        raise problems.Throttled("Other guests' runs are waiting. Sign in, or try again later.")
    limit = rates.Limit(f"guest-run:{digests.hash_bytes(address.encode())}", guest_rate())
    try:
        rates.reserve([limit])
    except rates.RateExceededError as error:
        raise problems.Throttled(
            f"This address has had its {limit.rate.events} runs without an account. Sign in for "
            f"more, or try again in {-(-error.seconds // 60)} min.",
            retry_after=error.seconds,
        ) from error
    services.forget_runs()
    values = [
        replace(value, digest=f"sha256:{blobs.write(content).sha256}") for value, content in inputs
    ]
    secret = secrets.token_urlsafe(16)
    options = {
        "guest": digests.hash_bytes(secret.encode()),
        "draw": draw,
        "seconds": GUEST_SECONDS,
        "file_bytes": GUEST_BYTES,
    }
    return _enqueue(options, variant, values), secret


def _enqueue(options: dict[str, Any], variant: Variant, inputs: Sequence[Input]) -> Job:
    paths = [f"{FOLDER}/{index}.{value.format}" for index, value in enumerate(inputs)]
    rows = list(zip(inputs, paths, strict=True))
    return services.enqueue(
        kind=KIND,
        version=variant.version,
        entry=variant.entry.path,
        job_input=options
        | {
            "variant": variant.name,
            "runtime": "onnxruntime",
            "inputs": [value.document(path) for value, path in rows],
            "input_files": {path: digests.parse(value.digest) for value, path in rows},
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


def of(actor: Actor, uuid: UUID, secret: str = "") -> Job:
    """A run that the actor asked for, or the guest who has its ``secret``; raises NotFound."""
    if secret:
        guests = Job.objects.filter(
            pk=uuid,
            kind=KIND,
            input__guest=digests.hash_bytes(secret.encode()),
            version__in=Version.objects.visible_to(actor),
        )
        if job := guests.select_related("version__model__namespace").first():
            return job
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


def _check(actor: Actor, variant: Variant, inputs: Sequence[Input]) -> None:
    registry.require_files(actor, variant.version.model)
    registry.require_served(variant.version, "versions are run")
    if len(inputs) > MOST_INPUTS:
        raise problems.InvalidRequest(f"A run takes at most {MOST_INPUTS} inputs.")
    if any(value.format not in FORMATS for value in inputs):
        raise problems.InvalidRequest("An input is given as .npy, as JSON or as a picture.")
    if len({value.name for value in inputs}) != len(inputs):
        raise problems.InvalidRequest("An input was given twice.")
