"""Handing in what a device learned: every refusal has a type of its own, and harms no round.

What is cheap is looked at in the request: the manifest, its signature, the header of the file.
What takes reading every value is left to a sandboxed job, and the contribution waits as received.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import digests, federated, problems, safetensors
from registry.core import events
from registry.federated.models import Contribution, Participant, Round
from registry.federated.services import receiving
from registry.models import Event
from registry.storage.files import store
from registry.storage.services import blobs, quotas

if TYPE_CHECKING:
    from registry.models import Upload

INLINE_BYTES = 8_000_000
MOST_TRIES = 2
CHECK_FAILED = "check-failed"
WITHDRAWN = "contribution.withdrawn"
SENT_AWAY = "participant-sent-away"
# How often a day a device may take back what it handed in: the bytes stay for a while each time.
MOST_WITHDRAWALS = 20


@dataclass(frozen=True, slots=True)
class Sent:
    """What a participant hands in: a signed manifest, with the bytes where they came along."""

    manifest: federated.Manifest
    signature: str
    content: bytes | None = None

    @property
    def sha256(self) -> str:
        return self.manifest.blob.removeprefix(digests.PREFIX)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a worker found of one contribution's bytes; ``problem`` is empty where they are good."""

    problem: str = ""
    tensor: str = ""
    detail: str = ""
    figures: dict[str, Any] | None = None


def hand_in(participant: Participant, *, task: Round, sent: Sent) -> tuple[Contribution, bool]:
    """Take a contribution that answers a round's task; says whether it is new.

    At most two rows are written. The same digest again gives what is there. Raises
    ContributionDiffers, RoundClosed, NotAllowed, StaleBase, NonceWrong, ManifestReplayed,
    SignatureInvalid, ExamplesLimit, EncodingRefused, BlobUnknown, DigestMismatch, TooLarge,
    TensorMismatch, QuotaExceeded.
    """
    if known := _known(participant, task, sent):
        return known, False
    into = _into(task)
    _check_manifest(participant, task, into, sent)
    if sent.content is None:
        upload = receiving.stored(participant, sent.sha256)
        size = _check_stored(participant, sent, upload)
        return _keep_stored(participant, task, into, sent, upload, size)
    _check_content(participant, sent)
    return _keep_content(participant, task, into, sent)


def find(participant: Participant, task: Round) -> Contribution:
    """The participant's own contribution to a round; raises NotFound."""
    rows = Contribution.objects.filter(participant=participant, answers=task)
    found = rows.select_related("round").first()
    if found is None:
        raise problems.NotFound(f"You have not contributed to round {task.number}.")
    return found


@transaction.atomic
def withdraw(participant: Participant, *, task: Round) -> None:
    """Take a contribution back while its round is open; raises NotFound, RoundClosed, Throttled."""
    found = find(participant, task)
    live = Round.objects.select_for_update().get(pk=found.round_id)
    if live.state != Round.State.OPEN:
        raise problems.RoundClosed(
            f"Round {live.number} is {live.state}: its contributions can no longer be withdrawn.",
            state=live.state,
        )
    _expect_few_withdrawals(participant)
    Contribution.objects.filter(pk=found.pk).delete()
    events.record(
        WITHDRAWN, participant, actor=None, model=participant.training.model, number=task.number
    )


def _expect_few_withdrawals(participant: Participant) -> None:
    today = Event.objects.filter(
        subject_kind="participant", subject_id=str(participant.pk), verb=WITHDRAWN,
        at__gt=timezone.now() - timedelta(days=1),
    )  # fmt: skip
    if today.count() >= MOST_WITHDRAWALS:
        raise problems.Throttled(
            f"{MOST_WITHDRAWALS} contributions were withdrawn within a day, which is the limit. "
            "This one stays.",
            retry_after=3600,
        )


@transaction.atomic
def judge(key: int, verdict: Verdict) -> bool:
    """Write what a worker found; False where the contribution was judged, or withdrawn, before."""
    rejected = Contribution.State.REJECTED
    return bool(
        Contribution.objects.filter(
            pk=key, state=Contribution.State.RECEIVED, round__state__in=Round.LIVE
        ).update(
            state=rejected if verdict.problem else Contribution.State.ACCEPTED,
            problem=verdict.problem[:40],
            tensor=verdict.tensor[:512],
            detail=verdict.detail[:1000],
            figures=verdict.figures or {},
            checked_at=timezone.now(),
        )
    )


