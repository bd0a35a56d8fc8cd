"""Handing in what a device learned: every refusal has a type of its own, and harms no round.

What is cheap is looked at in the request: the manifest, its signature, the header of the file.
What takes reading every value is left to a sandboxed job, and the contribution waits as received.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import digests, federated, problems, safetensors
from registry.core import events
from registry.federated.models import Contribution, Participant, Round
from registry.federated.services import receiving, statements
from registry.models import Event, Upload
from registry.storage.files import store
from registry.storage.services import blobs, quotas

INLINE_BYTES = 8_000_000
MOST_TRIES = 2
CHECK_FAILED = "check-failed"
WITHDRAWN = "contribution.withdrawn"
# How often a day a device may take back what it handed in: the bytes stay for a while each time.
MOST_WITHDRAWALS = 20


@dataclass(frozen=True, slots=True)
class Submission:
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


def hand_in(
    participant: Participant, *, task: Round, submission: Submission
) -> tuple[Contribution, bool]:
    """Take a contribution that answers a round's task; says whether it is new.

    At most two rows are written. The same digest again gives what is there. Raises
    ContributionDiffers, RoundClosed, NotAllowed, StaleBase, NonceWrong, ManifestReplayed,
    SignatureInvalid, ExamplesLimit, EncodingRefused, BlobUnknown, DigestMismatch, TooLarge,
    TensorMismatch, QuotaExceeded.
    """
    if earlier := _existing(participant, task, submission):
        return earlier, False
    into = _into(task)
    _check_manifest(participant, task, into, submission)
    if submission.content is None:
        upload = receiving.stored(participant, submission.sha256)
        receiving.expect_size(participant.training, upload.length)
        with store().open(submission.sha256) as reader:
            _check_header(participant, submission, reader, upload.length)
        return _keep_stored(participant, task, into, submission, upload)
    _check_content(participant, submission)
    return _keep_content(participant, task, into, submission)


def find(participant: Participant, task: Round) -> Contribution:
    """The participant's own contribution to a round; raises NotFound."""
    rows = Contribution.objects.filter(participant=participant, answers=task)
    return problems.expect(
        rows.select_related("round").first(),
        problems.NotFound(f"You have not contributed to round {task.number}."),
    )


@transaction.atomic
def withdraw(participant: Participant, *, task: Round) -> None:
    """Take a contribution back while its round is open; raises NotFound, RoundClosed, Throttled."""
    row = find(participant, task)
    live = Round.objects.select_for_update().get(pk=row.round_id)
    if live.state != Round.State.OPEN:
        raise problems.RoundClosed(
            f"Round {live.number} is {live.state}: its contributions can no longer be withdrawn.",
            state=live.state,
        )
    _expect_few_withdrawals(participant)
    Contribution.objects.filter(pk=row.pk).delete()
    events.record(
        WITHDRAWN, participant, actor=None, model=participant.training.model, number=task.number
    )


