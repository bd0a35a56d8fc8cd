"""Calibration data of static quantisation: the version's test data, or an uploaded sample.

A sample is an `.npz` file with one array for each input, whose first axis is the samples; it is
read without pickle. If there is enough test data, some is held out for the comparison.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from runners.engine.onnx_files import datasets
from runners.engine.onnx_files.datasets import DataSet, Value

MAX_SAMPLES = 512
_FOLDER = "calibration"
_KEEP_EVERY = 4


class UnusableSampleError(ValueError):
    """The sample does not fit this model; the message says what is wrong and what is expected."""


def split(sets: Sequence[DataSet]) -> tuple[list[DataSet], list[DataSet]]:
    """Split into data sets for calibration and for comparison; a single set serves both."""
    if len(sets) < 2:
        return list(sets), list(sets)
    judged = [
        dataset for place, dataset in enumerate(sets) if place % _KEEP_EVERY == _KEEP_EVERY - 1
    ]
    judged = judged or [sets[-1]]
    names = {dataset.name for dataset in judged}
    return [dataset for dataset in sets if dataset.name not in names], judged


def read_sample(path: Path, model: onnx.ModelProto) -> list[DataSet]:
    """Read a sample as data sets of one sample each. Raises UnusableSampleError."""
    ports = {port.name: port for port in datasets.required_inputs(model)}
    cure = f"Store one array for each of {', '.join(sorted(ports))}, samples first."
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files"):
                raise UnusableSampleError(
                    f"The sample is a single array, not an .npz archive. {cure}"
                )
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, UnusableSampleError):
            raise
        # The library's message recommends to load pickles.
        why = "it holds pickled objects, or nothing that NumPy wrote"
        cause = why if "pickle" in str(error) else str(error)
        raise UnusableSampleError(
            f"The sample is not a readable .npz file: {cause}. {cure}"
        ) from None
    if set(arrays) != set(ports):
        names = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise UnusableSampleError(f"The sample contains {names}. {cure}")
    counts = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    if len(counts) != 1 or not (count := min(counts)):
        raise UnusableSampleError(
            f"The arrays of the sample have {sorted(counts)} samples; all must have the same "
            "number, at least one."
        )
    rows = {name: _fitted(ports[name], array) for name, array in arrays.items()}
    return [
        datasets.DataSet(
            f"sample-{place}", "owner", {name: array[place] for name, array in rows.items()}
        )
        for place in range(min(count, MAX_SAMPLES))
    ]


def _fitted(port: onnx.ValueInfoProto, array: Any) -> Any:
    """The array with the samples first, each in the shape that the input takes."""
    kind = port.type.tensor_type
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
    if array.dtype != dtype:
        raise UnusableSampleError(
            f"{port.name!r} takes {dtype.name}; the sample holds {array.dtype.name}."
        )
    rank = len(kind.shape.dim)
    if array.ndim == rank and rank:
        # The first axis of the input is the batch: samples of one row each.
        array = array[:, None]
    if kind.HasField("shape") and array.ndim != rank + 1:
        raise UnusableSampleError(
            f"{port.name!r} has {rank} dimensions; the sample needs {rank + 1} (samples first) or "
            f"{rank} (its batch axis runs over the samples), and has {array.ndim}."
        )
    return array


def leave(work: Path, sets: Sequence[DataSet], model: onnx.ModelProto) -> None:
    """Store the calibration data for the child that quantises."""
    folder = work / _FOLDER
    for place, dataset in enumerate(sets):
        named = datasets.DataSet(f"test_data_set_{place}", dataset.origin, dataset.inputs)
        datasets.write(folder, named, model)


def reader(work: Path) -> Any:
    """A reader, as the quantisation tool expects it, of the data that `leave` stored."""
    from onnxruntime.quantization import CalibrationDataReader  # noqa: PLC0415

    model = onnx.load(str(work / "prepared.onnx"), load_external_data=False)
    sets = iter(datasets.read(work / _FOLDER, model))

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        """Returns one data set after the other, then None."""

        def get_next(self) -> dict[str, Value] | None:
            first = next(sets, None)
            return None if first is None else dict(first.inputs)

    return Reader()
