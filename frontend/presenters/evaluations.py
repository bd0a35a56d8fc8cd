"""Measured accuracy in words: figures with intervals beside what a card claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from frontend.presenters import figures
from hub.protocol.figures import Figure
from hub.protocol.pairs import Pairs
from metadata.rdf.quads import foreign
from registry.cards import result_files
from registry.models import Variant, Version
from runners.evaluations import selectors
from runners.evaluations.selectors import Measured, Unmeasured
from runners.models import Evaluation


@dataclass(frozen=True, slots=True)
class Line:
    """A figure; ``claimed`` is empty where the card claims none of this variant.

    ``pairs`` says how its rows compare with those of the variant from which this one was made.
    """

    title: str
    variant: Variant
    figure: Figure
    claimed: str
    is_less: bool
    row: Evaluation
    pairs: str = ""


def of(version: Version, variant: Variant | None) -> dict[str, Any]:
    """The measured accuracy of a version; of variants other than ``variant`` one figure each."""
    overview = selectors.overview(version)
    variant_id = variant.pk if variant else None
    own = [
        evaluation for evaluation in overview.measured if evaluation.row.variant_id == variant_id
    ]
    firsts: dict[tuple[int, int, str], Measured] = {}
    for evaluation in overview.measured:
        key = (evaluation.row.variant_id, evaluation.row.dataset_version_id, evaluation.row.split)
        if evaluation.row.variant_id != variant_id:
            firsts.setdefault(key, evaluation)
    lines = tuple(_beside(evaluation) for evaluation in (*own, *firsts.values()))
    return {
        "lines": lines,
        "methods": tuple(
            dict.fromkeys(filter(None, (figures.interval_basis(line.figure) for line in lines)))
        ),
        "lacking": tuple(_lacking(evaluation) for evaluation in overview.unmeasured),
        "unreadable": [row for row in result_files.of_files(version.card) if "error" in row],
    }


def line(row: Evaluation) -> Line:
    """A figure by itself, without a claim."""
    return Line(
        title=figures.title(row.metric),
        variant=row.variant,
        figure=row.figure,
        claimed="",
        is_less=False,
        row=row,
    )


def _beside(evaluation: Measured) -> Line:
    value = evaluation.claimed
    claimed = "" if value is None else figures.amount(evaluation.row.metric, value)
    return replace(
        line(evaluation.row),
        claimed=claimed,
        is_less=evaluation.is_less,
        pairs=_pairs(evaluation.pairs),
    )


def _pairs(pairs: Pairs | None) -> str:
    """The comparison of two variants on the same rows in words; empty without one."""
    if pairs is None:
        return ""
    p_value = "p < 0.0001" if pairs.p_value < 1e-4 else f"p = {pairs.p_value:.2g}"
    return (
        f"against its source {pairs.gains:,} rows right instead of wrong, {pairs.losses:,} wrong "
        f"instead of right (McNemar's exact test, {p_value})"
    )


def _lacking(unmeasured: Unmeasured) -> dict[str, Any]:
    claim = unmeasured.claim
    return {
        "title": figures.title(claim.metric),
        "claimed": figures.amount(claim.metric, claim.value),
        "dataset": claim.dataset,
        "split": claim.split,
        "file": claim.file,
        "source": foreign(claim.source),
        "state": unmeasured.state,
        "reason": unmeasured.reason,
        "job": str(unmeasured.job.pk) if unmeasured.job else "",
    }
