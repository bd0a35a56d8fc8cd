"""Robust aggregation rules, which tolerate false updates of some participants.

Multi-Krum and the geometric median compute weights from the Gram matrix of the updates; the median
and the trimmed mean (Yin et al. 2018) combine each value on its own. Numbers of examples do not
count, since participants could claim any.
"""

from __future__ import annotations

import functools

import numpy as np

from runners.engine.federated.updates import Array

_SMALLEST = 1e-12


def multi_krum(products: Array, attackers: float) -> Array:
    """Select the updates that are closest to their neighbours (Blanchard et al., 2017).

    `products` is the Gram matrix (K, K). The score of an update is the sum of the squared distances
    to its K - f - 2 nearest; the K - f updates of lowest score are selected. Returns weights (K,):
    1 for selected updates, else 0. f is reduced until K >= 2f + 3 holds.
    """
    count = len(products)
    # ||a - b||^2 = a.a + b.b - 2 a.b, so the Gram matrix has all distances.
    wrong = max(0, min(int(attackers * count), (count - 3) // 2))
    squares = np.diag(products)
    distances = np.maximum(squares[:, np.newaxis] + squares - 2 * products, 0.0)
    np.fill_diagonal(distances, np.inf)
    nearest = np.sort(distances, axis=1)[:, : max(count - wrong - 2, 0)]
    scores = np.where(np.isfinite(nearest), nearest, 0.0).sum(axis=1)
    weights = np.zeros(count)
    weights[np.argsort(scores, kind="stable")[: count - wrong]] = 1.0
    return weights


def geometric_median(products: Array, iterations: int) -> Array:
    """Weights (K,) of the point with the least sum of distances (Weiszfeld; Pillutla et al., 2022).

    Weiszfeld's iteration weights each update by the inverse of its distance to the current point.
    The point is a weighted mean of the updates, so all distances follow from the Gram matrix.
    """
    count = len(products)
    weights = np.full(count, 1.0 / count)
    squares = np.diag(products)
    scale = float(np.sqrt(squares.max(initial=0.0))) or 1.0
    for _ in range(iterations):
        towards = products @ weights
        distances = np.sqrt(np.maximum(weights @ towards - 2 * towards + squares, 0.0))
        weights = 1.0 / np.maximum(distances, _SMALLEST * scale)
        weights /= weights.sum()
    return weights


@functools.cache
def comparators(count: int, low: int, high: int) -> tuple[tuple[int, int, bool, bool], ...]:
    """A sorting network (Batcher) that puts the values of ranks [low, high) in place.

    Each comparator is (a, b, whether the smaller value is needed, whether the larger one is).
    Comparators that no needed rank depends on are left out, found from the last to the first.
    """
    ranks_needed = set(range(low, high))
    network = []
    for first, second in reversed(_network(count)):
        needs_less, needs_more = first in ranks_needed, second in ranks_needed
        if needs_less or needs_more:
            network.append((first, second, needs_less, needs_more))
            ranks_needed |= {first, second}
    return tuple(reversed(network))


def _network(count: int) -> list[tuple[int, int]]:
    """Comparators of Batcher's odd-even merge sort (1968) for any number of values."""
    pairs = []
    width = 1
    while width < count:
        step = width
        while step >= 1:
            for start in range(step % width, count - step, 2 * step):
                pairs += [
                    (place, place + step)
                    for place in range(start, min(start + step, count - step))
                    if place // (2 * width) == (place + step) // (2 * width)
                ]
            step //= 2
        width *= 2
    return pairs


def ranks(rows: Array, low: int, high: int) -> list[Array]:
    """Sort the columns of a matrix in place as far as needed; returns its rows of these ranks.

    A comparator works on whole rows, so all columns are sorted at once.
    """
    wires = list(rows)
    spare = np.empty(rows.shape[1])
    for first, second, needs_less, needs_more in comparators(len(wires), low, high):
        left, other = wires[first], wires[second]
        if needs_less and needs_more:
            np.minimum(left, other, out=spare)
            np.maximum(left, other, out=other)
            wires[first], spare = spare, left
        elif needs_less:
            np.minimum(left, other, out=left)
        else:
            np.maximum(left, other, out=other)
    return wires[low:high]


def median(rows: Array) -> Array:
    """The median of each column."""
    count = len(rows)
    low, high = (count - 1) // 2, count // 2 + 1
    middle = ranks(rows, low, high)
    return middle[0] if len(middle) == 1 else (middle[0] + middle[1]) / 2


def trimmed_mean(rows: Array, trim: float) -> Array:
    """The mean of each column without this share of its smallest and of its largest values."""
    count = len(rows)
    away = min(int(trim * count), (count - 1) // 2)
    middle = ranks(rows, away, count - away)
    total = middle[0].copy()
    for row in middle[1:]:
        total += row
    return np.asarray(total / len(middle))
