"""What Gaussian noise promises: the cost of rounds by Rényi differential privacy, and its epsilon.

Neighbouring sets of data differ in one participant, all of whose contributions are added or
removed. Every participant may be in every round (a sampling rate of 1, since devices come by
themselves), so a round of noise multiplier z costs alpha / (2 z^2) at every order alpha (Mironov,
2017). Costs add up over the rounds of all trainings that a version came of, and the sum becomes
epsilon once, at one delta, by Balle et al. (2020), theorem 21.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

DEFAULT_DELTA = 1e-5
# Above this the hub states nothing: delta bounds the share of participants that may be laid open.
MOST_DELTA = 1e-3
LEAST_DELTA = 1e-15
SAMPLING_RATE = 1.0
# How much further apart the sums of two rounds can lie when one participant replaces another,
# in place of being added or removed: that of one update is C, that of their difference 2 C.
_REPLACED = 2.0
_MOST_ORDER = 1 << 20


@dataclass(frozen=True, slots=True)
class Term:
    """The accounting terms of some rounds: how many, and how much noise each of them added.

    ``noise_multiplier`` is the standard deviation of the noise in units of the clipping norm.
    """

    rounds: int
    noise_multiplier: float

    def to_json(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "noise_multiplier": self.noise_multiplier,
            "sampling_rate": SAMPLING_RATE,
        }

    @property
    def cost(self) -> float:
        """The Rényi divergence at order alpha, divided by alpha."""
        return self.rounds / (2.0 * self.noise_multiplier**2)


def epsilon(terms: Iterable[Term], delta: float, *, replace_one: bool = False) -> float:
    """Give the least epsilon that all these rounds together keep for this delta.

    ``replace_one`` is for neighbours of which one participant's data are another's; otherwise one
    participant is added or removed. Raises ValueError.
    """
    rows = [row for row in terms if row.rounds]
    if not 0 < delta < 1 or any(row.rounds < 0 or not row.noise_multiplier > 0 for row in rows):
        raise ValueError("noise and delta must be positive, delta below 1")
    if not rows:
        return 0.0
    cost = math.fsum(row.cost for row in rows) * (_REPLACED**2 if replace_one else 1.0)
    # The bound of an order has one minimum: thirds of the logarithm close in on it.
    low, high = math.log(1e-6), math.log(_MOST_ORDER)
    for _ in range(200):
        third = (high - low) / 3.0
        if _at(cost, delta, low + third) <= _at(cost, delta, high - third):
            high -= third
        else:
            low += third
    return max(0.0, _at(cost, delta, low))


def _at(cost: float, delta: float, place: float) -> float:
    """Epsilon by one order, which lies exp(place) above 1."""
    above = math.exp(place)
    order = 1.0 + above
    return cost * order + math.log(above / order) - (math.log(delta) + math.log(order)) / above
