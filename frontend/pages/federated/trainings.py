"""Display data of trainings: rows of rounds, charts of their figures, sentences about rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from frontend.pages.federated.forms import RULE_WORDS
from frontend.parts import formatting
from frontend.parts.svg import charts
from hub.protocol import phrases, stored
from hub.protocol.figures import Figure
from registry.federated import attacks, history, privacy, selectors
from registry.federated.models import Aggregate, Contribution, DeviceEvaluation, Round, Training
from registry.federated.scores import GroupScores
from registry.federated.services import rounds
from registry.models import Variant, Version
from runners.evaluations import selectors as evaluations
from runners.models import Evaluation

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
    "needs_evaluation": "Evaluation on devices required for a version",
    "least_change": "Least median change of the share of right answers in an evaluation",
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
    "evaluate_every": "Aggregated rounds between evaluations on devices",
    "evaluation_quorum": "Reports that an evaluation needs",
    "evaluation_target": "Reports that end an evaluation",
    "evaluation_seconds": "Length of an evaluation in seconds",
}
_EPSILON = re.compile(r"(?:ε|\bepsilon)\s*=\s*\d", re.IGNORECASE)
_CLAIMED = (
    "Unknown. This version was uploaded, and the hub accounts only for its own trainings: "
    "the ε in the card is a claim of the author."
)
# Norms of what was not used that the words below a plot name.
_NAMED = 5
_FIGURES = ("norm", "cosine", "weight")
_NONE = {
    "target": "none",
    "cohort": "all participants",
    "most_rounds": "no limit",
    "evaluate_every": "on request",
    "evaluation_target": "none",
}


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round of a training, and what became of its contributions."""

    round: Round
    reason: str
    used: int
    left_out: int
    waiting: int
    norm: float | None


@dataclass(frozen=True, slots=True)
class ContributionRow:
    """A contribution as maintainers see it, with its figures."""

    contribution: Contribution
    norm: float | None
    cosine: float | None
    weight: float | None


def privacy_of(version: Version) -> dict[str, Any] | None:
    """What differential privacy a version keeps, and whether its card has an earlier statement.

    None where no round of the hub made it, unless its card claims an epsilon: then that this is
    its author's word, such as on a copy of a version that has a statement.
    """
    budget = privacy.of_version(version)
    if budget is None:
        return {"words": _CLAIMED} if _EPSILON.search(version.readme) else None
    words = privacy.words(budget)
    return {"words": words, "is_newer_than_card": words not in version.readme}


def rows(of: Sequence[Round], *, may_manage: bool) -> list[RoundRow]:
    """Rounds with what became of their contributions; maintainers see every figure."""
    counts = rounds.counts(of)
    return [
        _row(training_round, counts[training_round.pk], may_manage=may_manage)
        for training_round in of
    ]


def chart(rounds: Sequence[RoundRow]) -> SafeString:
    """The median norm of each round, oldest first; nothing for fewer than two."""
    return _over_rounds([(row.round.number, row.norm) for row in rounds], "median norm")


def scores(rounds: Sequence[RoundRow]) -> SafeString:
    """The score of each round's result, oldest first; nothing for fewer than two."""
    return _over_rounds([(row.round.number, row.round.score) for row in rounds], "score")


def participation(rounds: Sequence[RoundRow]) -> SafeString:
    """How many contributions each round used and excluded, oldest first; empty for under two."""
    ended = [row for row in reversed(rounds) if not row.round.is_live]
    used = [row.used for row in ended]
    excluded = sum(row.left_out for row in ended)
    words = (
        f"{formatting.spread(used, 'contribution')} used "
        f"per round (coloured); {formatting.grouped(excluded)} excluded in total (grey)."
        if used
        else ""
    )
    return charts.columns(
        [charts.Column(row.round.number, row.used, row.left_out) for row in ended],
        across="round",
        down="contributions",
        words=words,
    )


@dataclass(frozen=True, slots=True)
class Accuracies:
    """The measured figure of released rounds, by number of round, all on one split by one metric.

    ``words`` name the metric and the split; they are empty where nothing was measured.
    """

    by_round: dict[int, Evaluation]
    words: str
    chart: SafeString


def accuracies(rounds: Sequence[RoundRow]) -> Accuracies:
    """What was measured of the versions that rounds became, on the split that most share."""
    by_version = {row.round.version_id: row.round.number for row in rounds if row.round.version}
    variants = Variant.objects.filter(version__in=by_version, origin="uploaded")
    measured = evaluations.shared(list(variants.select_related("version", "entry")))
    splits = Counter(
        (row.metric, row.dataset_version.dataset.slug, row.split) for row in measured.values()
    )
    if not splits:
        return Accuracies({}, "", mark_safe(""))
    ((metric, dataset, split), _), *_ = splits.most_common(1)
    by_round = {
        by_version[row.variant.version_id]: row
        for row in measured.values()
        if (row.metric, row.dataset_version.dataset.slug, row.split) == (metric, dataset, split)
    }
    points = [(number, row.value) for number, row in sorted(by_round.items(), reverse=True)]
    return Accuracies(by_round, f"{metric} on {dataset}, {split}", _over_rounds(points, metric))


