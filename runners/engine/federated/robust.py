"""Rules that bear attackers: two choose weights from the Gram matrix, two go value by value.

Sample counts take no part in them: whoever lies about his own would win.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from runners.engine.federated.updates import Array

_SMALLEST = 1e-12


def multi_krum(products: Array, attackers: float) -> Array:
    """Choose the updates that lie closest to their neighbours (Blanchard et al., 2017).

    Each is scored by the squared distances to its K - f - 2 nearest; the K - f best are kept.
    Answers 1 for those and 0 for the others; f is made smaller until K >= 2f + 3 holds.
    """
    count = len(products)
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
    """Weights of the point with the least sum of distances (Weiszfeld; Pillutla et al., 2022).

    The point is a mean of the updates, so all distances follow from the Gram matrix.
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
    """Give a merging network (Batcher) that puts the values of ranks [low, high) in place.

    Each comparator is (a, b, whether the smaller is wanted, whether the larger is); those that no
    wanted rank depends on are left out.
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
    """Batcher's odd-even merge sort for any number of values."""
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
    """Sort the columns of a matrix in place as far as needed; give its rows of these ranks."""
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
