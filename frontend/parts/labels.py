"""Words for people where rows hold words for programs: tasks, licences, kinds of files and jobs."""

from __future__ import annotations

import posixpath
from typing import Any

LICENCES = (
    "Apache-2.0",
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MPL-2.0",
    "GPL-2.0-only",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "LGPL-3.0-only",
    "AGPL-3.0-only",
    "Unlicense",
    "CC0-1.0",
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC-BY-NC-4.0",
    "CC-BY-NC-SA-4.0",
    "CC-BY-ND-4.0",
    "OFL-1.1",
    "EPL-2.0",
    "Zlib",
)
TASKS = (
    "audio-classification",
    "automatic-speech-recognition",
    "depth-estimation",
    "feature-extraction",
    "fill-mask",
    "graph-ml",
    "image-classification",
    "image-segmentation",
    "image-to-image",
    "keypoint-detection",
    "mask-generation",
    "object-detection",
    "question-answering",
    "reinforcement-learning",
    "sentence-similarity",
    "summarization",
    "tabular-classification",
    "tabular-regression",
    "text-classification",
    "text-generation",
    "text-to-image",
    "text-to-speech",
    "time-series-forecasting",
    "token-classification",
    "translation",
    "zero-shot-classification",
)
# Lists hold licence ids in lower case; people write them as SPDX does.
_LICENCES = {name.lower(): name for name in LICENCES}
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
    ".zip": "archive",
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
    "tensors": "Analyse tensors",
    "conformance": "Conformance",
    "suite": "Operator suite",
}
# Whether data are about people -> words.
PERSONAL = {
    "unknown": "unknown",
    "yes": "yes, personal data",
    "anonymised": "anonymised",
    "no": "no personal data",
}
RUNTIMES = {
    "onnxruntime": "ONNX Runtime",
    "onnxruntime-web": "ONNX Runtime Web",
    "onnx-reference": "ONNX reference",
    "openvino": "OpenVINO",
}
RECIPES = {
    "fp16": "fp16, half precision",
    "int8": "int8, dynamic",
    "int8-qdq": "int8-qdq, static, calibrated",
}


def task(slug: str) -> str:
    """Image classification, for ``image-classification``."""
    return slug.replace("-", " ").replace("_", " ").capitalize()


def licence(name: str) -> str:
    """Apache-2.0, for ``apache-2.0``."""
    return _LICENCES.get(name.lower(), name)


def job(kind: str, given: dict[str, Any]) -> str:
    """What a job does, from its kind and its input: Conformance on ONNX Runtime."""
    said = JOBS.get(kind, kind.capitalize())
    if kind == "upgrade":
        return f"{said} to {given['target']}" if given.get("target") else said
    if kind == "difference":
        return f"{said} with version {given.get('against_version', '?')}"
    if kind == "convert":
        return f"Convert to {given.get('recipe', 'another precision')}"
    on = f"{said} on {runtime(str(given['runtime']))}" if given.get("runtime") else said
    if kind == "suite" and isinstance(given.get("part"), int):
        return f"{on}, part {given['part'] + 1} of {given.get('parts', '?')}"
    return on


def runtime(name: str) -> str:
    """ONNX Runtime, for ``onnxruntime``."""
    return RUNTIMES.get(name, name)


def kind(path: str) -> str:
    """What a file is, judged by its name alone."""
    if path == "README.md":
        return "card"
    if path.startswith("test_data_set_") or "/test_data_set_" in path:
        return "test data"
    return _KINDS.get(posixpath.splitext(path)[1].lower(), "other")
