"""Figures of a model: a value with its unit, how it is known, and whether it can be relied on.

Rows become figures where they are stored. Pages, graphs and commands read figures alone, so that
"not measured", "noisy", "outside the limits" and "unknown" mean the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hub.protocol.intervals import Interval


class Kind(StrEnum):
    """How a figure is known, in the words that reports and graphs have."""

    MEASURED = "measured"
    CLAIMED = "declared"
    PREDICTED = "predicted"
    ESTIMATED = "estimated"
    COUNT = "counted"


class Status(StrEnum):
    """How far a figure can be relied on; only accepted ones are ranked and compared.

    Without a value it is unmeasured, or unknown: then it was tried, and nobody can say.
    """

    ACCEPTED = "accepted"
    NOISY = "noisy"
    UNVERIFIED = "unverified"
    UNMEASURED = "not measured"
    UNKNOWN = "unknown"


class Compliance(StrEnum):
    """Whether a figure keeps a limit; unknown without a figure that can be relied on."""

    WITHIN = "within"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


class Unit(StrEnum):
    """The unit of a value, as QUDT names it; COUNT has a decimal multiple on pages."""

    MILLISECOND = "MilliSEC"
    PER_SECOND = "PER-SEC"
    BYTE = "BYTE"
    JOULE = "J"
    GRAM = "GM"
    SHARE = "FRACTION"
    NUMBER = "NUM"
    COUNT = "COUNT"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; ``reasons`` are codes of why it is not accepted."""

    value: float | None
    unit: Unit
    kind: Kind = Kind.MEASURED
    status: Status = Status.ACCEPTED
    interval: Interval | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def is_ranked(self) -> bool:
        """Whether it is compared with others of its kind."""
        return self.value is not None and self.status is Status.ACCEPTED

    def compliance(
        self, limit: float, *, is_maximum: bool = True, with_predictions: bool = False
    ) -> Compliance:
        """Whether it keeps a limit; a prediction by the far end of its interval, if it counts."""
        if self.value is None or not self.is_ranked:
            return Compliance.UNKNOWN
        value = self.value
        if self.kind is Kind.PREDICTED:
            if not with_predictions:
                return Compliance.UNKNOWN
            if self.interval is not None:
                value = self.interval.high if is_maximum else self.interval.low
        return (
            Compliance.WITHIN
            if (value <= limit if is_maximum else value >= limit)
            else Compliance.OUTSIDE
        )


def absent(unit: Unit) -> Figure:
    """A figure that was not measured."""
    return Figure(None, unit, status=Status.UNMEASURED)


def count(value: float | None, unit: Unit = Unit.COUNT, *reasons: str) -> Figure:
    """A figure that is counted from files; ``reasons`` say why there is none."""
    if value is None:
        return Figure(None, unit, Kind.COUNT, Status.UNMEASURED, reasons=reasons)
    return Figure(value, unit, Kind.COUNT)


def together(parts: Iterable[Compliance]) -> Compliance:
    """Whether several limits are kept: outside one of them is outside, whatever the others are."""
    by_weight = (Compliance.OUTSIDE, Compliance.UNKNOWN)
    present = set(parts)
    return next(
        (compliance for compliance in by_weight if compliance in present), Compliance.WITHIN
    )
