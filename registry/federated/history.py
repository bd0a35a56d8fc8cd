"""How a version came of rounds, as far as everybody may know who sees the version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from registry.federated import privacy
from registry.federated.models import Aggregate, Round

if TYPE_CHECKING:
    from datetime import datetime

    from registry.federated.privacy import Statement
    from registry.models import Version

# A version tells of so many rounds, the newest ones.
MOST = 200
# From so many contributions on, everybody may read the median of their norms.
FEWEST_OPEN = 5


@dataclass(frozen=True, slots=True)
class Told:
    """A round without its participants: their number, and what was left out by reason.

    ``noise_multiplier`` is None where no noise was added.
    """

    number: int
    contributions: int
    examples: int | None
    rule: str
    parameters: dict[str, Any]
    opened_at: datetime
    ended_at: datetime | None
    result_sha256: str
    noise_multiplier: float | None
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """The rounds that a version came of, oldest first, and the version that these began at."""

    training: int
    base: int
    rounds: tuple[Told, ...]
    privacy: Statement


def of(version: Version) -> History | None:
    """The rounds that made a version; None where none did."""
    last = Round.objects.filter(version=version).select_related("training__base").first()
    if last is None:
        return None
    made = Round.objects.filter(
        training=last.training_id, state=Round.State.AGGREGATED, number__lte=last.number
    ).select_related("aggregate")
    return History(
        training=last.training.number,
        base=last.training.base.number,
        rounds=tuple(_told(row) for row in reversed(made.order_by("-number")[:MOST])),
        privacy=privacy.of_round(last),
    )


def open_examples(made: Aggregate) -> int | None:
    """How many examples a round had, where that may be told; None where noise hides each device.

    An exact sum beside an epsilon would tell more than that epsilon admits.
    """
    return None if _is_noisy(made) else made.examples


def open_figures(made: Aggregate) -> dict[str, Any]:
    """The figures of an aggregate that everybody may read; maintainers read them all.

    A median of few norms is the norm of one device, and no exact figure stands beside noise.
    """
    hidden = {"median_norm", "examples"} if _is_noisy(made) else set()
    if len(made.inputs) < FEWEST_OPEN:
        hidden.add("median_norm")
    return {name: value for name, value in made.figures.items() if name not in hidden}


def _is_noisy(made: Aggregate) -> bool:
    return made.rules.get("noise_multiplier") is not None


def tally(left_out: dict[str, str]) -> dict[str, int]:
    """How many contributions were left out, by reason."""
    found: dict[str, int] = {}
    for reason in left_out.values():
        found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items()))


def _told(row: Round) -> Told:
    made = row.aggregate
    return Told(
        number=row.number,
        contributions=len(made.inputs),
        examples=open_examples(made),
        rule=str(made.rules.get("rule", "")),
        parameters=dict(made.rules.get("parameters", {})),
        opened_at=row.opened_at,
        ended_at=row.ended_at,
        result_sha256=made.result_sha256,
        noise_multiplier=made.rules.get("noise_multiplier"),
        left_out=tally(made.left_out),
    )
