"""The task "run": one inference on inputs that somebody gave, and what is said of unfit ones."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes


def npy(array, *, pickled=False):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


@pytest.fixture
def run_on(sandbox, stored):
    """Run a model on inputs: name -> bytes of a .npy, or what JSON writes."""

    def go(model, **inputs):
        files, given = {"model.onnx": model}, []
        for index, (name, value) in enumerate(inputs.items()):
            form = "npy" if isinstance(value, bytes) else "json"
            path = f".run/{index}.{form}"
            files[path] = value if form == "npy" else json.dumps(value).encode()
            given.append({"name": name, "path": path, "format": form})
        options = {"runtime": "onnxruntime", "inputs": given}
        request = Request("run", "model.onnx", stored(files), SUBJECT, options, SMALL)
        made = {}

        def keep(report, folder):
            for row in report.outputs:
                made[row["name"]] = np.load(folder / row["name"])
            return report

        return sandbox.run(request, keep=keep), made

    return go


def test_json_and_npy_give_the_same(run_on):
    value = [1.0, -2.0, 3.5, 0.0]
    told, made = run_on(samples.add_one(), x=value)
    assert told.outcome == "passed", codes(told)
    again, remade = run_on(samples.add_one(), x=npy(np.array(value, np.float32)))
    assert again.outcome == "passed"
    (output,) = told.facts["outputs"]
    assert output["values"] == pytest.approx([2.0, -1.0, 4.5, 1.0])
    assert output["file"] == "output_0.npy"
    np.testing.assert_array_equal(made["output_0.npy"], remade["output_0.npy"])
    assert told.facts["threads"] == 1
    assert 0 < told.facts["run_seconds"] < told.seconds


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, "'x' was not given"),
        ({"y": [1.0]}, "no input 'y'; it has x"),
        ({"x": [["a"]]}, "'x' cannot be read"),
        ({"x": [[1.0, 2.0]]}, "has the shape [1, 2], and the model takes"),
        ({"x": npy(np.zeros(4))}, "is float64, and the model takes float32"),
        ({"x": npy(np.array([{}]), pickled=True)}, "allow_pickle"),
        ({"x": b"\x93NUMPY\x01\x00"}, "'x' cannot be read"),
    ],
)
def test_unfit_inputs_are_told(run_on, inputs, said):
    told, made = run_on(samples.add_one(), **inputs)
    assert (told.outcome, codes(told), made) == ("failed", ["input-unfit"], {})
    assert said in told.findings[0].message
    assert "/tmp" not in told.findings[0].message
