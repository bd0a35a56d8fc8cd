"""Drawn digits for the training of digits-cnn: rows as other people write, and strokes of a pen.

Strangers draw with strokes, slants and sizes that the 13 writers of the data set did not have. A
picture is prepared as the hub's try-out does it: the square around the ink, averaged to 8x8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Picture = NDArray[np.float32]
    Points = list[tuple[float, float]]

EDGE = 8
# Pixels of a row that is transformed, and of a drawing.
_ROW, _SHEET = 120, 160


def prepared(ink: Picture) -> Picture:
    """The square around the ink of a picture (0 to 1), averaged to 8x8."""
    rows, columns = np.nonzero(2 * ink > ink.max())
    edge = int(max(np.ptp(rows), np.ptp(columns))) + 1
    top = int(rows.min() + rows.max() + 1 - edge) // 2
    left = int(columns.min() + columns.max() + 1 - edge) // 2
    padded = np.pad(ink, edge)
    square = padded[top + edge : top + 2 * edge, left + edge : left + 2 * edge]
    picture = Image.fromarray(np.rint(square * 255).astype(np.uint8))
    small = picture.resize((EDGE, EDGE), Image.Resampling.BOX)
    return np.asarray(small, np.float32) / 255


def rewritten(row: Picture, rng: np.random.Generator) -> Picture:
    """A row of the data set, 8x8, with another slant, turn, width and pen."""
    pixels = np.rint(np.pad(row, 1) * 255).astype(np.uint8)
    picture = Image.fromarray(pixels).resize((_ROW, _ROW), Image.Resampling.BICUBIC)
    slant, width = rng.uniform(-0.35, 0.35), rng.uniform(0.75, 1.35)
    turn = np.radians(rng.uniform(-8, 8))
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    # From the result to the source, 1.25 times as large, so that nothing is cut off.
    matrix = 1.25 * rotation @ np.array([[1, slant], [0, 1]]) @ np.diag([width, 1])
    offset = _ROW / 2 - matrix @ np.full(2, _ROW / 2)
    terms = (*matrix[0], offset[0], *matrix[1], offset[1])
    picture = picture.transform(
        (_ROW, _ROW), Image.Transform.AFFINE, terms, Image.Resampling.BILINEAR
    )
    values = np.asarray(picture, np.float32) / 255
    # A pen is ink or paper; where the limit lies makes it thick or thin.
    return prepared((values > rng.uniform(0.25, 0.75) * values.max()).astype(np.float32))


def _arc(x: float, y: float, width: float, height: float, start: float, end: float) -> Points:
    """Points of an ellipse from one angle to another, in degrees, clockwise from the right."""
    angles = np.radians(np.linspace(start, end, 16))
    return [(x + width * np.cos(each), y + height * np.sin(each)) for each in angles]


# The ways to write each digit in a square of 1: strokes from point to point, down from the top.
STROKES: dict[int, list[list[Points]]] = {
    0: [[_arc(0.5, 0.5, 0.32, 0.48, -80, 290)]],
    1: [
        [[(0.5, 0.0), (0.48, 1.0)]],
        [[(0.3, 0.25), (0.55, 0.02), (0.53, 1.0)]],
        [[(0.3, 0.2), (0.5, 0.02), (0.5, 1.0)], [(0.25, 1.0), (0.75, 1.0)]],
    ],
    2: [
        [[*_arc(0.48, 0.27, 0.3, 0.26, 190, 400), (0.18, 1.0), (0.85, 0.98)]],
        [[*_arc(0.5, 0.25, 0.25, 0.24, 170, 410), (0.3, 0.85)],
         [*_arc(0.3, 0.88, 0.1, 0.1, 90, 300), (0.85, 0.95)]],
    ],
    3: [
        [[*_arc(0.45, 0.26, 0.28, 0.25, 210, 430)], [*_arc(0.45, 0.74, 0.32, 0.26, 280, 510)]],
        [[(0.2, 0.03), (0.78, 0.03), (0.45, 0.4)], _arc(0.45, 0.7, 0.32, 0.3, 270, 500)],
    ],
    4: [
        [[(0.62, 1.0), (0.62, 0.0), (0.1, 0.68), (0.92, 0.68)]],
        [[(0.2, 0.0), (0.15, 0.5), (0.85, 0.52)], [(0.72, 0.05), (0.68, 1.0)]],
        [[(0.5, 0.0), (0.12, 0.6), (0.85, 0.6)], [(0.66, 0.35), (0.64, 1.0)]],
    ],
    5: [
        [[(0.8, 0.02), (0.28, 0.04), (0.24, 0.42), *_arc(0.46, 0.68, 0.32, 0.3, 235, 500)]],
        [[(0.26, 0.05), (0.24, 0.45), *_arc(0.45, 0.7, 0.3, 0.28, 240, 490)],
         [(0.26, 0.05), (0.82, 0.03)]],
    ],
    6: [
        [[(0.72, 0.0), (0.4, 0.3), *_arc(0.5, 0.7, 0.28, 0.28, 200, 560)]],
        [[*_arc(0.62, 0.5, 0.42, 0.5, 260, 180), *_arc(0.48, 0.72, 0.26, 0.26, 180, 530)]],
    ],
    7: [
        [[(0.15, 0.03), (0.85, 0.03), (0.42, 1.0)]],
        [[(0.15, 0.15), (0.18, 0.03), (0.82, 0.05), (0.5, 0.5), (0.38, 1.0)]],
        [[(0.18, 0.03), (0.82, 0.03), (0.45, 1.0)], [(0.3, 0.5), (0.78, 0.48)]],
    ],
    8: [
        [[*_arc(0.5, 0.25, 0.24, 0.24, 60, 420)], [*_arc(0.5, 0.74, 0.3, 0.26, 270, 640)]],
        [[(0.75, 0.12), *_arc(0.5, 0.25, 0.25, 0.24, 320, 90),
          *_arc(0.5, 0.74, 0.27, 0.26, 270, 610), (0.72, 0.3)]],
    ],
    9: [
        [[*_arc(0.48, 0.3, 0.27, 0.28, 0, 370), (0.72, 1.0)]],
        [[*_arc(0.46, 0.28, 0.26, 0.27, 330, 0), *_arc(0.4, 0.5, 0.34, 0.5, 330, 460)]],
    ],
}  # fmt: skip


def drawn(digit: int, rng: np.random.Generator) -> Picture:
    """A digit written by a pen with a width, slant, proportion and hand of its own."""
    ways = STROKES[digit]
    strokes = ways[rng.integers(len(ways))]
    slant, proportion = rng.uniform(-0.3, 0.3), rng.uniform(0.6, 1.2)
    pen, size = rng.uniform(0.05, 0.16) * _SHEET, 0.6 * _SHEET
    # Each way bends a little, and a hand is not steady.
    bend, shake = rng.normal(0, 0.06, 4), 0.012
    picture = Image.new("L", (2 * _SHEET, 2 * _SHEET))
    pencil = ImageDraw.Draw(picture)
    for stroke in strokes:
        points = []
        for x, y in stroke:
            across = x - 0.5 + slant * (0.5 - y) + bend[0] * np.sin(3 * y + bend[2])
            down = y - 0.5 + bend[1] * np.sin(3 * x + bend[3])
            across, down = across + rng.normal(0, shake), down + rng.normal(0, shake)
            points.append((_SHEET + size * proportion * across, _SHEET + size * down))
        pencil.line(points, fill=255, width=round(pen), joint="curve")
        for x, y in points:
            pencil.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)
    return prepared(np.asarray(picture, np.float32) / 255)
