"""Spearman's correlation of ranks: whether two series rise and fall together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import mul

_LEAST = 32


def ranks(values: Sequence[int]) -> list[float]:
    """The rank of each value, equal ones sharing their mean."""
    order = sorted(range(len(values)), key=values.__getitem__)
    places = [0.0] * len(values)
    for _, ties in groupby(enumerate(order), key=lambda place: values[place[1]]):
        positions, indices = zip(*ties, strict=True)
        for index in indices:
            places[index] = (positions[0] + positions[-1]) / 2
    return places


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """The correlation of two lists of ranks, as far as both go, from -1 to 1; 0 below 32."""
    count = min(len(first), len(second))
    if count < _LEAST:
        return 0.0
    left, other = first[:count], second[:count]
    means = math.fsum(left) / count, math.fsum(other) / count
    away = [value - means[0] for value in left], [value - means[1] for value in other]
    products = [sum(map(mul, *pair)) for pair in (away, (away[0], away[0]), (away[1], away[1]))]
    square = math.sqrt(products[1] * products[2])
    return products[0] / square if square else 0.0
