"""Words for people where rows hold words for programs: tasks, licences, kinds of files and jobs."""

from __future__ import annotations

import posixpath
from typing import Any

from hub.protocol.derivations import UPGRADE
from hub.protocol.variants import KINDS
from hub.protocol.vocabularies import LICENCE_OF, RUNTIMES
from metadata.graphs.facts import VariantFacts
from registry.models import Variant

_KINDS = {
    ".onnx": "ONNX model",
    ".data": "external weights",
    ".bin": "external weights",
    ".pb": "test data",
    ".npz": "arrays",
    ".npy": "arrays",
    ".json": "JSON",
    ".txt": "text",
    ".md": "text",
    ".py": "Python",
    ".png": "picture",
    ".jpg": "picture",
    ".jpeg": "picture",
    ".svg": "picture",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".csv": "table",
    ".parquet": "table",
    ".zip": "archive",
}

# Readers of splits, see hub.protocol.splits.
READERS = {
    "csv": "CSV table",
    "parquet": "Parquet table",
    "npz": "NumPy archive",
    "images": "ZIP archive of pictures, a folder for each class",
}

JOBS = {
    "describe": "Read model facts",
    "check": "Check",
    "upgrade": "Upgrade opset",
    "convert": "Convert precision",
    "annotate": "Add metadata",
    "skeleton": "Prepare graph",
    "difference": "Compare graphs",
    "run": "Run once",
    "benchmark": "Benchmark",
    "compare-speed": "Compare latency",
    "recompute": "Recompute outputs",
    "tensors": "Analyse tensors",
    "conformance": "Conformance",
    "evaluation": "Measure accuracy",
    "suite": "Operator suite",
    "package": "Check package",
}


def task(slug: str) -> str:
    """Image classification, for ``image-classification``."""
    return slug.replace("-", " ").replace("_", " ").capitalize()


def licence(name: str) -> str:
    """Apache-2.0, for ``apache-2.0``; each of a list with commas."""
    return ", ".join(LICENCE_OF.get(item.lower(), item) for item in name.split(", "))


def job(kind: str, request: dict[str, Any]) -> str:
    """What a job does, from its kind and its input: Conformance on ONNX Runtime."""
    words = JOBS.get(kind, kind.capitalize())
    if kind == "upgrade":
        return f"{words} to {request['target']}" if request.get("target") else words
    if kind == "difference":
        return f"{words} with version {request.get('against_version', '?')}"
    if kind == "convert":
        return f"Convert to {request.get('recipe', 'another precision')}"
    on = f"{words} on {runtime(str(request['runtime']))}" if request.get("runtime") else words
    if kind == "suite" and isinstance(request.get("part"), int):
        return f"{on}, part {request['part'] + 1} of {request.get('parts', '?')}"
    return on


def target(variant: Variant | VariantFacts) -> str:
    """What a derived variant was made into: an opset, or a precision and the way to it."""
    if variant.origin == UPGRADE.adjective:
        return f"opset {variant.opset}" if variant.opset else "another opset"
    recipe = str(variant.derivation.get("recipe") or variant.precision or "another precision")
    return KINDS[recipe].label if recipe in KINDS else recipe


def runtime(name: str) -> str:
    """ONNX Runtime, for `onnxruntime`."""
    return RUNTIMES.get(name, name)


def kind(path: str) -> str:
    """What a file is, judged by its name alone."""
    if path == "README.md":
        return "card"
    if path.startswith("test_data_set_") or "/test_data_set_" in path:
        return "test data"
    return _KINDS.get(posixpath.splitext(path)[1].lower(), "other")