def _expect_few_withdrawals(participant: Participant) -> None:
    today = Event.objects.filter(
        subject_kind="participant",
        subject_id=str(participant.pk),
        verb=WITHDRAWN,
        at__gt=timezone.now() - timedelta(days=1),
    )
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
    """Reject a removed participant's contributions to rounds not planned yet; returns the count."""
    waiting = Contribution.objects.filter(
        participant=participant,
        state__in=[Contribution.State.RECEIVED, Contribution.State.ACCEPTED],
        round__state__in=Round.LIVE,
        round__aggregate=None,
    )
    return waiting.update(
        state=Contribution.State.REJECTED,
        problem=statements.SENT_AWAY,
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


def _existing(participant: Participant, task: Round, submission: Submission) -> Contribution | None:
    rows = Contribution.objects.select_related("round").filter(
        participant=participant, answers=task
    )
    row = rows.first()
    if row is not None and row.sha256 != submission.sha256:
        raise problems.ContributionDiffers(
            f"You contributed sha256:{row.sha256} to round {task.number}. Withdraw that first, "
            "while the round is open.",
            digest=f"sha256:{row.sha256}",
        )
    return row


def _into(task: Round) -> Round:
    """The round that takes it: the task's own, or the buffer that is filling; raises RoundClosed.

    Raises StaleBase where a buffer's task is too old.
    """
    if task.is_live:
        return task
    live = Round.objects.filter(training=task.training_id, state=Round.State.OPEN).first()
    if task.mode != Round.Mode.BUFFERED or live is None:
        problem: type[problems.Problem] = problems.RoundClosed
    elif _staleness(task, live) > task.training.typed_rules.max_staleness:
        problem = problems.StaleBase
    else:
        return live
    current: dict[str, Any] = (
        {"round": live.number, "base": f"sha256:{live.base_sha256}"} if live else {}
    )
    raise problem(
        f"Round {task.number} is {task.state}. "
        + (f"Round {live.number} is open: pull its task." if live else "Ask for the next task."),
        state=task.state,
        **current,
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


def _check_manifest(
    participant: Participant, task: Round, into: Round, submission: Submission
) -> None:
    manifest, training = submission.manifest, task.training
    if task.selected is not None and participant.pseudonym not in task.selected:
        raise problems.NotAllowed(f"You were not selected for round {task.number}.")
    statements.expect_answer(manifest, participant, of=task, task=task)
    statements.expect_examples(manifest.n, into)
    encodings = training.typed_rules.encodings
    if manifest.encoding not in encodings:
        raise problems.EncodingRefused.at(
            "/manifest/encoding", f"This training accepts {', '.join(encodings)}."
        )
    if into.pk != task.pk and manifest.encoding == federated.FULL:
        raise problems.EncodingRefused.at(
            "/manifest/encoding", "Weights based on an older round must be sent as a delta."
        )
    statements.expect_signature(manifest, submission.signature, participant)


def _check_content(participant: Participant, submission: Submission) -> None:
    content = submission.content or b""
    receiving.expect_size(participant.training, len(content))
    if digests.hash_bytes(content) != submission.sha256:
        raise problems.DigestMismatch(
            f"The content received has sha256:{digests.hash_bytes(content)}, but the manifest "
            f"states {submission.manifest.blob}. It was discarded."
        )
    _check_header(participant, submission, io.BytesIO(content), len(content))


def _check_header(participant: Participant, submission: Submission, reader: Any, size: int) -> None:
    parts = participant.training.typed_layout
    try:
        federated.expect(safetensors.read(reader, size), parts, submission.manifest.encoding)
    except (safetensors.MalformedError, federated.MismatchError) as error:
        raise problems.TensorMismatch(
            f"{error} The contribution was not submitted.", tensor=error.tensor
        ) from error


def _keep_stored(
    participant: Participant,
    task: Round,
    into: Round,
    submission: Submission,
    upload: Upload,
) -> tuple[Contribution, bool]:
    """The contribution takes the place of its upload; one that came too late keeps no bytes."""
    with transaction.atomic():
        live = Round.objects.select_for_update().get(pk=into.pk)
        is_late = not _still_takes(live, upload)
        blobs.hold([submission.sha256])
        upload.delete()
        return _write(participant, task, live, submission, upload.length, is_late=is_late)


def _keep_content(
    participant: Participant, task: Round, into: Round, submission: Submission
) -> tuple[Contribution, bool]:
    store().expect_room(len(submission.content or b""))
    staged = store().stage(io.BytesIO(submission.content or b""))
    try:
        store().prepare(staged.name, staged.sha256)
        with transaction.atomic():
            live = Round.objects.select_for_update().get(pk=into.pk)
            if live.state != Round.State.OPEN:
                raise problems.RoundClosed(
                    f"Round {live.number} is {live.state}.", state=live.state
                )
            quotas.expect(participant.training.model.namespace, adding=staged.size)
            quotas.expect_disk(staged.size)
            blobs.commit(staged.name, staged.sha256, staged.size)
            return _write(participant, task, live, submission, staged.size)
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
    submission: Submission,
    size: int,
    *,
    is_late: bool = False,
) -> tuple[Contribution, bool]:
    manifest = submission.manifest
    try:
        with transaction.atomic():
            contribution = Contribution.objects.create(
                round=live,
                answers=task,
                participant=participant,
                state=Contribution.State.LATE if is_late else Contribution.State.RECEIVED,
                sha256=submission.sha256,
                size=size,
                blob_id=None if is_late else submission.sha256,
                n=manifest.n,
                encoding=manifest.encoding,
                base_sha256=task.base_sha256,
                staleness=0 if live.pk == task.pk else _staleness(task, live),
                manifest=manifest.canonical().decode(),
                signature=submission.signature,
                figures={"claims": dict(manifest.claims)} if manifest.claims else {},
            )
    except IntegrityError:
        # Two requests at once: the other one was quicker; or this device has its place in the
        # buffer already.
        earlier = _existing(participant, task, submission)
        if earlier is None:
            raise problems.ContributionDiffers(
                f"You have already contributed to round {live.number}."
            ) from None
        return earlier, False
    return contribution, True
