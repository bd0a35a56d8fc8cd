"""Measured accuracy of main variants, for filters of lists of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.protocol.accuracy import stated
from registry.catalogue import accuracies, documents
from registry.catalogue.accuracies import Accuracy
from runners.evaluations import selectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from registry.models import Variant


def connect() -> None:
    """Update the figures of lists when an evaluation ends."""
    accuracies.contribute(of_main)
    documents.follow("accuracy", ("evaluation.",))


def of_main(variant: Variant) -> Iterator[Accuracy]:
    """The figures of a main variant: the same rows as on its page and in its graph."""
    for row in selectors.rows_of(variant.version).filter(variant=variant):
        yield Accuracy(
            metric=row.metric,
            dataset=row.dataset_version.dataset.slug,
            version=row.dataset_version.number,
            split=row.split,
            value=stated(row.value),
            low=stated(row.low),
            high=stated(row.high),
            rows=row.rows,
            interval_method=row.interval_method,
        )
