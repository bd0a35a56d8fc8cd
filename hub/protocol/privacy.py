"""What Gaussian noise promises: epsilon of a training, by Rényi differential privacy.

Every participant may be in every round (no amplification by sampling, since devices come by
themselves), so a round of noise multiplier z costs alpha / (2 z^2) at every order alpha (Mironov,
2017), rounds add up, and the whole becomes epsilon by Balle et al. (2020), theorem 21.
"""

from __future__ import annotations

import math

_MOST_ORDER = 1 << 20


def epsilon(noise_multiplier: float, rounds: int, delta: float) -> float:
    """Give the least epsilon that so many rounds keep for this delta; raises ValueError."""
    if not (noise_multiplier > 0 and rounds >= 0 and 0 < delta < 1):
        raise ValueError("noise and delta must be positive, delta below 1")
    if not rounds:
        return 0.0
    cost = rounds / (2.0 * noise_multiplier**2)
    # The cost at an order has one minimum: thirds of the logarithm close in on it.
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


def usual_delta(participants: int) -> float:
    """The delta that is stated for so many participants: 1 / N^1.1."""
    return math.pow(max(participants, 2), -1.1)
