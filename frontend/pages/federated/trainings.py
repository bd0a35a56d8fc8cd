"""What pages say of trainings: rounds in rows, their figures as small charts, rules in words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from frontend.pages.federated.forms import RULE_WORDS
from frontend.parts import formatting
from frontend.parts.svg import charts
from registry.federated import attacks, history, privacy
from registry.federated.services import rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from django.utils.safestring import SafeString

    from registry.federated.models import Aggregate, Contribution, Round, Training
    from registry.models import Version

REASONS = {
    "below-quorum": "fewer contributions than the quorum",
    "aggregation-failed": "the contributions could not be aggregated",
}
# Rules in the order of reading -> words; what is not set is said in words too.
_RULES = {
    "rule": "Aggregation rule",
    "examples_cap": "Maximum examples per device",
    "examples_multiple": "Maximum counted examples per device, as a multiple of the median",
    "clip_multiple": "Updates are clipped to this multiple of the median norm",
    "norm_limit": "Updates with a larger norm are rejected",
    "clip_norm": "Clipping norm of updates",
    "noise_multiplier": "Noise multiplier",
    "delta": "Delta of differential privacy",
    "client_certificate": "TLS client certificate required",
    "max_staleness": "Maximum rounds between base and contribution",
}
_SCHEDULE = {
    "mode": "Mode",
    "quorum": "Quorum",
    "target": "Contributions that close a round",
    "cohort": "Participants sampled per round",
    "round_seconds": "Round length in seconds",
    "grace_seconds": "Grace period for uploads in seconds",
    "most_rounds": "Number of rounds",
    "retention_days": "Retention of contributions in days",
}
_EPSILON = re.compile(r"(?:ε|\bepsilon)\s*=\s*\d", re.IGNORECASE)
_CLAIMED = (
    "Unknown. This version was uploaded, and the hub accounts only for its own trainings: "
    "the ε in the card is a claim of the author."
)
# Norms of what was not used that the words below a plot name.
_NAMED = 5
_NONE = {"target": "none", "cohort": "all participants", "most_rounds": "no limit"}


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round as the table of its training shows it."""

    number: int
    state: str
    reason: str
    used: int
    left_out: int
    waiting: int
    norm: float | None
    score: float | None
    version: int | None
    opened_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Privacy:
    """The statement of a version; whether its card has another one, of an earlier method."""

    words: str
    is_newer_than_card: bool = False


def privacy_of(version: Version) -> Privacy | None:
    """What differential privacy a version keeps.

    None where no round of the hub made it, unless its card claims an epsilon: then that this is
    its author's word, such as on a copy of a version that has a statement.
    """
    found = privacy.of_version(version)
    if found is None:
        return Privacy(_CLAIMED) if _EPSILON.search(version.readme) else None
    words = privacy.words(found)
    return Privacy(words, words not in version.readme)


@dataclass(frozen=True, slots=True)
class Given:
    """A contribution as maintainers see it."""

    participant: str
    state: str
    n: int
    encoding: str
    norm: float | None
    cosine: float | None
    weight: float | None
    problem: str
    detail: str


def rows(found: Sequence[Round], *, may_manage: bool) -> list[RoundRow]:
    """Rounds with what became of their contributions; maintainers see every figure."""
    counted = rounds.counts(found)
    return [_row(one, counted[one.pk], may_manage=may_manage) for one in found]


def chart(shown: Sequence[RoundRow]) -> SafeString:
    """The median norm of each round, oldest first; nothing for fewer than two."""
    return _over_rounds(shown, "norm", "median norm")


def scores(shown: Sequence[RoundRow]) -> SafeString:
    """The score of each round's result, oldest first; nothing for fewer than two."""
    return _over_rounds(shown, "score", "score")


def _over_rounds(shown: Sequence[RoundRow], column: str, down: str) -> SafeString:
    points = [
        charts.Point(row.number, value)
        for row in reversed(shown)
        if (value := getattr(row, column)) is not None
    ]
    if not points:
        return charts.plot((), across="", down="", words="")
    first, last = points[0], points[-1]
    least, most = min(points, key=_height), max(points, key=_height)
    words = (
        f"From {formatting.figure(first.y)} in round {first.x} to {formatting.figure(last.y)} in "
        f"round {last.x}; least {formatting.figure(least.y)} in round {least.x}, most "
        f"{formatting.figure(most.y)} in round {most.x}."
    )
    return charts.plot(points, across="round", down=down, words=words)


