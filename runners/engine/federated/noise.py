"""Gaussian noise from a secret seed: the same for the same seed, unforeseeable without it.

Uniform bits come from SHAKE-256 of the seed and the run's place, normal values by Box and Muller.
"""

from __future__ import annotations

import hashlib

import numpy as np

from runners.engine.federated.updates import Array

_UNIT = 2.0**-53


def normal(seed: bytes, place: str, count: int) -> Array:
    """``count`` independent standard normal values for one position of a round."""
    half = -(-count // 2)
    stream = hashlib.shake_256(seed + place.encode()).digest(16 * half)
    bits = np.frombuffer(stream, "<u8") >> np.uint64(11)
    # The first half never is zero, so that its logarithm is finite.
    radius = np.sqrt(-2.0 * np.log((bits[:half].astype(np.float64) + 1.0) * _UNIT))
    angle = 2.0 * np.pi * bits[half:].astype(np.float64) * _UNIT
    return np.concatenate((radius * np.cos(angle), radius * np.sin(angle)))[:count]
