"""Results that a card claims: a metric on a split of a data set, with values on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hub.protocol import stored
from hub.protocol.cards import Card
from hub.protocol.vocabularies import metric_name
from registry.cards import metrics

MOST = 200


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a card reports; shares from 0 to 1.

    ``names`` are those of the data set, ``metric`` is the vocabulary's name. Without a metric the
    card names the data set and the split alone. ``file`` is where it stands, if that is not the
    card, and ``source`` the address that it gives for itself.
    """

    names: tuple[str, ...]
    split: str
    metric: str = ""
    value: float = 0.0
    file: str = ""
    source: str = ""

    @property
    def dataset(self) -> str:
        """The data set's name for people, or the only one that it has."""
        return self.names[-1] if self.names else ""


def of(card: Card) -> list[Claim]:
    """What a card claims of data sets that it names, in its order."""
    claims = []
    for result in card.results:
        amount = stored.finite(result.value)
        if result.names and result.metric and amount is not None:
            unit = metrics.unit_of(result.unit)
            value, _ = metrics.scaled(result.metric, Decimal(str(amount)), unit)
            metric = metric_name(result.metric)
            claims.append(
                Claim(
                    result.names,
                    result.dataset.split,
                    metric,
                    float(value),
                    file=result.file,
                    source=result.url,
                )
            )
    return claims[:MOST]


def evaluated_on(card: Card) -> list[Claim]:
    """Data sets that a card says its model was tested or validated on, without a metric."""
    datasets = (*card.tested_on, *card.validated_on)[:MOST]
    return [Claim(dataset.names, dataset.split) for dataset in datasets if dataset.names]
