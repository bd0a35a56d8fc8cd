"""A task of a training, with the tensors that it starts from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.client import download
from hub.client.cache import RemoteFile, mismatch
from hub.protocol import digests, federated, problems

if TYPE_CHECKING:
    import os

    from hub.client.cache import Cache
    from hub.client.training.tensors import Tensors
    from hub.client.transport import Transport
    from hub.protocol.federated import Part


@dataclass(frozen=True, slots=True)
class Task:
    """What a device shall do now: start from these tensors, and hand in before the deadline.

    ``tensors`` are free to be changed; ``told`` is all that the hub said, ``weights`` the file
    that the tensors were read from.
    """

    round: int
    base: str
    tensors: Tensors
    deadline: str
    hyperparameters: dict[str, Any]
    told: dict[str, Any]
    weights: Path
    parts: tuple[Part, ...]
    transport: Transport

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `model.onnx` and its weights to a folder, for a runtime; give the model's path."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        skeleton = self.told["base"]["skeleton"]
        content = self.transport.request("GET", skeleton["url"], headers={"Accept": "*/*"}).body
        expected, found = digests.parse(skeleton["digest"]), digests.hash_bytes(content)
        if expected != found:
            raise mismatch(expected, found)
        weights = self.weights.read_bytes()
        base, found = digests.parse(self.base), digests.hash_bytes(weights)
        if base != found:
            raise problems.CacheUnusable(
                f"The cached file {self.weights} is damaged: its SHA-256 is {found}, not {base}. "
                "Pull the task again to download it."
            )
        (target / federated.WEIGHTS).write_bytes(weights)
        (target / federated.MODEL).write_bytes(content)
        return target / federated.MODEL


def fetch(
    transport: Transport, cache: Cache, told: dict[str, Any], parts: tuple[Part, ...]
) -> Task:
    """Bring the weights of a task into the cache, verified, and read them."""
    from hub.client.training import tensors as training_tensors  # noqa: PLC0415  (numpy: at first use)

    weights = bring_base(transport, cache, told)
    return Task(
        round=int(told["round"]),
        base=str(told["base"]["digest"]),
        tensors=training_tensors.read(weights),
        deadline=str(told["deadline"]),
        hyperparameters=dict(told.get("hyperparameters") or {}),
        told=told,
        weights=weights,
        parts=parts,
        transport=transport,
    )


def bring_base(transport: Transport, cache: Cache, told: dict[str, Any]) -> Path:
    """Return the weights that a task starts from, in the cache and verified."""
    base = told["base"]
    file = RemoteFile(
        federated.WEIGHTS, int(base["bytes"]), digests.parse(base["digest"]), str(base["url"])
    )
    return download.fetch(transport, cache, file)
