"""Measured accuracy of main variants, for filters of lists of models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from hub.protocol.accuracy import stated
from registry.catalogue import accuracies, documents
from registry.catalogue.accuracies import Accuracy
from registry.models import Variant, Version
from runners.evaluations import selectors


def connect() -> None:
    """Update the figures of lists when an evaluation ends."""
    accuracies.contribute(of_main)
    accuracies.contribute_loss(least_loss)
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


def least_loss(version: Version) -> float | None:
    """The percentage points of accuracy that the best derived variant of a version loses.

    A variant loses the most that it does on any split on which its source was measured as well;
    None where no variant was.
    """
    rows = selectors.rows_of(version).filter(metric="accuracy").select_related("variant")
    values: dict[tuple[int | None, int, str], Decimal] = {
        (row.variant_id, row.dataset_version_id, row.split): Decimal(str(stated(row.value)))
        for row in rows
    }
    losses: defaultdict[int, list[Decimal]] = defaultdict(list)
    for row in rows:
        before = values.get((row.variant.derived_from_id, row.dataset_version_id, row.split))
        if before is not None:
            own = values[row.variant_id, row.dataset_version_id, row.split]
            losses[row.variant_id].append(100 * (before - own))
    return min((float(max(drops)) for drops in losses.values()), default=None)
