"""Words for people where rows hold words for programs: tasks, licences, kinds of files and jobs."""

from __future__ import annotations

import posixpath

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
}

JOBS = {"describe": "Read the facts", "check": "Check"}


def task(slug: str) -> str:
    """Image classification, for ``image-classification``."""
    return slug.replace("-", " ").replace("_", " ").capitalize()


def licence(name: str) -> str:
    """Apache-2.0, for ``apache-2.0``."""
    return _LICENCES.get(name.lower(), name)


def kind(path: str) -> str:
    """What a file is, judged by its name alone."""
    if path == "README.md":
        return "card"
    if path.startswith("test_data_set_") or "/test_data_set_" in path:
        return "test data"
    return _KINDS.get(posixpath.splitext(path)[1].lower(), "other")
