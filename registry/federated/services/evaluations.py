"""Evaluations on devices: opened, reported to, ended once; and releases that wait for them.

Every move locks the training, or the evaluation, and asks its state again. What devices report
cannot be verified: `registry.federated.scores` says which figure of it decides.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from hub.protocol import problems, training_rules
from hub.protocol.federated import EvaluationManifest
from registry.core import events
from registry.core.permissions import Actor, require
from registry.federated import scores
from registry.federated.models import (
    DeviceEvaluation,
    DeviceReport,
    Participant,
    Round,
    Training,
)
from registry.federated.models.evaluations import DeviceEvaluationState
from registry.federated.services import releases, statements
from registry.federated.services.locking import lock
from registry.models import Version
from registry.storage.services import blobs

log = structlog.get_logger(__name__)

State = DeviceEvaluationState
_VALID = Q(problem="")


def release(training: Training, ended: Round) -> None:
    """Release an aggregated round of a locked training, where needed after its evaluation.

    Raises TrainingConflict for one that failed its evaluation, and what `releases.release` and
    `_open` raise.
    """
    newest = of_round(ended)
    if not training.typed_rules.needs_evaluation or (newest and newest.state == State.PASSED):
        releases.release(training, ended)
    elif newest and newest.state == State.FAILED:
        raise problems.TrainingConflict(
            f"Round {ended.number} failed its evaluation on devices, which the rules of the "
            "training need for a release. Release another round."
        )
    elif newest and newest.state == State.OPEN:
        newest.releases = True
        newest.save(update_fields=["releases"])
    else:
        _open(training, ended, is_for_release=True)


def try_release(training: Training, ended: Round) -> None:
    """Release a round, or open the evaluation that it needs.

    If that fails, the reason is recorded and the training continues.
    """
    try:
        with transaction.atomic():
            release(training, ended)
    except problems.Problem as problem:
        log.warning("release_refused", round=ended.pk, problem=problem.slug)
        events.record(
            "round.unreleased",
            ended,
            actor=None,
            model=training.model,
            number=ended.number,
            problem=problem.slug,
            detail=problem.detail,
        )


def release_best(training: Training) -> None:
    """Release the best round of a finished, locked training, once its last one has a score."""
    if training.state != Training.State.FINISHED or not training.release_best:
        return
    last = training.rounds.filter(state=Round.State.AGGREGATED).first()
    if last is None or last.score is None:
        return
    best_round = releases.best(training)
    if (
        best_round is not None
        and best_round.version_id is None
        and best_round.aggregate.result is not None
    ):
        try_release(training, best_round)


def of_round(of: Round) -> DeviceEvaluation | None:
    """The newest evaluation of a round; None where devices have not compared it."""
    return DeviceEvaluation.objects.filter(round=of).first()


def open_regularly(training: Training, ended: Round, aggregated: int) -> None:
    """Open the evaluation that the schedule has for a round, the ``aggregated``-th with a result.

    Without the weights to compare with there is none.
    """
    every = training.typed_schedule.evaluate_every
    if every and aggregated % every == 0 and of_round(ended) is None:
        try:
            with transaction.atomic():
                _open(training, ended)
        except problems.Problem as problem:
            log.warning("evaluation_refused", round=ended.pk, problem=problem.slug)


@transaction.atomic
def open_by_hand(actor: Actor, *, of: Round) -> DeviceEvaluation:
    """Have devices compare the result of a round; a verdict is final. Raises TrainingConflict."""
    require(actor, "training.manage", of.training.model)
    training = lock(of.training)
    row = Round.objects.select_related("aggregate").get(pk=of.pk)
    if row.state != Round.State.AGGREGATED:
        raise problems.TrainingConflict(
            f"Round {row.number} is {row.state}: it has no result to compare.", state=row.state
        )
    newest = of_round(row)
    if newest is not None and newest.state in (State.OPEN, State.PASSED, State.FAILED):
        raise problems.TrainingConflict(
            f"The evaluation of round {row.number} is {newest.state}. There is no other.",
            state=newest.state,
        )
    return _open(training, row)


def _open(training: Training, ended: Round, *, is_for_release: bool = False) -> DeviceEvaluation:
    """Open the evaluation of an aggregated round; raises TrainingConflict, BlobUnknown."""
    if training.typed_rules.noise_multiplier is not None:
        raise problems.TrainingConflict(training_rules.NOISE_UNCOUNTED)
    schedule, now = training.typed_schedule, timezone.now()
    base, candidate = _released_before(training, ended), ended.aggregate.result_sha256
    stored = blobs.hold({base, candidate})
    opened = DeviceEvaluation.objects.create(
        round=ended,
        nonce=secrets.token_hex(16),
        base=stored[base],
        base_sha256=base,
        candidate=stored[candidate],
        candidate_sha256=candidate,
        quorum=schedule.evaluation_quorum,
        target=schedule.evaluation_target,
        releases=is_for_release,
        opened_at=now,
        deadline=now + timedelta(seconds=schedule.evaluation_seconds),
    )
    events.record("round.evaluating", ended, actor=None, model=training.model, number=ended.number)
    return opened


def _released_before(training: Training, ended: Round) -> str:
    """The digest of the weights that users have: of the last published round, or of the base."""
    rounds = training.rounds.filter(number__lt=ended.number).select_related("aggregate")
    published = rounds.filter(version__state=Version.State.PUBLISHED).first()
    if published is not None:
        return published.aggregate.result_sha256
    return training.rounds.order_by("number")[0].base_sha256


def task_of(participant: Participant) -> DeviceEvaluation | None:
    """The oldest open evaluation that a participant has not reported to. Raises TrainingOver."""
    training = participant.training
    rows = DeviceEvaluation.objects.filter(round__training=training, state=State.OPEN)
    task = (
        rows.exclude(reports__participant=participant)
        .select_related("round", "base", "candidate")
        .order_by("pk")
        .first()
    )
    if task is None and training.is_over and not rows.exists():
        raise problems.TrainingOver(f"{training} is {training.state}. {training.reason}".strip())
    if task is not None:
        task.round.training = training
    return task


@transaction.atomic
def report(
    participant: Participant, *, of: Round, manifest: EvaluationManifest, signature: str
) -> tuple[DeviceReport, bool]:
    """Take a report to the newest evaluation of a round; says whether it is new.

    The same counts again give what is there. Raises NotFound, ContributionDiffers, RoundClosed,
    ManifestReplayed, NonceWrong, StaleBase, ExamplesLimit, InvalidRequest, SignatureInvalid.
    """
    newest = problems.expect(
        of_round(of), problems.NotFound(f"Round {of.number} has no evaluation.")
    )
    evaluation = DeviceEvaluation.objects.select_for_update().get(pk=newest.pk)
    counts = {name: getattr(manifest, name) for name in ("n", "base_right", "candidate_right")}
    earlier = DeviceReport.objects.filter(evaluation=evaluation, participant=participant).first()
    if earlier is not None:
        if any(getattr(earlier, name) != count for name, count in counts.items()):
            raise problems.ContributionDiffers(
                f"You have reported other counts for round {of.number}. A report never changes."
            )
        return earlier, False
    if evaluation.state != State.OPEN:
        raise problems.RoundClosed(
            f"The evaluation of round {of.number} is {evaluation.state}.", state=evaluation.state
        )
    _check(participant, of, evaluation, manifest)
    statements.expect_signature(manifest, signature, participant)
    row = DeviceReport.objects.create(
        evaluation=evaluation,
        participant=participant,
        manifest=manifest.canonical().decode(),
        signature=signature,
        **counts,
    )
    return row, True


def _check(
    participant: Participant, of: Round, evaluation: DeviceEvaluation, manifest: EvaluationManifest
) -> None:
    statements.expect_answer(manifest, participant, of=of, task=evaluation)
    if manifest.candidate != f"sha256:{evaluation.candidate_sha256}":
        raise problems.StaleBase(
            f"The manifest compares {manifest.candidate}, but the task of round {of.number} "
            f"sha256:{evaluation.candidate_sha256}. Pull the task again."
        )
    statements.expect_examples(manifest.n, of)
    for name in ("base_right", "candidate_right"):
        if getattr(manifest, name) > manifest.n:
            raise problems.InvalidRequest.at(
                f"/manifest/{name}", f"Of {manifest.n} examples no more can be right."
            )


def reject_of(participant: Participant) -> None:
    """Let a removed participant's reports to open evaluations count for nothing."""
    DeviceReport.objects.filter(
        _VALID, participant=participant, evaluation__state=State.OPEN
    ).update(problem=statements.SENT_AWAY)


