"""Training by hand: the network's gradients in numpy, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from digits import Samples

RATE, MOMENTUM, BATCH = 0.05, 0.9, 32


def train(
    start: dict[str, np.ndarray], samples: Samples, epochs: int, seed: int, proximal: float = 0.0
) -> dict[str, np.ndarray]:
    """Give the weights after some epochs of stochastic gradient descent.

    ``proximal`` is the factor mu of FedProx (Li et al. 2020, Federated Optimization in
    Heterogeneous Networks): the loss has mu / 2 times the squared distance from the start.
    """
    rng = np.random.default_rng(seed)
    weights = {name: values.copy() for name, values in start.items()}
    speed = {name: np.zeros_like(values) for name, values in weights.items()}
    for _ in range(epochs):
        order = rng.permutation(len(samples))
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            slope = gradients(weights, samples.pixels[places], samples.labels[places])
            for name, values in weights.items():
                pull = proximal * (values - start[name])
                speed[name] = MOMENTUM * speed[name] + slope[name] + pull
                np.subtract(values, RATE * speed[name], out=values)
    return weights


def gradients(
    weights: dict[str, np.ndarray], pixels: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Give the slope of the mean cross entropy of a batch, by tensor."""
    hidden = pixels @ weights["hidden.weight"].T + weights["hidden.bias"]
    active = np.maximum(hidden, 0)
    logits = active @ weights["output.weight"].T + weights["output.bias"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    back = (error @ weights["output.weight"]) * (hidden > 0)
    return {
        "output.weight": error.T @ active,
        "output.bias": error.sum(axis=0),
        "hidden.weight": back.T @ pixels,
        "hidden.bias": back.sum(axis=0),
    }


def right(weights: dict[str, np.ndarray], samples: Samples) -> int:
    """Give the number of digits that are read right."""
    hidden = samples.pixels @ weights["hidden.weight"].T + weights["hidden.bias"]
    logits = np.maximum(hidden, 0) @ weights["output.weight"].T + weights["output.bias"]
    return int((logits.argmax(axis=1) == samples.labels).sum())


def accuracy(weights: dict[str, np.ndarray], samples: Samples) -> float:
    """Give the share of digits that are read right."""
    return right(weights, samples) / len(samples.labels)
