"""Quality against latency, across models: what cards declare held against what was measured.

One metric on one data set at a time, and of a version the main variant alone: what a card says of
its model says nothing of the precisions that were made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import prefetch_related_objects

from frontend.parts.svg import charts, latency_strips
from frontend.presenters import version_head
from hub.protocol.figures import Figure, Kind, Unit
from hub.protocol.vocabularies import METRICS
from metadata.graphs import evaluations
from runners.benchmarks.rankings import Standing

_LEAST_MODELS, _MOST_AXES = 2, 12


class Axis(NamedTuple):
    """A metric on a data set: values on one may be compared."""

    metric: str
    dataset: str
    split: str

    @property
    def name(self) -> str:
        """What stands for it in an address."""
        return "|".join(self)

    @property
    def words(self) -> str:
        """Accuracy on cifar10, test."""
        title = METRICS[self.metric].title
        return f"{title} on {self.dataset}" + (f", {self.split}" if self.split else "")


def of(
    items: Sequence[Standing], chosen_name: str, parameters: dict[str, str]
) -> dict[str, Any] | None:
    """What the models of these standings declare; None where no two of them can be compared.

    ``chosen_name`` names the axis, else it is the one that most models are on; ``parameters`` are
    those of the address.
    """
    values = {
        (item.row.pk, Axis(result.metric, result.dataset, result.split)): result.value
        for item in _main(items)
        for result in evaluations.reported(item.row.variant.version.typed_card)
    }
    counts = Counter(axis for _, axis in values)
    if max(counts.values(), default=0) < _LEAST_MODELS:
        return None
    choice = next(
        (axis for axis in counts if axis.name == chosen_name), counts.most_common(1)[0][0]
    )
    rows = [
        (item.row, values[item.row.pk, choice])
        for item in items
        if (item.row.pk, choice) in values and item.row.p50_ms
    ]
    points = [
        charts.Point(row.p50_ms or 0, value, f"of-{latency_strips.tone(row)}", row.is_ranked)
        for row, value in rows
    ]
    best = charts.undominated([replace(point, y=-point.y) for point in points])
    return {
        "words": choice.words,
        "rows": tuple(
            (row, Figure(value, Unit.SHARE, Kind.CLAIMED), stands and len(rows) > 1)
            for (row, value), stands in zip(rows, best, strict=True)
        ),
        "chart": charts.rising(points),
        "axes": tuple(
            (
                axis.words,
                count,
                f"?{urlencode(parameters | {'quality': axis.name})}",
                axis == choice,
            )
            for axis, count in counts.most_common(_MOST_AXES)
        ),
    }


def _main(items: Iterable[Standing]) -> list[Standing]:
    """Those of the main variants of their versions, measured here."""
    standings = [item for item in items if item.row.is_trusted]
    prefetch_related_objects([item.row.variant.version for item in standings], "variants")
    return [
        item
        for item in standings
        if (main := version_head.main_variant(item.row.variant.version)) is not None
        and main.pk == item.row.variant_id
    ]
