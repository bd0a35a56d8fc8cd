"""The inputs of a benchmark: made once for a job, read by each of its processes.

Every dimension is bound: the batch as asked, named dimensions as asked, the sides of pictures to
224, and the rest to the first size of a short ladder that the model can run on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runners.engine import runtimes
from runners.engine.benchmark import stored
from runners.engine.onnx_files import datasets, text
from runners.engine.onnx_files.datasets import Value, required_inputs
from runners.engine.runs import child_runs, generate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import onnx


# Sizes of dimensions that nobody named: a usual length of text first.
_LADDER = (128, 16, 1, 576)
_PICTURE_SIDE = 224
_CHANNELS = frozenset({1, 3, 4})


class UnsuitableInputError(Exception):
    """No inputs can be made for this configuration; the message says why."""


def make(model_path: Path, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Write inputs that the runtime can run into `folder`; answers their ports and their source."""
    model = child_runs.load(model_path)
    reason = ""
    for source, values in _candidates(model, model_path.parent, settings):
        reason = _try(model_path, values, settings["runtime"])
        if not reason:
            return {"inputs": stored.write(folder, values), "input_source": source}
    raise UnsuitableInputError(reason or "no inputs can be made for this model")


def _candidates(
    model: onnx.ModelProto, beside: Path, settings: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Value]]]:
    _bind(model, settings["batch"], settings["shapes"])
    words = ""
    for size in _LADDER:
        try:
            values = generate.generate(model, seed=settings["seed"], size=size)
        except generate.CannotGenerateError as error:
            words = text.message(str(error))
            continue
        if not _free(model):
            yield "seeded", values
            break
        yield f"seeded, free dimensions {size}", values
    if settings["batch"] == 1 and not settings["shapes"]:
        for one in datasets.read(beside, model)[:3]:
            if all(port.name in one.inputs for port in required_inputs(model)):
                yield f"bundled {child_runs.shown(one.name)}", one.inputs
    if words:
        raise UnsuitableInputError(words)


def _bind(model: onnx.ModelProto, batch: int, shapes: dict[str, int]) -> None:
    """Give the free dimensions of the graph's inputs the sizes that are known."""
    ports = [port.type.tensor_type.shape.dim for port in required_inputs(model)]
    named = {dim.dim_param for dims in ports for dim in dims if dim.dim_param}
    strange = sorted(shapes.keys() - named)
    if strange:
        raise UnsuitableInputError(f"the model has no dynamic dimension named {strange[0]!r}")
    sizes = {
        dims[0].dim_param: batch for dims in ports if len(dims) > 1 and dims[0].dim_param
    } | shapes
    for dims in ports:
        for place, dim in enumerate(dims):
            if not dim.HasField("dim_value") or dim.dim_value < 0:
                size = sizes.get(dim.dim_param) or _usual(dims, place, batch)
                if size:
                    dim.dim_value = size
    if batch != 1 and not any(len(dims) > 1 and dims[0].dim_value == batch for dims in ports):
        raise UnsuitableInputError(
            f"no input takes a batch of {batch}: the first dimensions of this model are fixed"
        )


def _usual(dims: Any, place: int, batch: int) -> int:
    if place == 0 and len(dims) > 1:
        return batch
    if len(dims) == 4:
        first, last = dims[1].dim_value in _CHANNELS, dims[3].dim_value in _CHANNELS
        if (first and place > 1) or (last and not first and place in {1, 2}):
            return _PICTURE_SIDE
    return 0


def _free(model: onnx.ModelProto) -> bool:
    return any(
        not dim.HasField("dim_value") or dim.dim_value < 0
        for port in required_inputs(model)
        for dim in port.type.tensor_type.shape.dim
    )


def _try(model: Path, values: dict[str, Value], runtime: str) -> str:
    """Why a runtime cannot run these inputs; empty where it can. Raises what loading raises."""
    strange = [name for name, value in values.items() if not isinstance(value, np.ndarray)]
    if strange:
        return (
            f"the input {text.clip(strange[0], 100)!r} is not a tensor; only tensors are supported"
        )
    result = runtimes.attempt(runtimes.of(runtime).open(model), values)
    if isinstance(result, Exception):
        return text.message(f"{type(result).__name__}: {result}", str(model.parent))
    return ""
