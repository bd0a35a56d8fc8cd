"""Rounds: opened one after another, closed once, planned, and made or failed.

Every move locks its training and asks the row's state again, so that two workers, or a worker and a
person, never do the same thing twice.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from hub.protocol import problems, training_rules
from registry.core import events
from registry.core.permissions import Actor, require
from registry.federated import selection
from registry.federated.models import Aggregate, Contribution, Participant, Round, Training
from registry.federated.services import evaluations, receiving
from registry.federated.services.locking import lock
from registry.storage.services import blobs

log = structlog.get_logger(__name__)

BELOW_QUORUM = "below-quorum"
NOT_MADE = "aggregation-failed"
# Why a contribution is left out that came after as many as a robust rule takes.
OVER_LIMIT = "over-limit"


def open_next(training: Training, *, selected: Sequence[str] | None = None) -> Round:
    """Open the next round of a locked training from the weights it has.

    For those selected; for some that are drawn, where the schedule has a cohort; else for anyone.
    """
    schedule = training.typed_schedule
    newest = Round.objects.filter(training=training).first()
    number = newest.number + 1 if newest else 1
    drawn = selection.draw(training, number) if selected is None else None
    names = drawn.selected if drawn else selected
    now = timezone.now()
    opened = Round.objects.create(
        training=training,
        number=number,
        mode=schedule.mode,
        base=training.weights,
        base_sha256=training.weights_id or "",
        nonce=secrets.token_hex(16),
        quorum=schedule.quorum,
        target=schedule.target,
        examples_cap=training.typed_rules.examples_cap,
        selected=list(names) if names is not None else None,
        seed=drawn.seed if drawn else "",
        candidates=drawn.candidates if drawn else 0,
        opened_at=now,
        deadline=now + timedelta(seconds=schedule.round_seconds),
    )
    events.record("round.opened", opened, actor=None, model=training.model, number=opened.number)
    return opened


@transaction.atomic
def open_by_hand(
    actor: Actor, *, training: Training, selected: Sequence[str] | None = None
) -> Round:
    """Open a round if none is open, for all devices or some. Raises TrainingConflict."""
    require(actor, "training.manage", training.model)
    training = lock(training)
    if training.state not in Training.LIVE:
        raise problems.TrainingConflict(f"{training} is {training.state}.", state=training.state)
    if live := Round.objects.filter(training=training, state__in=Round.LIVE).first():
        raise problems.TrainingConflict(
            f"Round {live.number} is {live.state}; close it first.", state=live.state
        )
    if selected is not None:
        participants = Participant.objects.filter(
            training=training, pseudonym__in=selected, state=Participant.State.ACTIVE
        )
        if participants.count() != len(set(selected)) or not selected:
            raise problems.InvalidRequest.at(
                "/participants", "Name active participants of this training."
            )
    return open_next(training, selected=selected)


@transaction.atomic
def close_by_hand(actor: Actor, *, of: Round) -> Round:
    """Close a round before its deadline; raises TrainingConflict."""
    require(actor, "training.manage", of.training.model)
    training = lock(of.training)
    if not _close(training, of.pk):
        raise problems.TrainingConflict(f"Round {of.number} is no longer open.")
    return Round.objects.select_related("training__model__namespace").get(pk=of.pk)


@transaction.atomic
def ask_release(actor: Actor, *, of: Round) -> Round:
    """Have the result of a round become a version: at once where it exists, else when it does.

    Where the rules need an evaluation, the round is released when it has passed one.
    """
    require(actor, "training.manage", of.training.model)
    training = lock(of.training)
    row = Round.objects.select_related("aggregate").get(pk=of.pk)
    if row.version_id or row.state in (Round.State.FAILED, Round.State.CANCELLED):
        raise problems.TrainingConflict(
            f"Round {row.number} already has a version."
            if row.version_id
            else f"Round {row.number} was {row.state}: it has nothing to release."
        )
    if row.state == Round.State.AGGREGATED:
        if row.aggregate.result is None:
            raise problems.TrainingConflict(
                f"The weights of round {row.number} are no longer stored. Release a later round."
            )
        evaluations.release(training, row)
    else:
        row.release_asked = True
        row.save(update_fields=["release_asked"])
    return row


@transaction.atomic
def give_score(actor: Actor, *, of: Round, score: float) -> Round:
    """Say what the result of a round scores on data that no device has; raises TrainingConflict.

    In a finished training the best round becomes a version when the last one has its score.
    """
    require(actor, "training.manage", of.training.model)
    training = lock(of.training)
    row = Round.objects.get(pk=of.pk)
    if row.state != Round.State.AGGREGATED:
        raise problems.TrainingConflict(
            f"Round {row.number} is {row.state}: it has no result to score.", state=row.state
        )
    if not math.isfinite(score):
        raise problems.InvalidRequest.at("/score", "The score must be a finite number.")
    row.score = score
    row.save(update_fields=["score"])
    events.record(
        "round.scored", row, actor=actor, model=training.model, number=row.number, score=score
    )
    evaluations.release_best(training)
    return row


def due() -> list[Round]:
    """Live rounds that need a move: past the deadline, full, closing, or with bytes to check."""
    waiting = Contribution.objects.filter(round=OuterRef("pk"), state=Contribution.State.RECEIVED)
    there = Round.objects.filter(state__in=Round.LIVE, training__model__deleted_at=None)
    rows = there.filter(
        Q(deadline__lte=timezone.now()) | Q(state=Round.State.CLOSING) | Exists(waiting)
    )
    return list(rows.select_related("training__model__namespace").order_by("deadline", "pk")[:100])


@transaction.atomic
def advance(of: Round) -> Aggregate | None:
    """Make the move that is due: close, fail or plan; the plan of a round that may be aggregated.

    While contributions wait for their check, or uploads in flight have grace, nothing moves.
    """
    training = lock(of.training)
    # Locked, as for a submission: the plan below contains all that was ever accepted.
    row = Round.objects.select_for_update().filter(pk=of.pk).first()
    if row is None or not row.is_live:
        return None
    if row.state == Round.State.OPEN:
        target = min(row.target or math.inf, _most(training))
        is_full = _accepted(row).count() >= target
        if not is_full and row.deadline > timezone.now():
            return None
        _close(training, row.pk)
        row.refresh_from_db()
    waits = row.contributions.filter(state=Contribution.State.RECEIVED).exists()
    if waits or (row.grace_until and row.grace_until > timezone.now()):
        return None
    if _accepted(row).count() < row.quorum:
        _fail(training, row, BELOW_QUORUM)
        return None
    return _plan(training, row)


@transaction.atomic
def finish(
    of: Aggregate,
    *,
    result: str,
    optimiser: str = "",
    inputs: dict[int, dict[str, Any]] | None = None,
    **columns: Any,
) -> bool:
    """Record the aggregate of a round; the training continues from it. False if it was recorded.

    ``result`` and ``optimiser`` are digests, ``inputs`` figures of contributions, ``columns``
    further ones of the aggregate.
    The next round is opened, or the training finished, in this same transaction.
    """
    training = lock(of.round.training)
    aggregate = Aggregate.objects.select_related("round").get(pk=of.pk)
    ended = aggregate.round
    if aggregate.result_sha256 or ended.state != Round.State.CLOSING:
        return False
    now = timezone.now()
    stored = blobs.hold([sha256 for sha256 in (result, optimiser) if sha256])
    columns |= {
        "result": stored[result],
        "result_sha256": result,
        "optimiser": stored.get(optimiser),
        "optimiser_sha256": optimiser,
        "made_at": now,
    }
    for column, value in columns.items():
        setattr(aggregate, column, value)
    aggregate.save()
    _mark_used(aggregate, inputs or {})
    ended.state, ended.ended_at = Round.State.AGGREGATED, now
    ended.save(update_fields=["state", "ended_at"])
    training.weights, training.optimiser = aggregate.result, aggregate.optimiser
    training.save(update_fields=["weights", "optimiser"])
    events.record("round.aggregated", ended, actor=None, model=training.model, number=ended.number)
    aggregated = training.rounds.filter(state=Round.State.AGGREGATED).count()
    most = training.typed_schedule.most_rounds
    is_last = bool(most) and aggregated >= most
    every = training.release_every
    ends_it = is_last and not training.release_best
    if ended.release_asked or ends_it or (every and aggregated % every == 0):
        evaluations.try_release(training, ended)
    evaluations.open_regularly(training, ended, aggregated)
    if is_last:
        _finish_training(training)
    elif training.state == Training.State.OPEN:
        open_next(training)
    return True


@transaction.atomic
def give_up(of: Aggregate, *, detail: str) -> None:
    """Fail a round whose aggregation failed; the training continues from the same base."""
    training = lock(of.round.training)
    row = Round.objects.get(pk=of.round_id)
    if row.state == Round.State.CLOSING:
        log.error("aggregate_not_made", round=row.pk, detail=detail[:500])
        _fail(training, row, NOT_MADE)


def cancel_live(training: Training) -> None:
    """Cancel the live round of a locked training that ended."""
    now = timezone.now()
    for live in Round.objects.filter(training=training, state__in=Round.LIVE):
        live.state, live.ended_at = Round.State.CANCELLED, now
        live.closed_at = live.closed_at or now
        live.save(update_fields=["state", "ended_at", "closed_at"])
        events.record("round.cancelled", live, actor=None, model=training.model)


def _close(training: Training, key: int) -> bool:
    """Close an open round, once; uploads that began in time get their grace."""
    schedule = training.typed_schedule
    now = timezone.now()
    grace = timedelta(seconds=schedule.grace_seconds if receiving.in_flight(training) else 0)
    closed = Round.objects.filter(pk=key, state=Round.State.OPEN).update(
        state=Round.State.CLOSING, closed_at=now, grace_until=now + grace
    )
    if closed:
        row = Round.objects.get(pk=key)
        events.record("round.closed", row, actor=None, model=training.model, number=row.number)
    return bool(closed)


def _fail(training: Training, failed: Round, reason: str) -> None:
    """Fail a round; the base stays, and the next round opens from it."""
    failed.state, failed.reason, failed.ended_at = Round.State.FAILED, reason, timezone.now()
    failed.save(update_fields=["state", "reason", "ended_at"])
    events.record(
        "round.failed",
        failed,
        actor=None,
        model=training.model,
        number=failed.number,
        reason=reason,
    )
    if training.state == Training.State.OPEN:
        open_next(training)


def _most(training: Training) -> float:
    """How many contributions the rule of a training can take."""
    is_robust = training.typed_rules.rule in training_rules.ROBUST
    return training_rules.MOST_ROBUST if is_robust else math.inf


def _accepted(of: Round) -> Any:
    return Contribution.objects.filter(round=of, state=Contribution.State.ACCEPTED)


def _plan(training: Training, closing: Round) -> Aggregate:
    """The plan of a round: written once, with its inputs in the order in which they are summed."""
    planned = Aggregate.objects.filter(round=closing).first()
    if planned is not None:
        return planned
    columns = ("participant_id", "pk", "n")
    accepted = list(_accepted(closing).order_by("received_at", "pk").values_list(*columns))
    most = int(min(_most(training), len(accepted)))
    inputs = sorted(accepted[:most])
    others = closing.contributions.exclude(state=Contribution.State.ACCEPTED)
    left_out = {str(row.pk): row.problem or row.state for row in others}
    left_out |= {str(key): OVER_LIMIT for _, key, _ in accepted[most:]}
    return Aggregate.objects.create(
        round=closing,
        rules=training.rules,
        inputs=[key for _, key, _ in inputs],
        left_out=left_out,
        examples=sum(n for _, _, n in inputs),
        seed=secrets.token_hex(32) if training.typed_rules.noise_multiplier is not None else "",
    )


def _mark_used(aggregate: Aggregate, figures: dict[int, dict[str, Any]]) -> None:
    """Write beside each input what became of it; one that the rule dropped counts as used."""
    rows = list(Contribution.objects.filter(pk__in=aggregate.inputs))
    for row in rows:
        row.state = Contribution.State.USED
        row.figures = row.figures | figures.get(row.pk, {})
    Contribution.objects.bulk_update(rows, ["state", "figures"], batch_size=200)


def _finish_training(training: Training) -> None:
    training.state, training.ended_at = Training.State.FINISHED, timezone.now()
    training.reason = "All rounds are complete."
    training.save(update_fields=["state", "ended_at", "reason"])
    events.record("training.finished", training, actor=None, model=training.model)


def counts(of: Sequence[Round]) -> dict[int, dict[str, int]]:
    """How many contributions of each round are in each state, by the round's key."""
    by_round: dict[int, dict[str, int]] = {row.pk: {} for row in of}
    rows = Contribution.objects.filter(round__in=of).values_list("round", "state")
    for key, state, number in rows.annotate(n=Count("pk")).order_by():
        by_round[key][state] = number
    return by_round
