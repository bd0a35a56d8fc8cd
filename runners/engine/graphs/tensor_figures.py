"""Task "tensors": shape, type and statistics of the tensors in a file, never their values.

A file is a model (its initialisers), a TensorProto or SequenceProto as the ONNX backend tests have
them, or arrays of NumPy, read without pickle. The statistics are the smallest, largest and mean
finite value, the share of zeros, and a histogram with ranges of equal width.
"""

from __future__ import annotations

import functools
import heapq
import json
import math
import mmap
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import staging, tensors, text, walk, wire
from runners.engine.onnx_files.vocabulary import DATA_TYPES
from runners.engine.reports import Finding, Report

Array = np.ndarray[Any, Any]
Tensors = Iterator[tuple[str, Any]]

NAME = "tensors.json"
# Of a file with more tensors, the largest are listed.
MOST_LISTED = 200
# Maximum number of elements of one tensor, and of all of them, that are read.
MOST_ELEMENTS = 1 << 27
MOST_TOGETHER = 1 << 28
BINS = 24
_AT_ONCE = 1 << 20
_FILE_BYTES = 4 << 20
_DIMENSIONS = 64
# A small archive may contain much data: its declared sizes are checked before it is unpacked.
_UNPACKED_BYTES = 1 << 30


class UnreadableTensorError(ValueError):
    """The file is not what its name says, or it is too large."""


def run(job: Job) -> Report:
    """Compute the statistics of the tensors in the job's file; the output is a list as JSON."""
    entry = job.request.entry
    read = READERS.get(PurePosixPath(entry).suffix.lower())
    if read is None:
        raise JobError("engine-error", "Files of this kind contain no tensors.")
    paths = [entry, *(job.scan() if read is _initialisers else ())]
    folder = job.lay_out(paths)
    sizes = staging.sizes({path: job.request.files[path] for path in paths})
    job.tell(30, "tensors")
    task = functools.partial(write, read, folder, entry, sizes, job.out / NAME)
    failure = Finding("tensors-unreadable", "error", "The tensors cannot be read")
    facts = job.answer("tensors", task, failure, file_bytes=_FILE_BYTES)
    return job.report("passed", (), facts, outputs=[NAME])


def write(
    read: Callable[..., tuple[int, Tensors]],
    folder: Path,
    entry: str,
    sizes: dict[str, int],
    target: Path,
) -> dict[str, int]:
    """Write the statistics of each tensor.

    Returns the number of tensors, and of those with some.
    """
    count, tensors = read(folder, entry, sizes)
    rows, left = [], MOST_TOGETHER
    for name, value in tensors:
        row = _row(name, value, left)
        left -= row["elements"] if "zeros" in row else 0
        rows.append(row)
    with target.open("x", encoding="ascii") as file:
        json.dump({"count": count, "tensors": rows}, file, allow_nan=False)
        file.flush()
        os.fsync(file.fileno())
    return {"count": count, "told": len(rows)}


def _row(name: str, value: Any, left: int) -> dict[str, Any]:
    """The row of a tensor: an array, or a dict that says why there are no statistics."""
    row: dict[str, Any] = {"name": text.clip(name, text.NAME_LIMIT)}
    if isinstance(value, dict):
        return row | value
    shape = [int(size) for size in value.shape[:_DIMENSIONS]]
    row |= {"dtype": _type(value), "shape": shape, "elements": int(value.size)}
    if value.size > min(left, MOST_ELEMENTS):
        return row | {"why": "too large to be looked at here"}
    return row | figures(value)


def figures(array: Array) -> dict[str, Any]:
    """Statistics of an array's values; empty for text, and for types without an order."""
    flat = array.ravel(order="K")
    if flat.dtype.kind in "OSUVMm" and not _is_small_float(flat.dtype):
        return {"why": "its values are not numbers"}
    parts = [flat[first : first + _AT_ONCE] for first in range(0, flat.size, _AT_ONCE)]
    with np.errstate(all="ignore"):
        if flat.dtype.kind == "c":
            zeros = sum(int(np.count_nonzero(part == 0)) for part in parts)
            return {"zeros": zeros, "why": "complex numbers have no order"}
        return _ordered([*parts], flat.size)


def _ordered(parts: list[Array], size: int) -> dict[str, Any]:
    zeros = nan = infinite = finite = 0
    total, least, most = 0.0, None, None
    for raw in parts:
        part = raw.astype(np.float32) if _is_small_float(raw.dtype) else raw
        zeros += int(np.count_nonzero(part == 0))
        good = part
        if part.dtype.kind == "f":
            nan += int(np.count_nonzero(np.isnan(part)))
            infinite += int(np.count_nonzero(np.isinf(part)))
            good = part[np.isfinite(part)]
        if not good.size:
            continue
        finite += good.size
        total += float(good.sum(dtype=np.float64))
        low, high = good.min().item(), good.max().item()
        least = low if least is None else min(least, low)
        most = high if most is None else max(most, high)
    counts: dict[str, Any] = {"zeros": zeros, "nan": nan, "infinite": infinite}
    if least is None or most is None:
        return counts | ({"why": "it is empty"} if not size else {})
    mean = total / finite
    return counts | {
        "min": _number(least),
        "max": _number(most),
        "mean": mean if math.isfinite(mean) else None,
        "bins": _bins(parts, float(least), float(most), whole=_is_whole(parts[0].dtype)),
    }


