"""A picture's preprocessing: exact values, and the same tensor on a worker and in a browser."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hub.protocol import inputs
from runners.engine.runs import pictures

ROOT = Path(__file__).resolve().parents[3]
MODULE = ROOT / "frontend/static/frontend/try-picture.js"
# Reads pixels and settings as JSON, one picture a line; answers the values of each.
SCRIPT = f"""
import {{ prepare, rounded }} from {json.dumps(MODULE.as_uri())};
import {{ readFileSync }} from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
const answers = cases.map((one) => {{
  const made = prepare(Uint8ClampedArray.from(one.rgba), one.width, one.height, one.how);
  return {{ shape: made.shape, values: [...rounded(one.type, made.values)] }};
}});
console.log(JSON.stringify(answers));
"""


def picture(tmp_path, pixels, kind="PNG"):
    path = tmp_path / f"a.{kind.lower()}"
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path, kind)
    return path


def how(**changed):
    settings = {
        "channels": "grey",
        "layout": "NCHW",
        "scale": inputs.Scale("0-1", 1 / 255),
        "mode": "stretch",
        "interpolation": "bilinear",
    }
    return inputs.Picture(**(settings | changed))


def test_values_are_scaled_then_normalised_in_the_order_of_the_channels(tmp_path):
    path = picture(tmp_path, [[[255, 0, 51], [0, 255, 102]]])
    settings = {"channels": "BGR", "mean": (0.1, 0.2, 0.3), "std": (1.0, 2.0, 0.5)}
    made = pictures.tensor(path, how(**settings), np.float32)
    assert made.shape == (1, 3, 1, 2)
    expected = np.array([[(0.2 - 0.1), (0.4 - 0.1)], [-0.1, 0.4], [1.4, -0.6]], np.float32)
    assert made[0, :, 0, :] == pytest.approx(expected)
    last = pictures.tensor(path, how(**settings, layout="HWC"), np.float32)
    assert last.shape == (1, 2, 3)
    assert (made[0, :, 0, :] == last[0].T).all()


def test_a_dark_stroke_on_light_ground_becomes_light_on_dark(tmp_path):
    path = picture(tmp_path, [[255, 0], [255, 0]])
    assert pictures.tensor(path, how(invert=True), np.float32).tolist() == [[[[0, 1], [0, 1]]]]


def test_a_letterbox_is_filled_and_a_crop_takes_the_middle(tmp_path):
    path = picture(tmp_path, [[0, 85, 170, 255]])
    plain = inputs.Scale("0-255", 1.0)
    boxed = pictures.tensor(
        path, how(mode="letterbox", width=4, height=3, pad=9, scale=plain), np.uint8
    )
    assert boxed[0, 0].tolist() == [[9] * 4, [0, 85, 170, 255], [9] * 4]
    cropped = pictures.tensor(path, how(mode="crop", width=2, height=1, scale=plain), np.uint8)
    assert cropped[0, 0].tolist() == [[85, 170]]


def test_what_is_transparent_is_white(tmp_path):
    path = picture(tmp_path, [[[0, 0, 0, 0], [0, 0, 0, 255]]])
    assert pictures.tensor(path, how(), np.float32).ravel().tolist() == [1, 0]


def test_a_photograph_stands_upright(tmp_path):
    rows = np.zeros((8, 16), np.uint8)
    rows[:, :8] = 255
    exif = Image.Exif()
    exif[0x0112] = 3
    path = tmp_path / "turned.jpg"
    Image.fromarray(rows).save(path, "JPEG", exif=exif, quality=100)
    made = pictures.tensor(path, how(), np.float32)[0, 0]
    assert made[0, 0] < made[0, 15] - 0.9


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not one of PNG"),
        (b"MZ" + bytes(100), "not one of PNG"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "not one of PNG|cannot be read"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, content, words):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(pictures.UnfitPictureError, match=words):
        pictures.tensor(path, how(), np.float32)


def test_a_picture_of_too_many_pixels_or_bits_is_refused(tmp_path, monkeypatch):
    path = picture(tmp_path, np.zeros((20, 20)))
    monkeypatch.setattr(pictures, "MOST_PIXELS", 100)
    with pytest.raises(pictures.UnfitPictureError, match="100 pixels; this one has 400"):
        pictures.tensor(path, how(), np.float32)
    monkeypatch.undo()
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(path)
    with pytest.raises(pictures.UnfitPictureError, match="8 bits"):
        pictures.tensor(path, how(), np.float32)


def _cases():
    """Settings in combination, over pictures that are shrunk, enlarged and left as they are."""
    sizes = [((30, 21), (8, 8)), ((5, 7), (16, 12)), ((9, 9), (9, 9)), ((64, 3), (7, 20))]
    for (source, target), mode, interpolation in itertools.product(
        sizes, inputs.MODES, inputs.INTERPOLATIONS
    ):
        yield source, {
            "width": target[0], "height": target[1], "mode": mode, "interpolation": interpolation
        }  # fmt: skip
    yield (40, 30), {"width": 16, "height": 16, "mode": "crop", "shortest_edge": 20}
    yield (31, 47), {"width": 15, "height": 16, "mode": "crop", "shortest_edge": 19}
    yield (12, 10), {"channels": "RGB", "layout": "NHWC", "mean": (0.485, 0.456, 0.406),
                     "std": (0.229, 0.224, 0.225)}  # fmt: skip
    yield (12, 10), {"channels": "BGR", "layout": "HWC", "scale": inputs.Scale("-1-1", 2 / 255, -1)}
    yield (12, 10), {"channels": "RGB", "layout": "CHW", "invert": True, "pad": 114,
                     "width": 20, "height": 20, "mode": "letterbox"}  # fmt: skip
    yield (12, 10), {"channels": "RGB", "scale": inputs.Scale("0.5", 0.5), "type": "uint8"}
    yield (12, 10), {"channels": "RGB", "scale": inputs.Scale("2", 2.0), "type": "int8"}


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed here")
def test_a_browser_makes_the_same_tensor(tmp_path):
    random = np.random.default_rng(7)
    sent, expected = [], []
    for (width, height), changed in _cases():
        dtype = changed.pop("type", "float32")
        settings = how(**changed)
        pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        alpha = np.full((height, width, 1), 255, np.uint8)
        alpha[0, 0] = random.integers(0, 256)
        rgba = np.concatenate([pixels, alpha], axis=2)
        expected.append(pictures.tensor(picture(tmp_path, rgba), settings, dtype))
        document = {name: getattr(settings, name) for name in settings.__slots__}
        document["scale"] = settings.scale.name
        sent.append(
            {"rgba": rgba.ravel().tolist(), "width": width, "height": height, "how": document,
             "type": dtype}
        )  # fmt: skip
    ended = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT],
        input=json.dumps(sent), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    answers = json.loads(ended.stdout)
    assert len(answers) == len(expected) > 60
    for one, array, case in zip(answers, expected, sent, strict=True):
        assert one["shape"] == list(array.shape), case["how"]
        made = np.array(one["values"], np.float64).astype(array.dtype)
        apart = (made != array.ravel()).nonzero()[0]
        assert not len(apart), (
            str(case["how"])[-260:],
            len(apart),
            made[apart][:4],
            array.ravel()[apart][:4],
        )


def test_the_bounds_of_a_declaration_are_those_of_its_tensors(tmp_path):
    declared = {"channels": "RGB", "scale": "-1-1", "mean": [0.1, 0.2, 0.3], "std": 0.5}
    image = inputs.image_of(
        declared | {"resize": {"mode": "stretch", "interpolation": "box"}, "layout": "CHW"}
    )
    settings = inputs.resolve(image, (3, None, None))
    for value, end in ((0, 0), (255, 1)):
        made = pictures.tensor(picture(tmp_path, np.full((2, 2, 3), value)), settings, np.float64)
        assert made[:, 0, 0].tolist() == pytest.approx([row[end] for row in image.bounds()])


def test_a_step_that_nobody_said_is_named():
    image = inputs.image_of({"channels": "grey", "scale": "0-1", "polarity": "light-on-dark"})
    with pytest.raises(inputs.UnknownStepError) as caught:
        inputs.resolve(image, (1, 1, 8, 8))
    assert caught.value.names == ("mode", "interpolation", "polarity")
    with pytest.raises(inputs.UnknownStepError) as caught:
        inputs.resolve(inputs.Image(), (None, None, None, None))
    assert caught.value.names == ("channels", "layout", "scale", "mode", "interpolation")


def test_a_gif_gives_its_first_picture(tmp_path):
    file = io.BytesIO()
    frames = [Image.new("L", (2, 2), shade) for shade in (255, 0)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    path = tmp_path / "a.gif"
    path.write_bytes(file.getvalue())
    assert pictures.tensor(path, how(), np.float32).max() == 1
