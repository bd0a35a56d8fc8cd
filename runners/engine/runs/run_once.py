"""Task "run": one inference on the inputs of a user.

Inputs are `.npy` files, JSON, or pictures with their preprocessing, each under its own path;
nothing is unpickled. Outputs are `.npy` files, and the report contains their first values. An
output with the shape of a picture is drawn as a `.png`, too, if the model takes pictures.
"""

from __future__ import annotations

import functools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from hub.protocol import inputs
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job, JobError, mapping_of
from runners.engine.onnx_files import datasets, text
from runners.engine.reports import Finding, Report
from runners.engine.runs import child_runs, pictures

if TYPE_CHECKING:
    import onnx


Array = np.ndarray[Any, Any]


# Maximum number of values of one output in the report, and of all outputs.
MOST_VALUES = 1000
_MOST_TOGETHER = 20_000
_MOST_OUTPUTS = 64
_FILE_BYTES = 64 << 20
_WALL_SECONDS, _CPU_SECONDS = 120.0, 60
_BUSY_SECONDS = 8.0
_TENSOR = "tensor_type"


class UnfitInputError(ValueError):
    """The value does not fit its input; the message names the input."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A value for one input: its file, and the preprocessing of a picture."""

    name: str
    path: str
    format: str
    image: inputs.Image | None
    polarity: inputs.Polarity | None


def run(job: Job) -> Report:
    """Run the model once; outputs are files named `output_k.npy`, listed in the facts."""
    options = job.request.options
    files = _inputs(job)
    runtime = str(options.get("runtime", ONNXRUNTIME))
    folder = job.lay_out([job.request.entry, *job.scan(), *(file.path for file in files)])
    job.tell(30, "run")
    draw = options.get("draw") is True
    most, seconds = options.get("file_bytes", _FILE_BYTES), options.get("seconds", _CPU_SECONDS)
    task = functools.partial(
        infer, runtime, job.model, folder, files, job.out, draw=draw, most_bytes=most
    )
    # Time by the clock is for a busy machine: the processor time is what counts.
    wall = _WALL_SECONDS * seconds / _CPU_SECONDS + _BUSY_SECONDS
    ending = job.stage("run", task, wall_seconds=wall, cpu_seconds=seconds, file_bytes=most)
    if ending.kind != EndingKind.ANSWERED:
        words = job.cause(ending).removeprefix("UnfitInputError: ")
        if ending.kind == EndingKind.TIMED_OUT:
            words += f", {seconds} s of processor time"
        finding = Finding("run-failed", "error", f"The model did not run: {words}")
        if ending.kind == EndingKind.RAISED and ending.answer[0] == UnfitInputError.__name__:
            finding = Finding("input-unfit", "error", words)
        return job.report("failed", (finding,))
    facts = mapping_of(ending.answer)
    rows = facts.get("outputs", [])
    names = [row.get("file") for row in rows] + [row.get("drawn", {}).get("file") for row in rows]
    return job.report("passed", (), facts, outputs=filter(None, names))


def _inputs(job: Job) -> list[InputFile]:
    rows = job.request.options.get("inputs")
    if not isinstance(rows, list) or any(
        not isinstance(row, dict) or row.get("path") not in job.request.files for row in rows
    ):
        raise JobError("engine-error", "A run needs the files of its inputs.")
    return [
        InputFile(
            str(row.get("name", "")),
            row["path"],
            str(row.get("format", "")),
            inputs.image_of(row.get("image")),
            next((word for word in inputs.POLARITIES if word == row.get("polarity")), None),
        )
        for row in rows
    ]


def infer(
    runtime: str,
    path: Path,
    folder: Path,
    files: Sequence[InputFile],
    out: Path,
    *,
    draw: bool = False,
    most_bytes: int = _FILE_BYTES,
) -> dict[str, Any]:
    """Load, run, and write the outputs; returns them and the seconds of loading and running.

    With ``draw``, outputs that have a picture's shape are drawn. Raises UnfitInputError, and
    whatever the runtime raises.
    """
    model = child_runs.load(path)
    values = read(model, folder, files)
    began = time.perf_counter()
    execute = runtimes.of(runtime).open(path)
    loaded = time.perf_counter()
    results = execute(values)
    ended = time.perf_counter()
    left = _MOST_TOGETHER
    rows = []
    for index, (port, value) in enumerate(zip(model.graph.output, results, strict=True)):
        row = _output(
            port.name,
            value,
            out / f"output_{index}.npy",
            most=min(left, MOST_VALUES),
            most_bytes=most_bytes,
        )
        left -= len(row.get("values", ()))
        if draw and row.get("file"):
            drawing = pictures.draw(np.asarray(value), out / f"output_{index}.png")
            row |= {"drawn": drawing} if drawing else {}
        rows.append(row)
        if len(rows) == _MOST_OUTPUTS:
            break
    return {
        "runtime": runtime,
        "runtime_version": runtimes.of(runtime).version(),
        "threads": 1,
        "load_seconds": loaded - began,
        "run_seconds": ended - loaded,
        "outputs": rows,
    }


