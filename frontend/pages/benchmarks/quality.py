"""Quality against latency, across models: what cards declare held against what was measured.

One metric on one data set at a time, and of a version the main variant alone: what a card says of
its model says nothing of the precisions that were made of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from django.db.models import prefetch_related_objects

from frontend.parts.svg import charts
from frontend.presenters import speeds, timings, version_head
from hub.protocol import stored
from hub.protocol.vocabularies import METRICS
from metadata.graphs import evaluations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from django.utils.safestring import SafeString

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


@dataclass(frozen=True, slots=True)
class Row:
    """A model on the chosen axis."""

    ref: str
    url: str
    result_url: str
    value: str
    p50: str
    best: bool


@dataclass(frozen=True, slots=True)
class Quality:
    """The chosen axis with its rows and chart, and the others: (words, count, address, chosen)."""

    words: str
    rows: tuple[Row, ...]
    chart: SafeString
    axes: tuple[tuple[str, int, str, bool], ...]


def of(items: Sequence[Standing], asked: str, kept: Mapping[str, str]) -> Quality | None:
    """What the models of these standings declare; None where no two of them can be compared.

    ``asked`` names the axis, else it is the one that most models are on; ``kept`` is what the
    address says already.
    """
    told = {
        (item.row.pk, Axis(one.metric, one.dataset, one.split)): one.value
        for item in _main(items)
        for one in evaluations.reported(stored.mapping(item.row.variant.version.card))
    }
    counted = Counter(axis for _, axis in told)
    if max(counted.values(), default=0) < _LEAST_MODELS:
        return None
    chosen = next((axis for axis in counted if axis.name == asked), counted.most_common(1)[0][0])
    found = [(item.row, told[item.row.pk, chosen]) for item in items
             if (item.row.pk, chosen) in told and item.row.p50_ms]  # fmt: skip
    points = [
        charts.Point(row.p50_ms or 0, value, f"of-{timings.tone(row)}") for row, value in found
    ]
    best = charts.undominated([charts.Point(point.x, -point.y) for point in points])
    return Quality(
        words=chosen.words,
        rows=tuple(
            Row(
                ref=f"{row.variant.version.model.ref}@{row.variant.version.number}",
                url=speeds.model_url(row),
                result_url=timings.address(row),
                value=f"{100 * value:.4g}\N{NARROW NO-BREAK SPACE}%",
                p50=timings.latency(row.p50_ms),
                best=stands and len(found) > 1,
            )
            for (row, value), stands in zip(found, best, strict=True)
        ),
        chart=charts.rising(points),
        axes=tuple(
            (axis.words, count, f"?{urlencode({**kept, 'quality': axis.name})}", axis == chosen)
            for axis, count in counted.most_common(_MOST_AXES)
        ),
    )


def _main(items: Iterable[Standing]) -> list[Standing]:
    """Those of the main variants of their versions, measured here."""
    listed = [item for item in items if item.row.is_trusted]
    prefetch_related_objects([item.row.variant.version for item in listed], "variants")
    return [
        item
        for item in listed
        if (main := version_head.main_variant(item.row.variant.version)) is not None
        and main.pk == item.row.variant_id
    ]