def _bins(parts: list[Array], least: float, most: float, *, whole: bool) -> list[int]:
    """Histogram of the finite values, with ranges of equal width from the smallest to the largest.

    Integers that lie close have a range each; if all are equal there is a single range.
    """
    if not math.isfinite(most - least):
        return []
    count = int(most - least) + 1 if whole and most - least < BINS else BINS
    edges = (least - 0.5, most + 0.5) if whole or least == most else (least, most)
    counts = np.zeros(1 if least == most else count, dtype=np.int64)
    for raw in parts:
        part = raw.astype(np.float64)
        good = part[np.isfinite(part)]
        counts += np.histogram(good, bins=len(counts), range=edges)[0]
    return [int(count) for count in counts]


def _number(value: Any) -> int | float:
    return int(value) if isinstance(value, bool | int) else float(value)


def _is_small_float(kind: Any) -> bool:
    """Whether a type is one of those that NumPy does not have itself, such as bfloat16."""
    return str(kind.type.__module__).startswith("ml_dtypes")


def _is_whole(kind: Any) -> bool:
    return str(kind.kind) in "bui" or str(kind).startswith(("int", "uint"))


def _type(array: Array) -> str:
    """The name of an array's type in ONNX, if it has one."""
    name = str(array.dtype)
    if array.dtype.kind in "OSU":
        return "string"
    return text.clip(name.replace("float8_", "float8").replace("float4_", "float4"), 60)


# --- what a file holds ---------------------------------------------------------------------------


def _initialisers(folder: Path, entry: str, sizes: dict[str, int]) -> tuple[int, Tensors]:
    """The initialisers of a model's main graph, in order; only the largest if there are many."""
    place = folder.joinpath(*entry.split("/"))
    with place.open("rb") as file:
        buffer = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    state = walk.Walk(buffer, entry, sizes)
    rows = []
    for start, end in wire.messages(buffer, 0, len(buffer), 7):
        for number, kind, first, second in wire.fields(buffer, start, end):
            if kind == wire.BYTES and number in (5, 15):
                sparse = number == 15
                read = tensors.read_sparse if sparse else tensors.read_tensor
                rows.append((read(state, first, second), first, second, sparse))
    largest = heapq.nlargest(MOST_LISTED, rows, key=lambda row: row[0].elements)
    ordered = sorted(largest, key=lambda row: row[1])

    def each() -> Tensors:
        for tensor, first, second, sparse in ordered:
            name = text.decode(tensor.name, text.NAME_LIMIT)
            if sparse or tensor.elements > MOST_ELEMENTS:
                yield name, _without_statistics(tensor, sparse=sparse)
            else:
                proto = onnx.TensorProto.FromString(buffer[first:second])
                yield name, numpy_helper.to_array(proto, str(place.parent))

    return len(rows), each()


def _without_statistics(tensor: Any, *, sparse: bool) -> dict[str, Any]:
    why = (
        "sparse: its stored values are not the tensor's" if sparse else "too large to be looked at"
    )
    kind = DATA_TYPES.get(tensor.data_type, ("unknown", 0))[0]
    shape = [] if sparse else list(tensor.dimensions)
    return {"dtype": kind, "shape": shape, "elements": tensor.elements, "why": why}


def _protocol_buffer(folder: Path, entry: str, _sizes: dict[str, int]) -> tuple[int, Tensors]:
    """A TensorProto or SequenceProto; the file does not say which, so its fields decide."""
    raw = folder.joinpath(*entry.split("/")).read_bytes()
    try:
        tensor = onnx.TensorProto.FromString(raw)
    except DecodeError:
        tensor = None
    if tensor is not None and tensor.data_type in DATA_TYPES and not tensor.HasField("segment"):
        tensors = [tensor]
    else:
        try:
            tensors = list(onnx.SequenceProto.FromString(raw).tensor_values)
        except DecodeError:
            tensors = []
    if not tensors or any(row.data_type not in DATA_TYPES for row in tensors):
        raise UnreadableTensorError("it holds neither a tensor nor a sequence of tensors.")
    for row in tensors:
        if row.external_data or row.data_location == row.EXTERNAL:
            raise UnreadableTensorError("it points to data outside the file, which is not allowed.")
    arrays = ((row.name, numpy_helper.to_array(row)) for row in tensors[:MOST_LISTED])
    return len(tensors), arrays


def _numpy_array(folder: Path, entry: str, _sizes: dict[str, int]) -> tuple[int, Tensors]:
    array = np.load(folder.joinpath(*entry.split("/")), mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise UnreadableTensorError("it is an archive, not one array.")
    return 1, iter([(PurePosixPath(entry).stem, array)])


def _numpy_archive(folder: Path, entry: str, _sizes: dict[str, int]) -> tuple[int, Tensors]:
    archive = zipfile.ZipFile(folder.joinpath(*entry.split("/")))
    members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    if not members:
        raise UnreadableTensorError("the archive holds no arrays.")
    if sum(member.file_size for member in members) > _UNPACKED_BYTES:
        raise UnreadableTensorError("the archive expands to more than 1 GiB.")

    def each() -> Tensors:
        for member in members[:MOST_LISTED]:
            with archive.open(member) as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
            yield member.filename.removesuffix(".npy"), array

    return len(members), each()


READERS: dict[str, Callable[[Path, str, dict[str, int]], tuple[int, Tensors]]] = {
    ".onnx": _initialisers,
    ".pb": _protocol_buffer,
    ".npy": _numpy_array,
    ".npz": _numpy_archive,
}
