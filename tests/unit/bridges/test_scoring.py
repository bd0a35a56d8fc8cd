"""Models that a job pins: what its processes open, and which models cannot be scored in batches."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from hub.bridges import scoring
from hub.protocol import problems
from tests import samples
from tests.unit.bridges.test_triton import model


@pytest.mark.usefixtures("default")
def test_processes_open_what_was_pinned(fake, client):
    fake.add("zoo/net", {"model.onnx": samples.mlp()})
    pinned = scoring.pin(client, "zoo/net")
    fake.add("zoo/net", {"model.onnx": samples.mlp(hidden=9)})
    assert [(port.name, port.dtype, port.shape) for port in pinned.inputs] == [
        ("x", "float32", (4,)),
    ]
    # The hub has no costs of it.
    assert pinned.rows == scoring.PRESET_ROWS
    assert pinned.lineage["hub.ref"].startswith("zoo/net@1")
    assert pinned.lineage["hub.sha256"] == pinned.sha256
    rows = np.random.default_rng(7).standard_normal((100, 4))
    scorer = pinned.open(1)
    session = client.session("zoo/net@1", providers=["CPUExecutionProvider"])
    [expected] = session.run(None, {"x": rows.astype("float32")})
    [(name, scores)] = scorer.run([rows]).items()
    assert name == session.get_outputs()[0].name
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert scorer.run([rows[:0]])[name].shape == (0, expected.shape[1])


def test_models_whose_rows_are_not_the_first_dimension(fake, client):
    floats, strings = TensorProto.FLOAT, TensorProto.STRING
    for name, kind, shape in (
        ("one", floats, [1, 3]),
        ("three", floats, [3, 3]),
        ("scalar", floats, []),
        ("texts", strings, ["N"]),
    ):
        fake.add(f"zoo/{name}", {"model.onnx": model([("x", kind, shape)], [("y", kind, shape)])})
    one = scoring.pin(client, "zoo/one")
    assert one.rows == 1
    for name, words in (
        ("three", "a fixed first dimension"),
        ("scalar", "no dimension for rows"),
        ("texts", "no tensor of numbers"),
    ):
        with pytest.raises(problems.InvalidRequest, match=words):
            scoring.pin(client, f"zoo/{name}")
