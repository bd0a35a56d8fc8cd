"""The two kernels that every rule is made of: a weighted sum of updates, and their Gram matrix.

Both go run by run over all updates at once, in float64, always in the same order: so the result
depends neither on the order of arrival nor on how the work was cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hub.protocol import federated
from hub.protocol.federated import Part
from runners.engine.federated import updates
from runners.engine.federated.updates import Array, Dense, Sparse, Update, Weights, part_of

# How many values all updates together may take in a matrix of runs.
_MATRIX_VALUES = 1 << 20


@dataclass(frozen=True, slots=True)
class Term:
    """One update in a sum, with its factor: the capped sample count, shortened by clipping."""

    update: Update
    factor: float


@dataclass(frozen=True, slots=True)
class Sum:
    """The weighted mean of what devices changed of one part, to be had in runs.

    Weights that travelled whole are summed as they are, and their base is subtracted once.
    """

    terms: Sequence[tuple[Dense | Sparse, float]]
    bases: Sequence[tuple[Dense, float]]
    whole: float

    def run(self, first: int, end: int, total: Array, spare: Array) -> Array:
        out = total[: end - first]
        out[:] = 0.0
        for values, factor in self.terms:
            values.add(first, end, factor, out, spare)
        for base, factor in self.bases:
            base.add(first, end, -factor, out, spare)
        out /= self.whole
        return out


def mean_of(part: Part, terms: Sequence[Term], whole: float) -> Sum:
    """Give Σ factor·difference / whole of a part, over the terms in their order."""
    bases: dict[int, tuple[Weights, float]] = {}
    for term in terms:
        if term.update.is_full:
            key = id(term.update.base)
            before = bases.get(key, (term.update.base, 0.0))[1]
            bases[key] = (term.update.base, before + term.factor)
    return Sum(
        [
            (part_of(term.update.weights, part, term.update.encoding), term.factor)
            for term in terms
            if term.factor
        ],
        [(Dense(base.values(part.name)), factor) for base, factor in bases.values()],
        whole,
    )


def matrices(
    part: Part, changes: Sequence[Update], factors: Array
) -> Iterator[tuple[int, int, Array]]:
    """Give runs of a part as matrices, one row for each update, times its factor."""
    width = min(updates.RUN, max(federated.BLOCK, _MATRIX_VALUES // max(len(changes), 1)))
    width -= width % federated.BLOCK
    for first, end, rows in updates.rows(part, changes, width):
        yield first, end, np.multiply(rows, factors[:, np.newaxis], out=rows)


def gram(parts: Sequence[Part], changes: Sequence[Update], factors: Array) -> Array:
    """Give the inner products of all updates with one another, over the trainable parts."""
    products = np.zeros((len(changes), len(changes)))
    for part in parts:
        if part.role == federated.TRAINABLE:
            for _, _, rows in matrices(part, changes, factors):
                products += rows @ rows.T
    return products
