"""What the server makes of the mean update: a step, and its memory of the rounds before.

Formulas: Hsu et al. (2019) for momentum, Reddi et al. (2021), algorithm 2, for the others, which
has no bias correction. The memory is kept in float32, computed with in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hub.protocol import training_rules
from hub.protocol.training_rules import Rules
from runners.engine.federated.updates import Array

FIRST, SECOND = "first/", "second/"


def slots(rules: Rules) -> tuple[str, ...]:
    """The prefixes of what the rule remembers of each trainable tensor."""
    if rules.rule == training_rules.MOMENTUM:
        return (FIRST,)
    return (FIRST, SECOND) if rules.rule in training_rules.OPTIMISERS else ()


def beginning(rules: Rules, slot: str) -> float:
    """The memory before the first round: tau squared for second moments, else nothing."""
    return rules.parameters["tau"] ** 2 if slot == SECOND else 0.0


def step(rules: Rules, mean: Array, memory: dict[str, Array]) -> Array:
    """Give the step for a run of the mean update; renews the memory in place."""
    if rules.rule == training_rules.MOMENTUM:
        return _momentum(rules.parameters, mean, memory)
    if rules.rule in training_rules.OPTIMISERS:
        return _adaptive(rules.parameters, mean, memory, _SECOND_MOMENTS[rules.rule])
    return mean


def _momentum(parameters: dict[str, float], mean: Array, memory: dict[str, Array]) -> Array:
    first = memory[FIRST]
    first *= parameters["momentum"]
    first += mean
    return np.asarray(parameters["rate"] * first)


def _adaptive(
    parameters: dict[str, float],
    mean: Array,
    memory: dict[str, Array],
    renew: Callable[[dict[str, float], Array, Array], None],
) -> Array:
    first, second = memory[FIRST], memory[SECOND]
    first *= parameters["beta1"]
    first += (1.0 - parameters["beta1"]) * mean
    renew(parameters, second, mean * mean)
    return np.asarray(parameters["rate"] * first / (np.sqrt(second) + parameters["tau"]))


def _adam(parameters: dict[str, float], second: Array, square: Array) -> None:
    second *= parameters["beta2"]
    second += (1.0 - parameters["beta2"]) * square


def _yogi(parameters: dict[str, float], second: Array, square: Array) -> None:
    second -= (1.0 - parameters["beta2"]) * square * np.sign(second - square)


def _adagrad(_: dict[str, float], second: Array, square: Array) -> None:
    second += square


_SECOND_MOMENTS = {
    training_rules.ADAM: _adam,
    training_rules.YOGI: _yogi,
    training_rules.ADAGRAD: _adagrad,
}