def read(model: onnx.ModelProto, folder: Path, files: Sequence[InputFile]) -> dict[str, Any]:
    """Values of the model's inputs by name. Raises UnfitInputError."""
    ports = {port.name: port for port in model.graph.input}
    values = {}
    for file in files:
        if file.name not in ports:
            names = ", ".join(text.clip(name, 60) for name in list(ports)[:10]) or "none"
            raise UnfitInputError(f"The model has no input {file.name[:60]!r}; it has {names}.")
        values[file.name] = _value(ports[file.name], folder / file.path, file)
    lacking = [port.name for port in datasets.required_inputs(model) if port.name not in values]
    if lacking:
        raise UnfitInputError(f"The input {text.clip(lacking[0], 100)!r} is missing.")
    return values


def _value(port: onnx.ValueInfoProto, path: Path, file: InputFile) -> Any:
    if port.type.WhichOneof("value") != _TENSOR:
        raise UnfitInputError(
            f"The input {port.name[:100]!r} is not a tensor; only tensors are supported."
        )
    try:
        dtype = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        if file.format == "picture":
            value = pictures.tensor(path, _picture(port, file), dtype)
        elif file.format == "npy":
            value = np.load(path, allow_pickle=False)
            if not isinstance(value, np.ndarray):
                raise ValueError("it contains several arrays")  # noqa: TRY301
        else:
            value = np.asarray(json.loads(path.read_bytes()), dtype=dtype)
    except UnfitInputError:
        raise
    except (ValueError, TypeError, KeyError, OSError, EOFError, RecursionError) as error:
        words = text.message(str(error), str(path.parent))
        raise UnfitInputError(f"The value of {port.name[:100]!r} cannot be read: {words}") from None
    return _fitting(port, value, dtype)


def _picture(port: onnx.ValueInfoProto, file: InputFile) -> inputs.Picture:
    """The preprocessing of a picture for this input; raises UnfitInputError for an unknown step."""
    try:
        return inputs.resolve(file.image or inputs.Image(), _sizes(port), file.polarity)
    except inputs.UnknownStepError as error:
        raise UnfitInputError(
            f"The image for {port.name[:100]!r} needs preprocessing; choose "
            f"{', '.join(error.names)}."
        ) from None


def _sizes(port: onnx.ValueInfoProto) -> tuple[int | None, ...] | None:
    tensor = port.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None
        for dim in tensor.shape.dim
    )


def _fitting(port: onnx.ValueInfoProto, value: Array, dtype: Any) -> Array:
    is_text = dtype.kind == "O"
    if is_text and value.dtype.kind in "UO":
        value = value.astype(object)
    elif value.dtype != dtype:
        words = f"is {value.dtype}, but the model takes {'text' if is_text else dtype}"
        raise UnfitInputError(f"The value of {port.name[:100]!r} {words}.")
    dims = _sizes(port)
    if dims is None:
        return value
    fits = len(dims) == value.ndim and all(
        size is None or size == got for size, got in zip(dims, value.shape, strict=True)
    )
    if not fits:
        shape = ", ".join("any" if size is None else str(size) for size in dims)
        raise UnfitInputError(
            f"The value of {port.name[:100]!r} has shape {list(value.shape)}, but the model takes "
            f"[{shape}]."
        )
    return value


def _output(name: str, value: Any, target: Path, *, most: int, most_bytes: int) -> dict[str, Any]:
    """Write an output if it is a numeric array; returns its description with the first values."""
    row: dict[str, Any] = {"name": text.clip(name, text.NAME_LIMIT)}
    if not isinstance(value, np.ndarray | np.generic):
        return row | {"type": type(value).__name__, "values": _plain(value, most)}
    array = np.asarray(value)
    row |= {
        "type": "tensor",
        "dtype": "text" if array.dtype.kind == "O" else array.dtype.name,
        "shape": [int(size) for size in array.shape],
        "elements": int(array.size),
        "values": [_number(value) for value in array.reshape(-1)[:most].tolist()],
    }
    if array.dtype.kind in "OV":
        return row
    if array.nbytes > most_bytes - (1 << 12):
        return row | {"why": "too large to be kept"}
    with target.open("xb") as file:
        np.save(file, array, allow_pickle=False)
    return row | {"file": target.name}


def _plain(value: Any, most: int) -> Any:
    """The first rows of a sequence or map, as JSON."""
    if isinstance(value, dict):
        pairs = list(value.items())[:most]
        return [{"key": _number(key), "value": _number(_scalar(value))} for key, value in pairs]
    if isinstance(value, list | tuple):
        return [_plain(element, most) for element in value[: min(most, 20)]]
    return _number(_scalar(value))


def _scalar(value: Any) -> Any:
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "size", 1) == 1:
        return item()
    flat = getattr(value, "reshape", None)
    return [_number(element) for element in flat(-1)[:20].tolist()] if flat is not None else value


def _number(value: Any) -> Any:
    """A value for JSON: non-finite numbers as text, long text cut."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bool | int) or value is None or isinstance(value, list):
        return value
    return text.clip(str(value), 200)
