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
        skeleton = self.description["base"]["skeleton"]
        return _save(self.transport, skeleton, self.weights, self.base, Path(folder))


@dataclass(frozen=True, slots=True)
class Model:
    """One of two models that a device compares: its tensors, and the file that they are read from.

    ``digest`` is that of the file, ``sha256:<64 hex>``.
    """

    tensors: Tensors
    digest: str
    weights: Path
    skeleton: dict[str, str]
    transport: Transport

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write `model.onnx` and its weights to a folder, for a runtime; give the model's path."""
        return _save(self.transport, self.skeleton, self.weights, self.digest, Path(folder))


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """The task to count right answers of two models on the same examples of this device.

    No more than ``examples_cap`` examples count. ``description`` is the hub's own.
    """

    round: int
    base: Model
    candidate: Model
    deadline: str
    examples_cap: int
    hyperparameters: dict[str, Any]
    description: dict[str, Any]


def _save(
    transport: Transport, skeleton: dict[str, str], weights: Path, digest: str, target: Path
) -> Path:
    target.mkdir(parents=True, exist_ok=True)
    content = transport.request("GET", skeleton["url"], headers={"Accept": "*/*"}).body
    expected, actual = digests.parse(skeleton["digest"]), digests.hash_bytes(content)
    if expected != actual:
        raise mismatch(expected, actual)
    values = weights.read_bytes()
    expected, actual = digests.parse(digest), digests.hash_bytes(values)
    if expected != actual:
        raise problems.CacheUnusable(
            f"The cached file {weights} is damaged: its SHA-256 is {actual}, not {expected}. "
            "Pull the task again to download it."
        )
    (target / federated.WEIGHTS).write_bytes(values)
    (target / federated.MODEL).write_bytes(content)
    return target / federated.MODEL


def fetch(
    transport: Transport, cache: Cache, description: dict[str, Any], parts: tuple[Part, ...]
) -> Task:
    """Bring the weights of a task into the cache, verified, and read them."""
    from hub.client.training import tensors as training_tensors  # noqa: PLC0415  (numpy: at first use)

    weights = bring(transport, cache, description["base"])
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


def fetch_evaluation(
    transport: Transport, cache: Cache, description: dict[str, Any]
) -> EvaluationTask:
    """Bring the weights of both models into the cache, verified, and read them."""
    from hub.client.training import tensors as training_tensors  # noqa: PLC0415  (numpy: at first use)

    def model(name: str) -> Model:
        weights = bring(transport, cache, description[name])
        return Model(
            tensors=training_tensors.read(weights),
            digest=str(description[name]["digest"]),
            weights=weights,
            skeleton=description["skeleton"],
            transport=transport,
        )

    return EvaluationTask(
        round=int(description["round"]),
        base=model("base"),
        candidate=model("candidate"),
        deadline=str(description["deadline"]),
        examples_cap=int(description["examples_cap"]),
        hyperparameters=dict(description.get("hyperparameters") or {}),
        description=description,
    )


def bring(transport: Transport, cache: Cache, weights: dict[str, Any]) -> Path:
    """Return the weights that a task describes, in the cache and verified."""
    file = RemoteFile(
        federated.WEIGHTS,
        int(weights["bytes"]),
        digests.parse(weights["digest"]),
        str(weights["url"]),
    )
    return download.fetch(transport, cache, file)
