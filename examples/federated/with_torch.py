"""The same training in PyTorch, through the client's adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from model import HIDDEN
from with_numpy import BATCH, MOMENTUM, RATE

from hub.client.training import torch as training_torch

if TYPE_CHECKING:
    import numpy as np
    from digits import Samples

    from hub.client.training.tasks import Task

torch.set_num_threads(1)


class Network(torch.nn.Module):
    """The network, its layers named as the tensors of the training are."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(64, HIDDEN)
        self.output = torch.nn.Linear(HIDDEN, 10)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.output(torch.relu(self.hidden(pixels)))


def train(
    task: Task, samples: Samples, epochs: int, seed: int, proximal: float = 0.0
) -> dict[str, np.ndarray]:
    """Start from a task's tensors, train, and give the tensors that travel.

    ``proximal`` is that of `with_numpy.train`.
    """
    torch.manual_seed(seed)
    network = Network()
    training_torch.load(network, task)
    pixels, labels = torch.from_numpy(samples.pixels), torch.from_numpy(samples.labels)
    start = [values.detach().clone() for values in network.parameters()]
    optimiser = torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM)
    for _ in range(epochs):
        order = torch.randperm(len(labels))
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(pixels[places]), labels[places])
            if proximal:
                pairs = zip(network.parameters(), start, strict=True)
                loss = loss + proximal / 2 * sum(((new - old) ** 2).sum() for new, old in pairs)
            loss.backward()
            optimiser.step()
    return training_torch.tensors(network, task)
