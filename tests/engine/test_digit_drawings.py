"""The sample digits-cnn reads what strangers draw: strokes that its training has not seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image, ImageDraw

from hub.server import samples

SEED, DRAWINGS, SHEET = 4_711, 500, 264
# Pixels of the pen and of the digit's height on a sheet of 264, slants as x over y, widths over
# heights: from thin to thick, small to large, leaning to either side.
PENS, SIZES, SLANTS, WIDTHS = (14, 34), (92, 238), (-0.25, 0.25), (0.7, 1.1)


def arc(x, y, width, height, start, end):
    angles = np.radians(np.linspace(start, end, 24))
    return [(x + width * np.cos(each), y + height * np.sin(each)) for each in angles]


# The ways to write each digit, in a square of 1: other points than scripts/samples/drawings.py has.
STROKES = {
    0: [[arc(0.5, 0.5, 0.3, 0.45, 0, 360)]],
    1: [[[(0.35, 0.2), (0.5, 0.05), (0.5, 0.95)]], [[(0.5, 0.05), (0.5, 0.95)]]],
    2: [[[*arc(0.5, 0.3, 0.28, 0.25, 180, 380), (0.2, 0.95), (0.8, 0.95)]]],
    3: [[[*arc(0.45, 0.28, 0.28, 0.23, 200, 450), *arc(0.45, 0.72, 0.3, 0.23, 270, 520)]]],
    4: [
        [[(0.6, 0.95), (0.6, 0.05), (0.15, 0.65), (0.85, 0.65)]],
        [[(0.25, 0.05), (0.2, 0.5), (0.8, 0.5)], [(0.7, 0.05), (0.7, 0.95)]],
    ],
    5: [[[(0.75, 0.05), (0.3, 0.05), (0.27, 0.45), *arc(0.48, 0.68, 0.3, 0.27, 230, 500)]]],
    6: [[[(0.65, 0.05), (0.3, 0.5), *arc(0.5, 0.7, 0.25, 0.25, 180, 540)]]],
    7: [
        [[(0.2, 0.05), (0.8, 0.05), (0.4, 0.95)]],
        [[(0.2, 0.05), (0.8, 0.05), (0.4, 0.95)], [(0.35, 0.5), (0.7, 0.5)]],
    ],
    8: [[[*arc(0.5, 0.28, 0.22, 0.23, 90, 450), *arc(0.5, 0.73, 0.27, 0.23, 270, 630)]]],
    9: [[[*arc(0.5, 0.3, 0.25, 0.25, 0, 360), (0.75, 0.3), (0.65, 0.95)]]],
}


def drawing(digit, rng):
    """A drawn digit as a try-out prepares it: the square around the strokes, averaged to 8x8."""
    ways = STROKES[digit]
    strokes, pen = ways[rng.integers(len(ways))], int(rng.integers(*PENS))
    size, slant, width = rng.uniform(*SIZES), rng.uniform(*SLANTS), rng.uniform(*WIDTHS)
    sheet = Image.new("L", (2 * SHEET, 2 * SHEET))
    pencil = ImageDraw.Draw(sheet)
    for stroke in strokes:
        points = [
            (
                SHEET / 2 + size * width * (x + slant * (0.5 - y)) + rng.normal(),
                SHEET / 2 + size * y + rng.normal(),
            )
            for x, y in stroke
        ]
        pencil.line(points, fill=255, width=pen, joint="curve")
        for x, y in points:
            pencil.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)
    left, top, right, bottom = sheet.getbbox()
    edge = max(right - left, bottom - top)
    left, top = (left + right - edge) // 2, (top + bottom - edge) // 2
    square = sheet.crop((left, top, left + edge, top + edge))
    return np.asarray(square.resize((8, 8), Image.Resampling.BOX), np.float32) / 255


@pytest.fixture(scope="module")
def drawings():
    rng = np.random.default_rng(SEED)
    digits = np.arange(DRAWINGS) % 10
    return np.stack([drawing(int(digit), rng) for digit in digits])[:, np.newaxis], digits


@pytest.mark.parametrize("name", ["digits-cnn", "digits-cnn-int8"])
def test_at_least_95_of_100_drawings_are_read(drawings, name):
    pictures, digits = drawings
    path = Path(samples.__file__).parent / name / "model.onnx"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (probabilities,) = session.run(None, {session.get_inputs()[0].name: pictures})
    right = probabilities.argmax(axis=1) == digits
    of_digit = {digit: int(right[digits == digit].sum()) for digit in range(10)}
    assert right.mean() >= 0.95, of_digit
    # No digit is left behind: 50 drawings of each.
    assert min(of_digit.values()) >= 45, of_digit