def _height(point: charts.Point) -> float:
    return point.y


def asked(of: Round) -> str:
    """Of whom a round asks, in words."""
    if of.selected is None:
        return "all participants"
    if not of.seed:
        return f"{formatting.grouped(len(of.selected))} selected"
    drawn, candidates = map(formatting.grouped, (len(of.selected), of.candidates))
    return f"{drawn} of {candidates}, sampled"


def spread(given: Sequence[Given]) -> SafeString:
    """The norms of a round's contributions, shortest first; those left out are grey."""
    told = sorted((one.norm, one.state) for one in given if one.norm is not None)
    points = [
        charts.Point(place, norm, "" if state in ("used", "accepted") else "of-noisy")
        for place, (norm, state) in enumerate(told, 1)
    ]
    grey = [formatting.figure(point.y) for point in points if point.mark]
    words = (
        f"From {formatting.figure(points[0].y)} to {formatting.figure(points[-1].y)}, "
        f"median {formatting.figure(median(point.y for point in points))}."
        if points
        else ""
    )
    if grey:
        more = formatting.grouped(len(grey) - _NAMED)
        rest = f" and {more} more" if len(grey) > _NAMED else ""
        words += f" Not used (grey): {', '.join(grey[:_NAMED])}{rest}."
    return charts.plot(
        points, across="contribution, by norm", down="norm", words=words, joined=False
    )


def given(found: Iterable[Contribution]) -> list[Given]:
    """Contributions in rows."""
    return [
        Given(
            participant=row.participant.pseudonym,
            state=str(row.state),
            n=row.n,
            encoding=row.encoding,
            norm=_number(row.figures.get("norm")),
            cosine=_number(row.figures.get("cosine")),
            weight=_number(row.figures.get("weight")),
            problem=row.problem,
            detail=row.detail,
        )
        for row in found
    ]


def rules(training: Training) -> list[tuple[str, Any]]:
    """The rules and the schedule in words."""
    told: list[tuple[str, Any]] = []
    schedule = dict(training.schedule)
    if share := schedule.get("cohort_fraction"):
        schedule["cohort"] = f"{100 * share:g} %"
    for names, values in ((_RULES, training.rules), (_SCHEDULE, schedule)):
        for name, words in names.items():
            value = values.get(name, False if name == "client_certificate" else None)
            if name in _NONE and not value:
                value = _NONE[name]
            told.append((words, _told(value)))
    parameters = training.rules.get("parameters") or {}
    told[1:1] = [(f"Parameter {name}", value) for name, value in parameters.items()]
    return told


def _told(value: Any) -> Any:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return formatting.grouped(value) if type(value) is int else value


def withstands() -> list[tuple[str, list[tuple[attacks.Figure, attacks.Figure]]]]:
    """Each rule in words, with its worst figures for even and uneven data by attackers."""
    of = attacks.measured()
    return [
        (
            RULE_WORDS[rule],
            [
                (
                    of.worst(rule, attacks.EVEN, attackers),
                    of.worst(rule, attacks.UNEVEN, attackers),
                )
                for attackers in of.attackers
            ],
        )
        for rule in of.rules
    ]


def left_out(of: Round) -> dict[str, int]:
    """Why contributions are not in a round's result; empty where there is none."""
    made = getattr(of, "aggregate", None)
    return history.tally(made.left_out) if made else {}


def examples(made: Aggregate | None, *, may_manage: bool) -> int | None:
    """How many examples a round had, where that may be told."""
    if made is None:
        return None
    return made.examples if may_manage else history.open_examples(made)


def _norm(made: Aggregate | None, *, may_manage: bool) -> float | None:
    """The median norm of what was trained in a round."""
    if made is None:
        return None
    told = (made.figures if may_manage else history.open_figures(made)).get("median_norm")
    return _number(told.get("trainable") if isinstance(told, dict) else told)


def _row(one: Round, counted: dict[str, int], *, may_manage: bool) -> RoundRow:
    used = counted.get("used", 0)
    waiting = counted.get("received", 0) + counted.get("accepted", 0)
    return RoundRow(
        number=one.number,
        state=str(one.state),
        reason=REASONS.get(one.reason, one.reason),
        used=used,
        waiting=waiting,
        left_out=sum(counted.values()) - used - waiting,
        norm=_norm(getattr(one, "aggregate", None), may_manage=may_manage),
        score=one.score,
        version=one.version.number if one.version else None,
        opened_at=one.opened_at,
        ended_at=one.ended_at,
    )


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None
