"""The same training by ONNX Runtime's on-device training, straight from the task's ONNX file.

Its last release is onnxruntime-training 1.19.2. It has the import name of onnxruntime, so it needs
an environment of its own: requirements-ort.txt.
"""

from __future__ import annotations

import os
import sys
import tempfile
import types
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
from with_numpy import BATCH, MOMENTUM, RATE

from hub.protocol import federated

# The package's own __init__ imports parts for PyTorch, and fails without it.
_package = types.ModuleType("onnxruntime.training")
_package.__path__ = [str(Path(onnxruntime.__file__).parent / "training")]
sys.modules.setdefault("onnxruntime.training", _package)

from onnxruntime.training import api, artifacts  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digits import Samples

    from hub.client.training.tasks import Task

# The newest of what it reads; the optimiser's file is written as the installed onnx would.
IR_VERSION = 10


def train(task: Task, samples: Samples, epochs: int, seed: int) -> dict[str, np.ndarray]:
    """Start from a task's file, train, and give the tensors that travel."""
    with tempfile.TemporaryDirectory() as folder:
        state, module, optimiser = _prepare(task, Path(folder))
        rng = np.random.default_rng(seed)
        for _ in range(epochs):
            order = rng.permutation(len(samples))
            for first in range(0, len(order), BATCH):
                places = order[first : first + BATCH]
                module.train()
                module(samples.pixels[places], samples.labels[places].astype(np.int64))
                optimiser.step()
                module.lazy_reset_grad()
        # By name: the order of parameters is not that of the graph.
        return {name: state.parameters[name].data.copy() for name in _trained(task)}


def _trained(task: Task) -> list[str]:
    """Name the tensors that travel: a task has the frozen ones as well."""
    return [part.name for part in federated.exchanged(task.parts)]


@contextmanager
def _silent() -> Iterator[None]:
    """Drop what is written to stderr: each step of the gradient's builder, at any severity."""
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _prepare(task: Task, folder: Path) -> tuple[api.CheckpointState, api.Module, api.Optimizer]:
    model = onnx.load(task.save(folder))
    with _silent():
        artifacts.generate_artifacts(
            model,
            requires_grad=_trained(task),
            loss=artifacts.LossType.CrossEntropyLoss,
            optimizer=artifacts.OptimType.SGD,
            artifact_directory=folder,
        )
    written = onnx.load(folder / "optimizer_model.onnx")
    written.ir_version = IR_VERSION
    onnx.save(written, folder / "optimizer_model.onnx")
    state = api.CheckpointState.load_checkpoint(folder / "checkpoint")
    module = api.Module(folder / "training_model.onnx", state)
    optimiser = api.Optimizer(folder / "optimizer_model.onnx", module)
    # Its descent has no momentum: the length of a step is what momentum would make of it.
    optimiser.set_learning_rate(RATE / (1 - MOMENTUM))
    return state, module, optimiser
