"""The rounds that made a version, as far as everyone who sees the version may know."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hub.protocol import filters
from registry.core.prepared_queries import Prepared
from registry.federated import privacy, selectors
from registry.federated.models import Aggregate, DeviceEvaluation, Round
from registry.federated.privacy import Statement
from registry.federated.schedule import FEWEST_REPORTS
from registry.federated.scores import Scores
from registry.models import Version

# Rounds that a version lists, the newest ones.
MOST = 200
# From this many contributions on, everyone may read the median of their norms.
FEWEST_OPEN = FEWEST_REPORTS


@dataclass(frozen=True, slots=True)
class RoundSummary:
    """A round without its participants: their number, and what was left out by reason.

    ``noise_multiplier`` is None where no noise was added, ``scores`` where devices did not compare
    its result with earlier weights.
    """

    number: int
    contributions: int
    examples: int | None
    rule: str
    parameters: dict[str, float]
    opened_at: datetime
    ended_at: datetime | None
    result_sha256: str
    noise_multiplier: float | None
    left_out: dict[str, int] = field(default_factory=dict)
    scores: Scores | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The rounds that a version came of, oldest first, and the version that these began at."""

    training: int
    base: int
    rounds: tuple[RoundSummary, ...]
    privacy: Statement


_ROUND = Prepared(
    lambda version_id: Round.objects.filter(version=version_id).select_related("training__base")
)


def of(version: Version) -> History | None:
    """The rounds that made a version; None where none did."""
    last = next(iter(_ROUND.instances(version.pk)), None)
    if last is None:
        return None
    rounds = Round.objects.filter(
        training=last.training_id, state=Round.State.AGGREGATED, number__lte=last.number
    ).select_related("aggregate")
    newest = list(rounds.order_by("-number")[:MOST])
    evaluations = selectors.evaluations(newest)
    return History(
        training=last.training.number,
        base=last.training.base.number,
        rounds=tuple(_summary(row, evaluations.get(row.pk)) for row in reversed(newest)),
        privacy=privacy.of_round(last),
    )


def searchable_facts(version: Version) -> list[tuple[str, str]]:
    """That a version was made by a round, for lists."""
    return [(filters.EVIDENCE.name, "federated")] if hasattr(version, "federated_round") else []


def open_examples(aggregate: Aggregate) -> int | None:
    """How many examples a round had, where that is public; None where noise hides each device.

    An exact sum beside an epsilon would reveal more than that epsilon admits.
    """
    return None if _is_noisy(aggregate) else aggregate.examples


def open_figures(aggregate: Aggregate) -> dict[str, Any]:
    """The figures of an aggregate that everyone may read; maintainers read them all.

    A median of few norms is the norm of one device, and no exact figure stands beside noise.
    """
    hidden = {"median_norm", "examples"} if _is_noisy(aggregate) else set()
    if len(aggregate.inputs) < FEWEST_OPEN:
        hidden.add("median_norm")
    return {name: value for name, value in aggregate.figures.items() if name not in hidden}


def open_scores(of: DeviceEvaluation) -> Scores | None:
    """What everyone may read of an evaluation: no group of few devices, no name of a group."""
    scores = of.typed_scores
    return scores.public(FEWEST_OPEN) if scores else None


def _is_noisy(aggregate: Aggregate) -> bool:
    return aggregate.typed_rules.noise_multiplier is not None


def tally(left_out: dict[str, str]) -> dict[str, int]:
    """How many contributions were left out, by reason."""
    counts: dict[str, int] = {}
    for reason in left_out.values():
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items()))


def _summary(row: Round, evaluation: DeviceEvaluation | None) -> RoundSummary:
    aggregate, rules = row.aggregate, row.aggregate.typed_rules
    return RoundSummary(
        number=row.number,
        contributions=len(aggregate.inputs),
        examples=open_examples(aggregate),
        rule=rules.rule,
        parameters=rules.parameters,
        opened_at=row.opened_at,
        ended_at=row.ended_at,
        result_sha256=aggregate.result_sha256,
        noise_multiplier=rules.noise_multiplier,
        left_out=tally(aggregate.left_out),
        scores=open_scores(evaluation) if evaluation else None,
    )