def reject_of(participant: Participant) -> int:
    """Reject what somebody who was sent away has in rounds that are not planned; says how much."""
    waiting = Contribution.objects.filter(
        participant=participant,
        state__in=[Contribution.State.RECEIVED, Contribution.State.ACCEPTED],
        round__state__in=Round.LIVE,
        round__aggregate=None,
    )
    return waiting.update(
        state=Contribution.State.REJECTED,
        problem=SENT_AWAY,
        detail=f"{participant.pseudonym} was suspended or revoked before its round was planned.",
        checked_at=timezone.now(),
    )


def unjudged(keys: list[int]) -> None:
    """Note that a check of these ended without a word; after the last try each is rejected."""
    for row in Contribution.objects.filter(pk__in=keys, state=Contribution.State.RECEIVED):
        if row.tries + 1 >= MOST_TRIES:
            judge(row.pk, Verdict(CHECK_FAILED, detail="The hub could not read it completely."))
        else:
            Contribution.objects.filter(pk=row.pk).update(tries=row.tries + 1)


def _known(participant: Participant, task: Round, sent: Sent) -> Contribution | None:
    known = Contribution.objects.select_related("round").filter(
        participant=participant, answers=task
    )
    found = known.first()
    if found is not None and found.sha256 != sent.sha256:
        raise problems.ContributionDiffers(
            f"You contributed sha256:{found.sha256} to round {task.number}. Withdraw that first, "
            "while the round is open.",
            digest=f"sha256:{found.sha256}",
        )
    return found


def _into(task: Round) -> Round:
    """The round that takes it: the task's own, or the buffer that is filling; raises RoundClosed.

    Raises StaleBase where a buffer's task is too old.
    """
    if task.is_live:
        return task
    live = Round.objects.filter(training=task.training_id, state=Round.State.OPEN).first()
    if task.mode != Round.Mode.BUFFERED or live is None:
        problem: type[problems.Problem] = problems.RoundClosed
    elif _staleness(task, live) > task.training.rules["max_staleness"]:
        problem = problems.StaleBase
    else:
        return live
    told: dict[str, Any] = (
        {"round": live.number, "base": f"sha256:{live.base_sha256}"} if live else {}
    )
    raise problem(
        f"Round {task.number} is {task.state}. "
        + (f"Round {live.number} is open: pull its task." if live else "Ask for the next task."),
        state=task.state,
        **told,
    )


def _staleness(task: Round, into: Round) -> int:
    """How many results lie between the base of a task and that of the round it goes into."""
    between = Round.objects.filter(
        training=task.training_id,
        number__gte=task.number,
        number__lt=into.number,
        state=Round.State.AGGREGATED,
    )
    return between.count()


def _check_manifest(participant: Participant, task: Round, into: Round, sent: Sent) -> None:
    said, training = sent.manifest, task.training
    if task.selected is not None and participant.pseudonym not in task.selected:
        raise problems.NotAllowed(f"You were not selected for round {task.number}.")
    wanted = {
        "training": str(training.uuid),
        "round": task.number,
        "participant": participant.pseudonym,
    }
    for name, value in wanted.items():
        if getattr(said, name) != value:
            raise problems.ManifestReplayed(
                f"The manifest names the {name} {getattr(said, name)}; the hub expects {value}. "
                "Sign a new manifest for each round.",
                errors=[{"pointer": f"/manifest/{name}", "detail": f"must be {value}"}],
            )
    if said.nonce != task.nonce:
        raise problems.NonceWrong.at(
            "/manifest/nonce", "The nonce does not match this round's task. Pull the task again."
        )
    if said.base != f"sha256:{task.base_sha256}":
        raise problems.StaleBase(
            f"The manifest is based on {said.base}, but round {task.number} on "
            f"sha256:{task.base_sha256}. Pull the task and train from its weights.",
            base=f"sha256:{task.base_sha256}",
        )
    if said.n > into.examples_cap:
        raise problems.ExamplesLimit.at(
            "/manifest/n", f"{said.n} examples exceed the maximum of {into.examples_cap}."
        )
    encodings = training.rules["encodings"]
    if said.encoding not in encodings:
        raise problems.EncodingRefused.at(
            "/manifest/encoding", f"This training accepts {', '.join(encodings)}."
        )
    if into.pk != task.pk and said.encoding == federated.FULL:
        raise problems.EncodingRefused.at(
            "/manifest/encoding", "Weights based on an older round must be sent as a delta."
        )
    if not federated.verify(said.canonical(), sent.signature, participant.public_key):
        raise problems.SignatureInvalid.at(
            "/signature", "The signature does not match your key and the canonical manifest."
        )


