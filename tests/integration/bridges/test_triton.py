"""Model repositories, read by Triton's own reader of configurations and by ONNX Runtime."""

from __future__ import annotations

import sys

import pytest

from tests.integration.environments import python_with

TRITON = """
import sys, numpy, onnxruntime
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

folder = sys.argv[1]
config = text_format.Parse(open(f"{folder}/config.pbtxt").read(), model_config_pb2.ModelConfig())
assert (config.name, config.backend, config.max_batch_size) == ("net", "onnxruntime", 16), config
session = onnxruntime.InferenceSession(f"{folder}/1/model.onnx")
inputs, outputs = session.get_inputs(), session.get_outputs()
for ports, described in ((inputs, config.input), (outputs, config.output)):
    assert [port.name for port in ports] == [port.name for port in described]
    for port, row in zip(ports, described):
        assert row.data_type == model_config_pb2.TYPE_FP32
        assert list(row.dims) == list(port.shape[1:]), (row, port.shape)
[x] = config.input
session.run(None, {x.name: numpy.zeros((3, *x.dims), "float32")})
"""


@pytest.fixture(scope="session")
def python():
    return python_with("triton", "tritonclient[grpc]", "onnxruntime")


def test_triton_reads_the_configuration(python, run, tmp_path):
    words = ["get", "zoo/net@1", "--layout", "triton", "--to", "repository"]
    folder = run(sys.executable, "-m", "hub", *words, "--max-batch-size", "16").strip()
    run(python, "-c", TRITON, tmp_path / folder)
