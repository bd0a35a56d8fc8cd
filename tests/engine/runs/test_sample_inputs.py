"""The declared inputs of the samples fit their models, and a first try gives the right answer."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from PIL import Image, ImageDraw

from hub.protocol import inputs
from hub.protocol.facts import read_ports
from hub.server.samples import SAMPLES, files
from registry.cards import cards
from registry.cards.findings import Notes
from runners.engine.onnx_files.describe import describe
from runners.engine.runs import pictures

# Strokes of digits on 200 x 200 pixels, as somebody draws them with a thick pen.
STROKES = {
    0: [((30, 15), (170, 185))],
    1: [[(60, 70), (110, 15), (110, 185)]],
    7: [[(40, 25), (160, 25), (80, 185)]],
}


def sample(name):
    return next(one for one in SAMPLES if one.name == name)


def declared(name):
    return cards.accept(files(sample(name))["README.md"].read_text()).card.inputs


def drawn(digit, path):
    image = Image.new("L", (200, 200), 255)
    pen = ImageDraw.Draw(image)
    for stroke in STROKES[digit]:
        if isinstance(stroke, tuple):
            pen.ellipse(stroke, outline=0, width=34)
        else:
            pen.line(stroke, fill=0, width=30, joint="curve")
    image.save(path)
    return path


@pytest.mark.parametrize("name", [one.name for one in SAMPLES])
def test_the_declared_inputs_fit_the_model(name):
    paths = files(sample(name))
    with paths["model.onnx"].open("rb") as file:
        sizes = {path: place.stat().st_size for path, place in paths.items()}
        facts = describe(file.fileno(), "model.onnx", sizes).facts
    notes = Notes()
    rows = declared(name)
    inputs.compare(rows, read_ports(facts["inputs"]), notes, files=paths)
    assert rows
    assert notes.in_order() == ()


@pytest.mark.parametrize("name", ["digits-cnn", "digits-cnn-int8"])
@pytest.mark.parametrize("digit", STROKES)
def test_a_picture_of_a_digit_is_read_at_the_first_try(name, digit, tmp_path):
    (one,) = declared(name)
    how = inputs.resolve(one.image, (None, 1, 8, 8), "dark-on-light")
    tensor = pictures.tensor(drawn(digit, tmp_path / "a.png"), how, np.float32)
    session = onnxruntime.InferenceSession(files(sample(name))["model.onnx"].read_bytes())
    (probabilities,) = session.run(None, {"pixels": tensor})
    assert int(probabilities.argmax()) == digit
    assert probabilities.max() > 0.5


def test_a_bundled_row_comes_back_from_its_picture(tmp_path):
    """Ink as grey levels, dark on light, makes the tensor of the bundled data set again."""
    content = files(sample("digits-cnn"))["test_data_set_0/input_0.pb"].read_bytes()
    ink = numpy_helper.to_array(onnx.TensorProto.FromString(content))
    path = tmp_path / "a.png"
    Image.fromarray(np.rint(255 - 255 * ink[0, 0]).astype(np.uint8)).save(path)
    (one,) = declared("digits-cnn")
    how = inputs.resolve(one.image, (None, 1, 8, 8), "dark-on-light")
    assert pictures.tensor(path, how, np.float32) == pytest.approx(ink[:1], abs=0.5 / 255)