def _check_stored(participant: Participant, sent: Sent, upload: Upload) -> int:
    receiving.expect_size(participant.training, upload.length)
    with store().open(sent.sha256) as reader:
        _check_header(participant, sent, reader, upload.length)
    return upload.length


def _check_content(participant: Participant, sent: Sent) -> None:
    content = sent.content or b""
    receiving.expect_size(participant.training, len(content))
    if digests.hash_bytes(content) != sent.sha256:
        raise problems.DigestMismatch(
            f"The content received has sha256:{digests.hash_bytes(content)}, but the manifest "
            f"states {sent.manifest.blob}. It was discarded."
        )
    _check_header(participant, sent, io.BytesIO(content), len(content))


def _check_header(participant: Participant, sent: Sent, reader: Any, size: int) -> None:
    parts = [federated.Part.from_json(row) for row in participant.training.layout]
    try:
        federated.expect(safetensors.read(reader, size), parts, sent.manifest.encoding)
    except (safetensors.MalformedError, federated.MismatchError) as error:
        raise problems.TensorMismatch(
            f"{error} The contribution was not submitted.", tensor=error.tensor
        ) from error


def _keep_stored(
    participant: Participant, task: Round, into: Round, sent: Sent, upload: Upload, size: int
) -> tuple[Contribution, bool]:
    """The contribution takes the place of its upload; one that came too late keeps no bytes."""
    with transaction.atomic():
        live = Round.objects.select_for_update().get(pk=into.pk)
        is_late = not _still_takes(live, upload)
        blobs.hold([sent.sha256])
        upload.delete()
        return _write(participant, task, live, sent, size, is_late=is_late)


def _keep_content(
    participant: Participant, task: Round, into: Round, sent: Sent
) -> tuple[Contribution, bool]:
    store().expect_room(len(sent.content or b""))
    staged = store().stage(io.BytesIO(sent.content or b""))
    try:
        with transaction.atomic():
            live = Round.objects.select_for_update().get(pk=into.pk)
            if live.state != Round.State.OPEN:
                raise problems.RoundClosed(
                    f"Round {live.number} is {live.state}.", state=live.state
                )
            quotas.expect(participant.training.model.namespace, adding=staged.size)
            quotas.expect_disk(staged.size)
            blobs.keep(staged.name, staged.sha256, staged.size)
            return _write(participant, task, live, sent, staged.size)
    finally:
        store().discard(staged.name)


def _still_takes(live: Round, upload: Upload) -> bool:
    """Whether a round takes an upload: an open one does, a closing one within the grace.

    False where the upload began in time and the grace is over; raises RoundClosed otherwise.
    """
    if live.state == Round.State.OPEN:
        return True
    began_in_time = live.closed_at is not None and upload.created_at <= live.closed_at
    if live.state == Round.State.CLOSING and began_in_time and live.grace_until is not None:
        return live.grace_until > timezone.now()
    raise problems.RoundClosed(f"Round {live.number} is {live.state}.", state=live.state)


def _write(
    participant: Participant,
    task: Round,
    live: Round,
    sent: Sent,
    size: int,
    *,
    is_late: bool = False,
) -> tuple[Contribution, bool]:
    said = sent.manifest
    try:
        with transaction.atomic():
            made = Contribution.objects.create(
                round=live,
                answers=task,
                participant=participant,
                state=Contribution.State.LATE if is_late else Contribution.State.RECEIVED,
                sha256=sent.sha256,
                size=size,
                blob_id=None if is_late else sent.sha256,
                n=said.n,
                encoding=said.encoding,
                base_sha256=task.base_sha256,
                staleness=0 if live.pk == task.pk else _staleness(task, live),
                manifest=said.canonical().decode(),
                signature=sent.signature,
                figures={"claims": dict(said.claims)} if said.claims else {},
            )
    except IntegrityError:
        # Two requests at once: the other one was quicker; or this device has its place in the
        # buffer already.
        known = _known(participant, task, sent)
        if known is None:
            raise problems.ContributionDiffers(
                f"You have already contributed to round {live.number}."
            ) from None
        return known, False
    return made, True
