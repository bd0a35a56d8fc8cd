"""How a version came of rounds, as far as everybody may know who sees the version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from registry.federated.models import Round

if TYPE_CHECKING:
    from datetime import datetime

    from registry.models import Version

# A version tells of so many rounds, the newest ones.
MOST = 200


@dataclass(frozen=True, slots=True)
class Told:
    """A round without its participants: their number, and what was left out by reason."""

    number: int
    contributions: int
    examples: int
    rule: str
    parameters: dict[str, Any]
    opened_at: datetime
    ended_at: datetime | None
    result_sha256: str
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """The rounds that a version came of, oldest first, and the version that these began at."""

    training: int
    base: int
    rounds: tuple[Told, ...]
    privacy: dict[str, Any]


def of(version: Version) -> History | None:
    """The rounds that made a version; None where none did."""
    last = Round.objects.filter(version=version).select_related("training__base").first()
    if last is None:
        return None
    made = Round.objects.filter(
        training=last.training_id, state=Round.State.AGGREGATED, number__lte=last.number
    ).select_related("aggregate")
    spent = last.aggregate.figures.get("privacy", {})
    return History(
        training=last.training.number,
        base=last.training.base.number,
        rounds=tuple(_told(row) for row in reversed(made.order_by("-number")[:MOST])),
        privacy=spent if isinstance(spent, dict) else {},
    )


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
        examples=made.examples,
        rule=str(made.rules.get("rule", "")),
        parameters=dict(made.rules.get("parameters", {})),
        opened_at=row.opened_at,
        ended_at=row.ended_at,
        result_sha256=made.result_sha256,
        left_out=tally(made.left_out),
    )
