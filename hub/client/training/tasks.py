"""A task of a training, with the tensors that it starts from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.client import download
from hub.client.cache import Cache, RemoteFile, mismatch
from hub.client.transport import Transport
from hub.protocol import digests, federated, problems
from hub.protocol.federated import Part

if TYPE_CHECKING:
    from hub.client.training.tensors import Tensors


@dataclass(frozen=True, slots=True)
class Task:
    """The current task of a device: start from these tensors, upload before the deadline.

    ``tensors`` are free to be changed; ``description`` is the hub's own, ``weights`` the file that
    the tensors were read from.
    """

    round: int
    base: str
    tensors: Tensors
    deadline: str
    hyperparameters: dict[str, Any]
    description: dict[str, Any]
    weights: Path
    parts: tuple[Part, ...]
    transport: Transport

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `model.onnx` and its weights to a folder, for a runtime; give the model's path."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        skeleton = self.description["base"]["skeleton"]
        content = self.transport.request("GET", skeleton["url"], headers={"Accept": "*/*"}).body
        expected, actual = digests.parse(skeleton["digest"]), digests.hash_bytes(content)
        if expected != actual:
            raise mismatch(expected, actual)
        weights = self.weights.read_bytes()
        base, actual = digests.parse(self.base), digests.hash_bytes(weights)
        if base != actual:
            raise problems.CacheUnusable(
                f"The cached file {self.weights} is damaged: its SHA-256 is {actual}, not {base}. "
                "Pull the task again to download it."
            )
        (target / federated.WEIGHTS).write_bytes(weights)
        (target / federated.MODEL).write_bytes(content)
        return target / federated.MODEL


def fetch(
    transport: Transport, cache: Cache, description: dict[str, Any], parts: tuple[Part, ...]
) -> Task:
    """Bring the weights of a task into the cache, verified, and read them."""
    from hub.client.training import tensors as training_tensors  # noqa: PLC0415  (numpy: at first use)

    weights = bring_base(transport, cache, description)
    return Task(
        round=int(description["round"]),
        base=str(description["base"]["digest"]),
        tensors=training_tensors.read(weights),
        deadline=str(description["deadline"]),
        hyperparameters=dict(description.get("hyperparameters") or {}),
        description=description,
        weights=weights,
        parts=parts,
        transport=transport,
    )


def bring_base(transport: Transport, cache: Cache, description: dict[str, Any]) -> Path:
    """Return the weights that a task starts from, in the cache and verified."""
    base = description["base"]
    file = RemoteFile(
        federated.WEIGHTS, int(base["bytes"]), digests.parse(base["digest"]), str(base["url"])
    )
    return download.fetch(transport, cache, file)
