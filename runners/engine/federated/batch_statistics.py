"""Running means and variances of batch normalisations: bounded value by value, whatever the rule.

A device that lies about a few small variances breaks a model and hardly changes the norm of its
update, so each value is held to the round's median of it. A variance stays within a factor of the
median, so never below zero; a mean within a multiple of the median distance from the median. What
is bounded so then goes through the rule of the training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hub.protocol import federated
from hub.protocol.federated import Part
from runners.engine.federated import updates
from runners.engine.federated.updates import Array, Dense, Update, Weights

# A variance may be this many times the median, or that share of it; a mean so many median
# distances away from it. With 4, reversed statistics still pull the mean of uneven devices too
# far; with 2, honest devices lose nothing (benchmarks/federated_attacks.py).
FACTOR = 2.0
# How many values all devices together may take in a matrix of runs.
_MATRIX_VALUES = 1 << 20


def runs(
    part: Part, changes: Sequence[Update], base: Weights
) -> Iterator[tuple[int, int, Array, Array]]:
    """Give runs of a statistic: first, end, each device's bounded values, and their distances.

    Both matrices have a row for each device. Distances from the median are in units that all
    statistics share: a share of what the bounds allow, from -1 to 1.
    """
    start = Dense(base.values(part.name))
    width = max(1, min(part.elements, _MATRIX_VALUES // max(len(changes), 1)))
    before = np.empty(width)
    for first, end, rows in updates.rows(part, changes, width):
        values = np.add(rows, start.run(first, end, before), out=rows)
        yield first, end, *bound(values, is_variance=part.least is not None)


def bound(rows: Array, *, is_variance: bool) -> tuple[Array, Array]:
    """Bring each column's values within the bounds around its median; gives their distances too.

    Changes ``rows`` in place.
    """
    middle = np.median(rows, axis=0)
    if is_variance:
        middle = np.maximum(middle, 0.0)
        np.clip(rows, middle / FACTOR, middle * FACTOR, out=rows)
        ratio = np.divide(rows, middle, out=np.ones_like(rows), where=middle > 0)
        return rows, np.log(ratio) / np.log(FACTOR)
    reach = FACTOR * np.median(np.abs(rows - middle), axis=0)
    np.clip(rows, middle - reach, middle + reach, out=rows)
    distances = np.divide(rows - middle, reach, out=np.zeros_like(rows), where=reach > 0)
    return rows, distances


def gram(parts: Sequence[Part], changes: Sequence[Update], base: Weights) -> Array:
    """Give the inner products of all devices' distances from the medians, over all statistics."""
    products = np.zeros((len(changes), len(changes)))
    for part in parts:
        if part.role == federated.STATISTIC:
            for _, _, _, distances in runs(part, changes, base):
                products += distances @ distances.T
    return products
