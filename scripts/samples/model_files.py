"""Writes the files of one sample: model, test data, labels, training.json.

A model leaves here without anything of the machine it was made on (stack traces, paths, export
notes) and with its author, licence and a one-line description inside. Everything written is a
pure function of the trained model, so equal training gives equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AUTHOR = "ONNX Model Hub"
LICENSE = "Apache-2.0"
MODEL = "model.onnx"
RECORD = "training.json"
# float32 against float64 or another kernel's float32; quantised graphs are compared by direction.
FLOAT_TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}
QUANTISED_TOLERANCE = {"cosine": 0.99, "top1": "equal"}


@contextmanager
def stopwatch(record: dict[str, object], *, threads: int | str = 1) -> Iterator[None]:
    """Add the block's wall and CPU seconds (all threads of this process) to `record`."""
    wall, cpu = perf_counter(), process_time()
    yield
    record["wall_seconds"] = round(perf_counter() - wall, 3)
    record["cpu_seconds"] = round(process_time() - cpu, 3)
    record["threads"] = threads


def clean(model: onnx.ModelProto, *, name: str, description: str) -> None:
    """Drop what the exporter noted about its own machine and code; say who made the model."""
    graph = model.graph
    for node in graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    for thing in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        thing.doc_string = ""
        del thing.metadata_props[:]
    del graph.metadata_props[:]
    del graph.value_info[:]
    graph.name = name.replace("-", "_")
    graph.doc_string = ""
    model.doc_string = description
    model.domain = ""
    model.model_version = 1
    set_properties(model, {"model_author": AUTHOR, "model_license": LICENSE})


def set_properties(model: onnx.ModelProto, properties: dict[str, str]) -> None:
    """Set entries of the model's metadata_props, leaving the others."""
    merged = {entry.key: entry.value for entry in model.metadata_props} | properties
    onnx.helper.set_model_props(model, merged)


def name_batch(model: onnx.ModelProto) -> None:
    """Give the free first axis of every tensor input and output the name `batch`."""
    for value in (*model.graph.input, *model.graph.output):
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.dim[0].dim_param = "batch"


def settle_opsets(model: onnx.ModelProto, opsets_of: dict[str, int]) -> None:
    """Import exactly `wanted` (domain to version); refuse where an operator would change meaning.

    skl2onnx imports the lowest versions that suffice and may name a domain twice.
    """
    now = {entry.domain: entry.version for entry in model.opset_import}
    for node in model.graph.node:
        before, after = (
            onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain).since_version
            for opsets in (now, opsets_of)
        )
        if before != after:
            raise ValueError(f"{node.op_type} changed between opset {before} and {after}")
    del model.opset_import[:]
    model.opset_import.extend(
        onnx.helper.make_opsetid(domain, version) for domain, version in opsets_of.items()
    )


def save_model(model: onnx.ModelProto, folder: Path) -> dict[str, object]:
    """Check the model strictly, write it, and return its facts for training.json."""
    onnx.checker.check_model(model, full_check=True)
    folder.mkdir(parents=True, exist_ok=True)
    data = model.SerializeToString(deterministic=True)
    (folder / MODEL).write_bytes(data)
    weights: dict[str, int] = {}
    for tensor in model.graph.initializer:
        kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
        weights[kind] = weights.get(kind, 0) + numpy_helper.to_array(tensor).nbytes
    return {
        "opset": {entry.domain or "ai.onnx": entry.version for entry in model.opset_import},
        "ir_version": model.ir_version,
        "producer": f"{model.producer_name} {model.producer_version}".strip(),
        "nodes": len(model.graph.node),
        "operators": sorted({node.op_type for node in model.graph.node}),
        "initializer_bytes": weights,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def save_test_data(
    folder: Path,
    number: int,
    inputs: Sequence[tuple[str, object]],
    outputs: Sequence[tuple[str, object]],
) -> None:
    """Write `test_data_set_<number>` in the layout of the ONNX backend tests.

    A list (ZipMap's sequence of maps) becomes a SequenceProto, everything else a TensorProto.
    """
    target = folder / f"test_data_set_{number}"
    target.mkdir(parents=True, exist_ok=True)
    for kind, values in (("input", inputs), ("output", outputs)):
        for index, (name, value) in enumerate(values):
            if isinstance(value, list):
                proto = numpy_helper.from_list(value, name=name)
            else:
                proto = numpy_helper.from_array(np.ascontiguousarray(value), name=name)
            data = proto.SerializeToString(deterministic=True)
            (target / f"{kind}_{index}.pb").write_bytes(data)


def save_lines(path: Path, lines: Sequence[str]) -> None:
    """Write one entry per line."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def hardware() -> str:
    """Return the class of machine, never its name: architecture and vector instructions."""
    flags: set[str] = set()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("flags"):
                flags = set(line.split())
                break
    labels = {
        "avx2": "AVX2",
        "avx512f": "AVX-512",
        "avx512_vnni": "AVX-512 VNNI",
        "amx_tile": "AMX",
    }
    features = [label for flag, label in labels.items() if flag in flags]
    flags_text = ", ".join(features) or "no vector facts"
    return f"{platform.machine()} CPU ({flags_text}), no accelerator used"


def save_record(folder: Path, record: dict[str, object], packages: Sequence[str]) -> None:
    """Write training.json: `record` plus versions, hardware class and every file's digest."""
    files = {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {RECORD, "README.md"}
    }
    versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
    whole = {
        "sample": folder.name,
        "script": "scripts/samples/train.py",
        **record,
        "packages": versions,
        "hardware": hardware(),
        "files": files,
    }
    text = json.dumps(whole, indent=2, ensure_ascii=False)
    # a row of numbers reads best on one line
    text = re.sub(r"\[([^\[\]{}]*)\]", lambda row: f"[{' '.join(row[1].split())}]", text)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")
