"""A training on one machine: the hub's part of it, how data are dealt, and what attackers send.

Contributions are judged and aggregated by the code that a hub runs. Without its deadlines: every
device answers every round, and none is late.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from hub.protocol import federated
from hub.protocol.federated import Part
from hub.protocol.training_rules import Rules
from runners.engine.federated import aggregation, judging
from runners.engine.federated.judging import Contribution
from runners.engine.federated.updates import Update, Weights

Tensors = dict[str, np.ndarray[Any, Any]]
# How many times as long a reversed update is.
_LENGTH = 10.0
_MOST_HISTORY = 5


class Attack(StrEnum):
    """What an attacker sends in place of its update."""

    NONE = "none"
    REVERSED = "reversed"
    RANDOM = "random"
    OPPOSED = "opposed"


@dataclass(frozen=True, slots=True)
class Sent:
    """A contribution: the bytes of its file, and how many examples its sender claims."""

    id: str
    content: bytes
    encoding: str
    examples: int


@dataclass(slots=True)
class Hub:
    """What a hub keeps from round to round: the weights, the running norms, the optimiser.

    ``weights`` are the bytes of a safetensors file. ``seed`` makes the noise; on a hub it is drawn.
    """

    parts: Sequence[Part]
    rules: Rules
    weights: bytes
    seed: str = ""
    history: list[aggregation.Norms] = field(default_factory=list)
    memory: Weights | None = None
    rounds: int = 0

    def aggregate(self, sent: Sequence[Sent]) -> dict[str, str]:
        """Move on by a round; gives the problems of what was rejected, by sender.

        Raises UnfitError where nothing is left to aggregate.
        """
        base, members, problems = Weights(self.weights), [], {}
        for contribution in sent:
            judgement = self._judge(contribution, base)
            if judgement.problem:
                problems[contribution.id] = judgement.problem
                continue
            norms = {
                federated.TRAINABLE: judgement.norm,
                federated.STATISTIC: judgement.statistic_norm,
            }
            update = Update(Weights(contribution.content), contribution.encoding, base)
            members.append(
                aggregation.Member(contribution.id, update, contribution.examples, norms)
            )
        self.rounds += 1
        noise = hashlib.sha256(f"{self.seed}:{self.rounds}".encode()).digest()
        job = aggregation.Round(
            self.parts, self.rules, base, members, self.history, noise, self.memory
        )
        with tempfile.TemporaryDirectory(prefix="hub-simulation-") as folder:
            figures = aggregation.aggregate(job, Path(folder))
            self.weights = (Path(folder) / federated.WEIGHTS).read_bytes()
            optimiser = Path(folder) / aggregation.OPTIMISER
            self.memory = Weights(optimiser.read_bytes()) if optimiser.exists() else None
        self.history = [*self.history, figures["median_norm"]][-_MOST_HISTORY:]
        return problems

    def _judge(self, sent: Sent, base: Weights) -> judging.Judgement:
        contribution = Contribution(
            sent.id,
            path="",
            encoding=sent.encoding,
            sha256=hashlib.sha256(sent.content).hexdigest(),
            norm_limit=self.rules.norm_limit,
        )
        return judging.judge(contribution, sent.content, base, self.parts)


def deal_evenly(count: int, devices: int, draw: np.random.Generator) -> list[list[int]]:
    """The places of ``count`` examples, dealt to devices at random in equal numbers."""
    return [part.tolist() for part in np.array_split(draw.permutation(count), devices)]


def deal_by_label(
    labels: np.ndarray[Any, Any], devices: int, alpha: float, draw: np.random.Generator
) -> list[list[int]]:
    """The places of examples, each label dealt by a Dirichlet draw: a smaller alpha is less even.

    Source: Hsu et al. 2019, Measuring the Effects of Non-Identical Data Distribution.
    """
    places: list[list[int]] = [[] for _ in range(devices)]
    for label in np.unique(labels):
        of_label = draw.permutation(np.flatnonzero(labels == label))
        shares = np.cumsum(draw.dirichlet([alpha] * devices))[:-1]
        for device, part in enumerate(np.split(of_label, (shares * len(of_label)).astype(int))):
            places[device] += part.tolist()
    return places


def attacked(
    attack: Attack, change: Tensors, honest: Tensors, draw: np.random.Generator
) -> Tensors:
    """The change that an attacker sends in place of its own; ``honest`` is the others' mean.

    OPPOSED is half of that mean, reversed (inner-product manipulation, Xie et al. 2020).
    """
    if attack is Attack.REVERSED:
        return {name: values * -_LENGTH for name, values in change.items()}
    if attack is Attack.RANDOM:
        return {
            name: np.asarray(draw.standard_normal(values.shape)) for name, values in change.items()
        }
    if attack is Attack.OPPOSED:
        return {name: honest[name] * -0.5 for name in change}
    return change