def due() -> list[DeviceEvaluation]:
    """Open evaluations past their deadline, or with as many reports as end them."""
    rows = DeviceEvaluation.objects.filter(
        state=State.OPEN, round__training__model__deleted_at=None
    ).annotate(count=Count("reports", filter=Q(reports__problem="")))
    is_due = Q(deadline__lte=timezone.now()) | Q(target__gt=0, count__gte=F("target"))
    return list(rows.filter(is_due).select_related("round__training").order_by("pk")[:100])


@transaction.atomic
def end(of: DeviceEvaluation) -> None:
    """End an evaluation that is due, and release its round where it passes and that was asked."""
    training = lock(of.round.training)
    row = DeviceEvaluation.objects.select_for_update().get(pk=of.pk)
    if row.state != State.OPEN:
        return
    reports = list(row.reports.filter(_VALID).select_related("participant"))
    if row.deadline > timezone.now() and not 0 < row.target <= len(reports):
        return
    verdict = State.BELOW_QUORUM
    if len(reports) >= row.quorum:
        joined = scores.of(reports, training.typed_rules.most_examples)
        row.scores = joined.to_json()
        verdict = State.FAILED
        if (joined.all.change.value or 0.0) >= training.typed_rules.least_change:
            verdict = State.PASSED
    _end(row, verdict)
    ended = Round.objects.select_related("aggregate").get(pk=row.round_id)
    events.record(
        "round.evaluated",
        ended,
        actor=None,
        model=training.model,
        number=ended.number,
        verdict=str(verdict),
    )
    if verdict == State.PASSED and row.releases and ended.version_id is None:
        try_release(training, ended)


def cancel(training: Training) -> None:
    """Cancel the open evaluations of a locked training."""
    for row in DeviceEvaluation.objects.filter(round__training=training, state=State.OPEN):
        _end(row, State.CANCELLED)


def _end(row: DeviceEvaluation, state: DeviceEvaluationState) -> None:
    row.state, row.ended_at = state, timezone.now()
    row.base = row.candidate = None
    row.save(update_fields=["state", "ended_at", "base", "candidate", "scores"])
