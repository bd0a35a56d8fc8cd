"""The task "run": one inference on inputs that somebody gave, and what is said of unfit ones."""

from __future__ import annotations

import io
import json
import time

import numpy as np
import pytest
from PIL import Image

from runners.engine.runs import pictures
from runners.sandbox import Request
from tests import samples
from tests.engine import hostile
from tests.engine.conftest import SMALL, SUBJECT, codes


def npy(array, *, pickled=False):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


@pytest.fixture
def run_on(sandbox, stored):
    """Run a model on inputs: name -> bytes of a .npy, or what JSON writes."""

    def go(model, limits=None, **inputs):
        files, given = {"model.onnx": model}, []
        for index, (name, value) in enumerate(inputs.items()):
            more = dict(value) if isinstance(value, dict) and "format" in value else {}
            form = more.get("format", "npy" if isinstance(value, bytes) else "json")
            path = f".run/{index}.{form}"
            files[path] = more.pop("content", value)
            files[path] = files[path] if form != "json" else json.dumps(value).encode()
            given.append({"name": name, "path": path, "format": form} | more)
        options = {"runtime": "onnxruntime", "inputs": given, "draw": True} | (limits or {})
        request = Request("run", "model.onnx", stored(files), SUBJECT, options, SMALL)
        made = {}

        def keep(report, folder):
            for row in report.outputs:
                content = folder / row.name
                is_array = content.suffix == ".npy"
                made[row.name] = np.load(content) if is_array else content.read_bytes()
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


def test_a_run_with_limits_of_its_own_ends_there(run_on):
    value = [1.0, -2.0, 3.5, 0.0]
    told, made = run_on(samples.add_one(), {"seconds": 2, "file_bytes": 4_100}, x=value)
    assert told.outcome == "passed", codes(told)
    [output] = told.facts["outputs"]
    assert (output["why"], made) == ("too large to be kept", {})
    began = time.monotonic()
    told, _ = run_on(hostile.endless_loop(), {"seconds": 2}, x=[1.0])
    assert (told.outcome, codes(told)) == ("failed", ["run-failed"])
    assert "2 s" in told.findings[0].message
    assert time.monotonic() - began < 14


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, "input 'x' is missing"),
        ({"y": [1.0]}, "no input 'y'; it has x"),
        ({"x": [["a"]]}, "'x' cannot be read"),
        ({"x": [[1.0, 2.0]]}, "has shape [1, 2], but the model takes"),
        ({"x": npy(np.zeros(4))}, "is float64, but the model takes float32"),
        ({"x": npy(np.array([{}]), pickled=True)}, "allow_pickle"),
        ({"x": b"\x93NUMPY\x01\x00"}, "'x' cannot be read"),
    ],
)
def test_unfit_inputs_are_told(run_on, inputs, said):
    told, made = run_on(samples.add_one(), **inputs)
    assert (told.outcome, codes(told), made) == ("failed", ["input-unfit"], {})
    assert said in told.findings[0].message
    assert "/tmp" not in told.findings[0].message


def drawn(width, height):
    rows = np.tile(np.linspace(0, 255, width, dtype=np.uint8), (height, 1))
    file = io.BytesIO()
    Image.fromarray(rows).save(file, "PNG")
    return rows, file.getvalue()


RESIZE = {"mode": "stretch", "interpolation": "bilinear"}


def identity(*shape):
    return samples.model(
        [samples.node("Identity", ["x"], ["y"])], [samples.value("x", shape=list(shape))]
    ).SerializeToString()


def test_a_picture_becomes_the_tensor_that_is_declared(run_on):
    rows, content = drawn(20, 20)
    image = {"channels": "grey", "scale": "0-1", "polarity": "light-on-dark", "resize": RESIZE}
    value = {"format": "picture", "content": content, "image": image, "polarity": "dark-on-light"}
    told, made = run_on(identity(1, 1, 20, 20), x=value)
    assert told.outcome == "passed", codes(told)
    assert made["output_0.npy"][0, 0] == pytest.approx(1 - rows / 255)
    (output,) = told.facts["outputs"]
    assert output["elements"] == 400
    assert output["drawn"] == {
        "file": "output_0.png", "width": 20, "height": 20, "how": "linear", "low": 0, "high": 1
    }  # fmt: skip
    shown = np.asarray(Image.open(io.BytesIO(made["output_0.png"])))
    assert (shown == 255 - rows).all()


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ({"channels": "grey", "resize": RESIZE}, "choose scale"),
        ({}, "choose channels, layout, scale, mode, interpolation"),
        ({"channels": "grey", "scale": "0-1", "polarity": "light-on-dark", "resize": RESIZE},
         "choose polarity"),
    ],
)  # fmt: skip
def test_no_step_of_a_picture_is_guessed(run_on, image, said):
    value = {"format": "picture", "content": drawn(4, 4)[1], "image": image}
    told, _ = run_on(identity(1, 1, 3, 3), x=value)
    assert codes(told) == ["input-unfit"]
    assert said in told.findings[0].message


def test_what_is_no_picture_is_unfit(run_on):
    image = {"channels": "grey", "scale": "0-1", "resize": RESIZE}
    value = {"format": "picture", "content": b"no picture", "image": image}
    told, _ = run_on(identity(1, 1, 3, 3), x=value)
    assert codes(told) == ["input-unfit"]
    assert "not one of PNG" in told.findings[0].message


@pytest.mark.parametrize(
    ("shape", "plane"),
    [
        ((1, 1, 672, 672), ((1, 672, 672), "CHW")),
        ((1, 3, 224, 224), ((3, 224, 224), "CHW")),
        ((1, 64, 48, 3), ((64, 48, 3), "HWC")),
        ((64, 48), ((1, 64, 48), "CHW")),
        ((1, 1000), None),
        ((2, 3, 224, 224), None),
        ((1, 21, 64, 64), None),
        ((1, 1, 8, 8), None),
        ((1, 3, 1, 5000), None),
        ((), None),
    ],
)
def test_which_outputs_are_pictures(shape, plane):
    assert pictures.plane_of(shape) == plane


def test_classes_have_colours_and_bytes_stay(tmp_path):
    classes = np.arange(256, dtype=np.int64).reshape(1, 16, 16)
    assert pictures.draw(classes, tmp_path / "a.png")["how"] == "classes"
    shown = np.asarray(Image.open(tmp_path / "a.png")).reshape(-1, 3)
    assert len({tuple(row) for row in shown.tolist()}) > 200
    picture = np.full((16, 16, 3), 7, np.uint8)
    assert pictures.draw(picture, tmp_path / "b.png")["how"] == "bytes"
    assert pictures.draw(np.full((16, 16), np.nan), tmp_path / "c.png") is None
    assert pictures.draw(np.full((16, 16), 3.0), tmp_path / "d.png")["low"] == 3.0
