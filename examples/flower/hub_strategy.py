"""A Flower federation that begins with a model of a hub and keeps its results there.

    from flwr.serverapp.strategy import FedAvg
    from hub_strategy import HubModel, KeptOnHub

    class Strategy(KeptOnHub, FedAvg):
        pass

    model = HubModel("lab/net")
    strategy = Strategy(min_train_nodes=5)
    strategy.keep_on(model, every=5)
    strategy.start(grid, initial_arrays=model.arrays(), num_rounds=20)

Flower's clients, transport and rules stay as they are: the hub keeps versions, checks them and
knows where each came from.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
from flwr.common import Array, ArrayRecord
from onnx import numpy_helper

import hub

if TYPE_CHECKING:
    from collections.abc import Iterable


class HubModel:
    """The float tensors of a model on a hub, by name, and new versions of it."""

    def __init__(self, ref: str) -> None:
        """Load a version: the newest, or the one that the reference names."""
        self.name = ref.partition("@")[0]
        self._model = hub.load(ref)
        self.base = hub.info(ref)["version"]["number"]
        readme = hub.download(f"{self.name}@{self.base}") / "README.md"
        card = readme.read_text("utf-8") if readme.exists() else ""
        # What the hub says of its own rounds' privacy is not true of what Flower makes of them.
        self._card = re.sub(r"(?ms)^## Differential privacy$.*?(?=^## |\Z)", "", card).rstrip()

    def arrays(self) -> ArrayRecord:
        """Give what the federation trains."""
        return ArrayRecord(
            {
                tensor.name: Array(numpy_helper.to_array(tensor))
                for tensor in self._model.graph.initializer
                if tensor.data_type == onnx.TensorProto.FLOAT and tensor.dims
            }
        )

    def publish(self, arrays: ArrayRecord, message: str) -> dict[str, Any]:
        """Put arrays into the graph, whose structure stays, and publish that as a version."""
        made = onnx.ModelProto.FromString(self._model.SerializeToString())
        for tensor in made.graph.initializer:
            if tensor.name in arrays:
                values = arrays[tensor.name].numpy()
                if values.shape != tuple(tensor.dims):
                    raise ValueError(f"{tensor.name!r} came back with the shape {values.shape}")
                tensor.CopyFrom(numpy_helper.from_array(values.astype("f4"), tensor.name))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(made.SerializeToString())
            card = f"{self._card}\n\nFederated from version {self.base}: {message}.\n"
            return hub.push(self.name, path, card=card, message=message)


class KeptOnHub:
    """Mixed into a strategy: the aggregate of every k-th round becomes a version."""

    _hub_model: HubModel
    _hub_every = 1

    def keep_on(self, model: HubModel, every: int = 1) -> None:
        """Name the model, and how many rounds go into a version."""
        self._hub_model, self._hub_every = model, every

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> tuple[Any, Any]:
        """Aggregate as the strategy does, and keep what came of it."""
        replies = list(replies)
        arrays, metrics = super().aggregate_train(server_round, replies)  # type: ignore[misc]
        if arrays is not None and server_round % self._hub_every == 0:
            rule = type(self).__mro__[2].__name__
            message = f"Round {server_round}, {len(replies)} clients, Flower's {rule}"
            self._hub_model.publish(arrays, message)
        return arrays, metrics
