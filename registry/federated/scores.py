"""What devices report of two models, joined: shares of right answers, and how they change.

Nothing that a device reports can be verified. What decides is therefore the median of the changes
on the devices, each of which counts once: reports of fewer than half of them move it to no value
outside the changes of the others.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self

from hub import counting
from hub.protocol import intervals
from hub.protocol.figures import Figure, Kind, Status, Unit
from hub.protocol.intervals import Interval

FIGURES = ("base", "candidate", "change", "worse")


class Report(Protocol):
    """Right answers of two models among the same ``n`` examples of a device of a ``group``."""

    n: int
    base_right: int
    candidate_right: int

    @property
    def group(self) -> str:
        """The name of the group; empty for none."""


@dataclass(frozen=True, slots=True)
class GroupScores:
    """Figures of the devices of one group, or of all.

    ``base`` and ``candidate`` are shares of right answers weighted by examples, ``change`` is the
    median of the devices' changes, ``worse`` the share of devices for which it is below 0.
    """

    reports: int
    examples: int
    base: Figure
    candidate: Figure
    change: Figure
    worse: Figure

    def to_json(self) -> dict[str, Any]:
        """Counts, and each figure as a number with the ends and the method of its interval."""
        figures = {name: _figure_json(getattr(self, name)) for name in FIGURES}
        return {"reports": self.reports, "examples": self.examples, **figures}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read stored figures, which `of` computed."""
        figures = {name: _read_figure(data[name]) for name in FIGURES}
        return cls(data["reports"], data["examples"], **figures)


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of all devices, and of each group by its name; devices without a group have none."""

    all: GroupScores
    groups: dict[str, GroupScores]

    def to_json(self) -> dict[str, Any]:
        groups = {name: scores.to_json() for name, scores in self.groups.items()}
        return {"all": self.all.to_json(), "groups": groups}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read stored scores."""
        groups = {name: GroupScores.from_json(row) for name, row in data["groups"].items()}
        return cls(GroupScores.from_json(data["all"]), groups)

    def public(self, fewest: int) -> Scores:
        """The same with numbers as names of groups, highest share first, as everyone may read it.

        There are no groups of fewer devices, nor any where the figures of fewer devices follow
        from those of all and of the groups.
        """
        groups = [row for row in self.groups.values() if row.reports >= fewest]
        rest = self.all.reports - sum(row.reports for row in groups)
        if 0 < rest < fewest:
            groups = []
        groups.sort(key=lambda row: row.candidate.value or 0.0, reverse=True)
        return Scores(self.all, {str(number): row for number, row in enumerate(groups, 1)})


def of(reports: Sequence[Report], most_examples: Callable[[list[int]], int]) -> Scores:
    """Join at least one report; ``most_examples`` bounds what of a device's examples counts."""
    most = most_examples([report.n for report in reports])
    names = sorted({report.group for report in reports} - {""})
    groups = {
        name: _joined([report for report in reports if report.group == name], most)
        for name in names
    }
    return Scores(_joined(reports, most), groups)


def words(of: GroupScores) -> str:
    """The figures in one sentence, as cards have them."""
    change, ends = of.change, of.change.interval
    between = f" ({ends.level.words} {ends.low:+.4f} to {ends.high:+.4f})" if ends else ""
    return (
        f"{counting.plural(of.reports, 'device')} compared these weights with those that were "
        f"released before, on {counting.plural(of.examples, 'example')} of their own. The share "
        "of right answers, weighted by examples, "
        f"is {of.candidate.value:.4f} instead of {of.base.value:.4f}; the median change over the "
        f"devices is {change.value:+.4f}{between}. Devices report these figures themselves, and "
        "the hub cannot verify them."
    )


def _joined(reports: Sequence[Report], most: int) -> GroupScores:
    weights = [min(report.n, most) for report in reports]
    # Exact, so that a median of two changes that is the least one passes.
    exact = [Fraction(report.candidate_right - report.base_right, report.n) for report in reports]
    changes = [float(change) for change in exact]
    worse = sum(change < 0 for change in changes)

    def share(right: Sequence[int]) -> Figure:
        scaled = [
            number * weight / report.n
            for number, weight, report in zip(right, weights, reports, strict=True)
        ]
        value = sum(scaled) / sum(weights)
        return _figure(value, intervals.weighted_share(scaled, weights))

    return GroupScores(
        reports=len(reports),
        examples=sum(report.n for report in reports),
        base=share([report.base_right for report in reports]),
        candidate=share([report.candidate_right for report in reports]),
        change=_figure(float(statistics.median(exact)), intervals.median(changes)),
        worse=_figure(worse / len(reports), intervals.proportion(worse, len(reports))),
    )


def _figure(value: float, interval: Interval | None) -> Figure:
    return Figure(value, Unit.SHARE, Kind.CLAIMED, Status.UNVERIFIED, interval)


def _figure_json(figure: Figure) -> dict[str, Any]:
    ends = figure.interval
    return {
        "value": figure.value,
        "low": ends and ends.low,
        "high": ends and ends.high,
        "interval_level": ends and int(ends.level),
        "interval_method": ends and str(ends.method),
    }


def _read_figure(data: dict[str, Any]) -> Figure:
    interval = Interval.stored(data["low"], data["high"], data["interval_method"] or "")
    return _figure(data["value"], interval)
