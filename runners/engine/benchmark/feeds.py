"""The inputs of a benchmark: made once for a job, read by each of its processes.

Every dimension is bound: the batch as asked, named dimensions and whole inputs as asked, the sides
of pictures to 224, others as the card declares them, and the rest to the first size of a short list
that the model can run on. Values are those that the card declares, where it declares any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hub.protocol import inputs as declarations
from hub.protocol.inputs import DeclaredInput
from runners.engine import runtimes
from runners.engine.benchmark import shapes, stored
from runners.engine.benchmark.answers import Port, Prepared
from runners.engine.benchmark.requests import SessionRequest
from runners.engine.onnx_files import datasets, text
from runners.engine.onnx_files.datasets import Value, required_inputs
from runners.engine.runs import child_runs, generate
from runners.engine.runs.input_sizes import picture_sides

if TYPE_CHECKING:
    import onnx


# Sizes of dimensions that nobody named: a usual length of text first.
_SIZES = (128, 16, 1, 576)
_PICTURE_SIDE = 224
_BUNDLED, _MOST_DATASETS = "bundled ", 3
_SEEDED, _AS_DECLARED = "seeded", "declared by the card, "


class UnsuitableInputError(Exception):
    """No inputs can be made for this configuration; the message says why."""


def make(model_path: Path, folder: Path, request: SessionRequest) -> Prepared:
    """Write inputs that the runtime can run into `folder`."""
    model = child_runs.load(model_path)
    reason, fixed = "", _fixed_rows(model)
    free = [port.name for port in required_inputs(model) if _is_free_first(port)]
    sizes = _sizes(model, request)
    stated = {request.input_shapes[name][0] for name in free if name in request.input_shapes}
    firsts = stated | _named_rows(model, sizes)
    bound = replace(request, shapes=sizes, batch=_rows(firsts, request.batch))
    for source, values in _all_candidates(model, model_path, bound):
        reason = _try(model_path, values, request.runtime)
        if not reason:
            ports = [Port(**port) for port in stored.write(folder, values)]
            return Prepared(ports, source, bound.batch, fixed, bool(firsts))
    raise UnsuitableInputError(reason or "no inputs can be made for this model")


def of_record(
    path: Path, ports: Sequence[Mapping[str, Any]], source: str, seed: int, declared: Any
) -> dict[str, Value]:
    """The values that a record was made with, from what it says of its inputs.

    ``declared`` is the key `inputs` of the card. Raises UnsuitableInputError where the model cannot
    have had these inputs.
    """
    model = child_runs.load(path)
    values: dict[str, Value] | None = None
    if source.startswith(_BUNDLED):
        for dataset in datasets.read(path.parent, model)[:_MOST_DATASETS]:
            if source == f"{_BUNDLED}{child_runs.title_of(dataset.name)}":
                values = dataset.inputs
                break
        if values is None:
            raise UnsuitableInputError("the version has no such test data")
    else:
        named = {str(port.get("name")): list(port.get("shape", ())) for port in ports}
        request = SessionRequest(model=str(path), seed=seed, input_shapes=named)
        _bind(model, 1, _sizes(model, request))
        rows = declarations.parse(declared) if source.startswith(_AS_DECLARED) else ()
        try:
            values = generate.generate(model, seed=seed, size=1, declared=rows)
        except generate.CannotGenerateError as error:
            raise UnsuitableInputError(text.message(str(error))) from None
    stated = {str(port.get("name")): list(port.get("shape", ())) for port in ports}
    if stated != {name: list(getattr(value, "shape", ())) for name, value in values.items()}:
        raise UnsuitableInputError("the inputs of the record are not those of the model")
    return values


def _all_candidates(
    model: onnx.ModelProto, path: Path, request: SessionRequest
) -> Iterator[tuple[str, dict[str, Value]]]:
    """The candidates, and for a model that runs on no single row those with more.

    The free first dimension of such a model counts no rows but steps of one sequence.
    """
    may_be_steps = request.batch == 1 and any(map(_is_free_first, required_inputs(model)))
    yield from _candidates(model, path.parent, request)
    for size in _SIZES if may_be_steps else ():
        if size > 1:
            yield from _candidates(child_runs.load(path), path.parent, replace(request, batch=size))


def _candidates(
    model: onnx.ModelProto, beside: Path, request: SessionRequest
) -> Iterator[tuple[str, dict[str, Value]]]:
    declared = declarations.parse(request.declared)
    _bind(model, request.batch, request.shapes, declared)
    source = f"{_AS_DECLARED}{_SEEDED}" if declared else _SEEDED
    words = ""
    for size in _SIZES:
        try:
            values = generate.generate(model, seed=request.seed, size=size, declared=declared)
        except generate.CannotGenerateError as error:
            words = text.message(str(error))
            continue
        if not _free(model):
            yield source, values
            break
        yield f"{source}, free dimensions {size}", values
    if request.batch == 1 and not request.shapes and not request.input_shapes:
        for dataset in datasets.read(beside, model)[:_MOST_DATASETS]:
            if all(port.name in dataset.inputs for port in required_inputs(model)):
                yield f"{_BUNDLED}{child_runs.title_of(dataset.name)}", dataset.inputs
    if words:
        raise UnsuitableInputError(words)


def _sizes(model: onnx.ModelProto, request: SessionRequest) -> dict[str, int]:
    """The sizes of named dimensions as asked; those without a name get theirs in the model.

    Raises UnsuitableInputError for sizes that contradict the model or each other.
    """
    ports = {
        port.name: port.type.tensor_type
        for port in required_inputs(model)
        if port.type.HasField("tensor_type")
    }
    declared = {
        name: [_side(dim) for dim in kind.shape.dim] if kind.HasField("shape") else None
        for name, kind in ports.items()
    }
    try:
        sizes = shapes.sizes_of(declared, request.shapes, request.input_shapes)
    except shapes.UnfitShapeError as error:
        raise UnsuitableInputError(text.message(str(error))) from None
    for name, shape in request.input_shapes.items():
        dims = ports[name].shape.dim
        for place, size in enumerate(shape):
            dim = dims[place] if place < len(dims) else dims.add()
            if not dim.dim_param:
                dim.dim_value = size
    return sizes


def _side(dim: Any) -> int | str | None:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def _rows(firsts: set[int], batch: int) -> int:
    """The rows of one call: the batch that was asked for, or what chosen first sizes make of it."""
    if not firsts:
        return batch
    if len(firsts) > 1 or batch not in {1, *firsts}:
        words = " and ".join(map(str, sorted(firsts)))
        raise UnsuitableInputError(f"the sizes give a batch of {words}, and {batch} was asked for")
    return min(firsts)


def _named_rows(model: onnx.ModelProto, sizes: dict[str, int]) -> set[int]:
    """The chosen sizes of named first dimensions."""
    ports = [port.type.tensor_type.shape.dim for port in required_inputs(model)]
    return {
        sizes[dims[0].dim_param] for dims in ports if len(dims) > 1 and dims[0].dim_param in sizes
    }


def _fixed_rows(model: onnx.ModelProto) -> int:
    """The rows that the model fixes, by the first dimension of its inputs; 0 for a free one."""
    ports = required_inputs(model)
    if any(map(_is_free_first, ports)):
        return 0
    shapes = [port.type.tensor_type.shape.dim for port in ports]
    firsts = {dims[0].dim_value for dims in shapes if len(dims) > 1}
    return firsts.pop() if len(firsts) == 1 else 1


def _is_free_first(port: onnx.ValueInfoProto) -> bool:
    """Whether the first of several dimensions of an input may have any size."""
    dims = port.type.tensor_type.shape.dim
    return len(dims) > 1 and not (dims[0].HasField("dim_value") and dims[0].dim_value > 0)


def _bind(
    model: onnx.ModelProto,
    batch: int,
    dimensions: dict[str, int],
    declared: Sequence[DeclaredInput] = (),
) -> None:
    """Give the free dimensions of the graph's inputs the sizes that are known.

    The first of several is that of the batch, whatever the card declares.
    """
    shapes = {row.name: row.shape or () for row in declared}
    required = [
        (port.type.tensor_type.shape.dim, shapes.get(port.name, ()))
        for port in required_inputs(model)
    ]
    ports = [dims for dims, _ in required]
    pictures = [
        picture_sides(port.name, port.type.tensor_type.shape.dim) for port in required_inputs(model)
    ]
    sizes = {
        dim.dim_param: size
        for dims, shape in required
        for dim, size in zip(dims, shape, strict=False)
        if dim.dim_param and size
    }
    sizes |= {dims[0].dim_param: batch for dims in ports if len(dims) > 1 and dims[0].dim_param}
    sizes |= dimensions
    for (dims, shape), sides in zip(required, pictures, strict=True):
        own = [None, *shape[1:]] if len(dims) > 1 else shape
        for place, dim in enumerate(dims):
            if not dim.HasField("dim_value") or dim.dim_value < 0:
                stated = own[place] if len(shape) == len(dims) else None
                size = sizes.get(dim.dim_param) or stated
                if place == 0 and len(dims) > 1:
                    size = size or batch
                elif place in sides:
                    size = size or _PICTURE_SIDE
                if size:
                    dim.dim_value = size
    if batch != 1 and not any(len(dims) > 1 and dims[0].dim_value == batch for dims in ports):
        raise UnsuitableInputError(
            f"no input takes a batch of {batch}: the first dimensions of this model are fixed"
        )


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