def _over_rounds(values: Sequence[tuple[int, float | None]], down: str) -> SafeString:
    points = [charts.Point(number, y) for number, y in reversed(values) if y is not None]
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


def selection_words(of: Round) -> str:
    """Sentence about the devices that a round selects."""
    if of.selected is None:
        return "all participants"
    if not of.seed:
        return f"{formatting.grouped(len(of.selected))} selected"
    drawn, candidates = map(formatting.grouped, (len(of.selected), of.candidates))
    return f"{drawn} of {candidates}, sampled"


def spread(of: Sequence[ContributionRow]) -> SafeString:
    """The norms of a round's contributions, shortest first; those left out are grey."""
    norms = sorted(
        (update.norm, update.contribution.state) for update in of if update.norm is not None
    )
    points = [
        charts.Point(place, norm, "" if state in ("used", "accepted") else "of-grey")
        for place, (norm, state) in enumerate(norms, 1)
    ]
    grey = [formatting.figure(point.y) for point in points if point.mark]
    words = (
        f"From {formatting.figure(points[0].y)} to {formatting.figure(points[-1].y)}, "
        f"median {formatting.figure(median(point.y for point in points))}."
        if points
        else ""
    )
    if grey:
        words += f" Not used (grey): {phrases.enumeration(grey, _NAMED)}."
    return charts.plot(
        points, across="contribution, by norm", down="norm", words=words, joined=False
    )


def contributions(of: Iterable[Contribution]) -> list[ContributionRow]:
    """Contributions with their figures."""
    return [
        ContributionRow(row, *(stored.finite(row.figures.get(name)) for name in _FIGURES))
        for row in of
    ]


def rules(training: Training) -> list[tuple[str, Any]]:
    """Sentences about the rules and the schedule."""
    lines: list[tuple[str, Any]] = []
    own, schedule = training.typed_rules.to_json(), training.typed_schedule.to_json()
    if share := schedule.get("cohort_fraction"):
        schedule["cohort"] = f"{100 * share:g} %"
    for names, values in ((_RULES, own), (_SCHEDULE, schedule)):
        for name, words in names.items():
            value = values[name]
            if name in _NONE and not value:
                value = _NONE[name]
            lines.append((words, _words(value)))
    parameters = own["parameters"].items()
    lines[1:1] = [(f"Parameter {name}", value) for name, value in parameters]
    return lines


def _words(value: Any) -> Any:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return formatting.grouped(value) if type(value) is int else value


def withstands() -> list[tuple[str, list[tuple[attacks.Figure, attacks.Figure]]]]:
    """Sentences about each rule, with its worst figures for even and uneven data by attackers."""
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


def changes(of: Iterable[RoundRow]) -> dict[int, Figure]:
    """The median changes that devices report of rounds' results, by the number of the round."""
    rounds = {row.round.pk: row.round.number for row in of}
    evaluations = selectors.evaluations([row.round for row in of])
    joined = {rounds[key]: row.typed_scores for key, row in evaluations.items()}
    return {number: scores.all.change for number, scores in joined.items() if scores}


def groups(of: DeviceEvaluation | None, *, may_manage: bool) -> list[tuple[str, GroupScores]]:
    """The figures of an evaluation: those of all devices, then of each group that may be shown."""
    scores = None
    if of is not None:
        scores = of.typed_scores if may_manage else history.open_scores(of)
    if scores is None:
        return []
    return [("All devices", scores.all), *((f"Group {n}", row) for n, row in scores.groups.items())]


def left_out(of: Round) -> dict[str, int]:
    """Why contributions are not in a round's result; empty where there is none."""
    aggregate = getattr(of, "aggregate", None)
    return history.tally(aggregate.left_out) if aggregate else {}


def examples(aggregate: Aggregate | None, *, may_manage: bool) -> int | None:
    """How many examples a round had, if that may be shown."""
    if aggregate is None:
        return None
    return aggregate.examples if may_manage else history.open_examples(aggregate)


def _norm(aggregate: Aggregate | None, *, may_manage: bool) -> float | None:
    if aggregate is None:
        return None
    figures = aggregate.figures if may_manage else history.open_figures(aggregate)
    norm = figures.get("median_norm")
    return stored.finite(norm.get("trainable") if isinstance(norm, dict) else norm)


def _row(training_round: Round, counts: dict[str, int], *, may_manage: bool) -> RoundRow:
    used = counts.get("used", 0)
    waiting = counts.get("received", 0) + counts.get("accepted", 0)
    return RoundRow(
        round=training_round,
        reason=REASONS.get(training_round.reason, training_round.reason),
        used=used,
        waiting=waiting,
        left_out=sum(counts.values()) - used - waiting,
        norm=_norm(getattr(training_round, "aggregate", None), may_manage=may_manage),
    )
