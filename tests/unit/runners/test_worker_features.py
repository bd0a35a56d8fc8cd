"""What is read of a worker's features, of whatever version the worker is."""

from __future__ import annotations

import pytest

from runners.worker_features import WorkerFeatures


def test_stored_features():
    stored = {
        "runtimes": {"onnxruntime": "1.31.1"},
        "versions": {"onnx": "1.23.2"},
        "providers": ["CPUExecutionProvider"],
        "failed": {"openvino": "no module"},
        "isolation": {"name": "full", "seccomp": True},
        "memory_bytes": 1 << 30,
    }
    read = WorkerFeatures.read(stored)
    assert read.runtimes == {"onnxruntime": "1.31.1"}
    assert read.versions == {"onnx": "1.23.2"}
    assert read.providers == ["CPUExecutionProvider"]
    assert read.failed == {"openvino": "no module"}
    assert read.isolation["name"] == "full"
    assert read.memory_bytes == 1 << 30


@pytest.mark.parametrize("stored", [{}, {"providers": None, "runtimes": [], "isolation": "full"}])
def test_features_of_a_worker_that_states_none(stored):
    assert WorkerFeatures.read(stored) == WorkerFeatures()
