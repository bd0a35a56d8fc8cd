"""Results that a card claims: a metric on a split of a data set, with values on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from hub.protocol import stored
from hub.protocol.cards import dataset_rows
from hub.protocol.vocabularies import metric_name
from registry.cards import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 200
# Fields of a card that list data sets which a model was tried on.
_TRIED_ON = ("tested_on", "validated_on")


class Reported(NamedTuple):
    """A metric of a result that a card reports; ``result`` is the card's mapping."""

    metric: str
    value: Any
    unit: str
    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a card reports; shares from 0 to 1.

    ``names`` are those of the data set, ``metric`` is the vocabulary's name. Without a metric the
    card names the data set and the split alone.
    """

    names: tuple[str, ...]
    split: str
    metric: str = ""
    value: float = 0.0

    @property
    def dataset(self) -> str:
        """The data set's name for people, or the only one that it has."""
        return self.names[-1] if self.names else ""


def of(front: dict[str, Any]) -> list[Claim]:
    """What a card claims of data sets that it names, in its order."""
    return [*_results(front)][:MOST]


def evaluated_on(front: dict[str, Any]) -> list[Claim]:
    """Data sets that a card says its model was tested or validated on, without a metric."""
    rows = [row for field in _TRIED_ON for row in dataset_rows(front.get(field))]
    claims = [
        Claim(_names(row, ("iri", "doi", "url", "name")), stored.text(row.get("split")).strip())
        for row in rows[:MOST]
    ]
    return [claim for claim in claims if claim.names]


def reported(front: dict[str, Any]) -> Iterator[Reported]:
    """Every metric of every result of a card, of `model-index` and of `eval_results`, as written.

    In the latter the score of a benchmark may have no name but the benchmark's.
    """
    for model in stored.rows(front.get("model-index")):
        for result in stored.rows(model.get("results")):
            for metric in stored.rows(result.get("metrics")):
                unit = metrics.unit_of(metric.get("unit"))
                yield Reported(_name(metric), metric.get("value"), unit, result)
    for result in stored.rows(front.get("eval_results")):
        score = result.get("metric")
        name = _name(score) if isinstance(score, dict) else str(score or "").strip()
        name = name or str(stored.mapping(result.get("dataset")).get("task_id") or "").strip()
        yield Reported(name, result.get("value"), metrics.unit_of(result.get("unit")), result)


def _results(front: dict[str, Any]) -> Iterator[Claim]:
    for row in reported(front):
        dataset = row.result.get("dataset")
        named = dataset if isinstance(dataset, dict) else {"name": dataset}
        names, amount = _names(named, ("type", "id", "name")), _amount(row.value)
        if names and row.metric and amount is not None:
            split = stored.text(named.get("split")).strip()
            value, _ = metrics.scaled(row.metric, amount, row.unit)
            yield Claim(names, split, metric_name(row.metric), float(value))


def _name(metric: dict[str, Any]) -> str:
    return str(metric.get("type") or metric.get("name") or "").strip()


def _names(row: dict[str, Any], fields: tuple[str, ...]) -> tuple[str, ...]:
    written = (row.get(field) for field in fields)
    return tuple(name.strip() for name in written if isinstance(name, str) and name.strip())


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Decimal(str(value))
