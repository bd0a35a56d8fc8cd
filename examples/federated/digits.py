"""The data: scikit-learn's 1,797 digits, dealt unevenly to five devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

DEVICES = 5
TEST = 360


@dataclass(frozen=True)
class Samples:
    """Pixels in [0, 1], 64 of them, and the digit that they show."""

    pixels: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def load(seed: int = 0) -> tuple[Samples, Samples]:
    """Give what may be trained on, and what everybody is tested on."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    pixels, labels = (pixels[order] / 16).astype(np.float32), labels[order]
    return Samples(pixels[TEST:], labels[TEST:]), Samples(pixels[:TEST], labels[:TEST])


def deal(samples: Samples, alpha: float, seed: int) -> list[Samples]:
    """Deal each digit to the devices by a Dirichlet draw: the smaller alpha, the more uneven."""
    rng = np.random.default_rng(seed)
    places: list[list[int]] = [[] for _ in range(DEVICES)]
    for digit in range(10):
        found = rng.permutation(np.flatnonzero(samples.labels == digit))
        shares = np.cumsum(rng.dirichlet([alpha] * DEVICES))[:-1]
        for device, part in enumerate(np.split(found, (shares * len(found)).astype(int))):
            places[device] += part.tolist()
    return [Samples(samples.pixels[each], samples.labels[each]) for each in places]
