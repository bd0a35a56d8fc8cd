"""Detectors: the boxes of a picture with scores and classes, and their mean average precision.

The definition is that of COCO (Lin et al., Microsoft COCO, ECCV 2014; pycocotools has the code): a
detection is right if it overlaps a box of its class that no better one has, by an intersection over
union of a threshold or more. For each class and threshold the precision is interpolated at 101
recalls and averaged. At most 100 detections of a class count in a picture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hub.counting import plural
from hub.protocol.inputs import Picture
from hub.protocol.outputs import Boxes, DeclaredOutput
from hub.protocol.splits import Split
from runners.engine.evaluation.archives import UnreadableDataError
from runners.engine.evaluation.metrics import Metric
from runners.engine.evaluation.outputs import UnfitOutputError

Array = np.ndarray[Any, Any]

THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10).tolist())
MOST_DETECTIONS = 100
FILE = "boxes.json"
_RECALLS = np.linspace(0, 1, 101)
_LEAST = float(np.spacing(1))
# Weights of detections that are held at once.
_AT_ONCE = 1 << 22
_CLASSES = ("category", "categories")


def read_targets(content: bytes, split: Split, name: str) -> dict[str, list[list[float]]]:
    """The boxes of each picture, as left, top, right, bottom and class. Raises UnreadableDataError.

    ``content`` has a JSON object in each line, as Hugging Face's ImageFolder: ``file_name``, and
    below the target's column ``bbox``, rows of left, top, width and height in pixels, and
    ``category`` or ``categories``, their class numbers or names.
    """
    boxes: dict[str, list[list[float]]] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            file, objects = row["file_name"], row[split.target.column]
            names = next(objects[key] for key in _CLASSES if key in objects)
            classes = [_class_number(name, split.target.labels) for name in names]
            boxes[str(file)] = [
                [*_corners(*map(float, box)), float(kind)]
                for box, kind in zip(objects["bbox"], classes, strict=True)
            ]
        except (ValueError, KeyError, TypeError, StopIteration, RecursionError, OverflowError):
            raise UnreadableDataError(
                f"Line {number:,} of {name} is not a JSON object with file_name and "
                f"{split.target.column!r}, which has bbox (left, top, width, height) and as many "
                "categories (class numbers, or names of the split's labels)."
            ) from None
    return boxes


def _class_number(name: Any, labels: Sequence[str]) -> int:
    number = labels.index(name) if isinstance(name, str) else name
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(name)
    if not 0 <= number < (len(labels) or 1 << 24):
        raise ValueError(name)
    return number


def _corners(left: float, top: float, width: float, height: float) -> tuple[float, ...]:
    corners = left, top, left + width, top + height
    if not all(map(math.isfinite, corners)) or width <= 0 or height <= 0:
        raise ValueError(corners)
    return corners


class Detector:
    """Reads the boxes of a model's outputs, as the card declares them. Raises UnfitOutputError."""

    def __init__(self, declared: Sequence[DeclaredOutput], names: Sequence[str]) -> None:
        rows = [
            (names.index(row.name), row.reading)
            for row in declared
            if isinstance(row.reading, Boxes) and row.name in names
        ]
        if len(rows) != 1:
            count = plural(len(rows), "output")
            raise UnfitOutputError(
                f"The card declares {count} of the model as boxes; one is needed."
            )
        self.place, self._how = rows[0]
        if self._how.scores not in names:
            raise UnfitOutputError("The card names no output of the model as scores of the boxes.")
        self._scores = names.index(self._how.scores)
        self._classes = names.index(self._how.classes) if self._how.classes in names else None

    def boxes(self, values: Sequence[Any], how: Picture, size: tuple[int, int]) -> Array:
        """The best boxes of each class in a picture of this width and height, in its pixels.

        ``how`` is what was done to the picture. Rows are left, top, right, bottom, score, class.
        """
        boxes = np.asarray(values[self.place], np.float64).reshape(-1, 4)
        scores = np.asarray(values[self._scores], np.float64).reshape(-1)
        classes = np.zeros(len(boxes))
        if self._classes is not None:
            classes = np.asarray(values[self._classes], np.float64).reshape(-1)
        if not len(boxes) == len(scores) == len(classes):
            counts = plural(len(boxes), "box", "boxes"), plural(len(scores), "score")
            last = plural(len(classes), "class", "classes")
            raise UnfitOutputError(f"The model gives {', '.join(counts)} and {last}.")
        rows = np.column_stack([self._in_picture(boxes, how, size), scores, classes])
        if not np.isfinite(rows).all():
            raise UnfitOutputError("The model's boxes are not all finite numbers.")
        return np.concatenate([rows[:0], *(_best(rows, number) for number in np.unique(classes))])

    def _in_picture(self, boxes: Array, how: Picture, size: tuple[int, int]) -> Array:
        tensor, scaled = np.array(how.size(*size)), np.array(how.scaled(*size))
        ends = boxes.copy()
        if self._how.format == "cxcywh":
            ends[:, :2] -= boxes[:, 2:] / 2
        if self._how.format != "xyxy":
            ends[:, 2:] += ends[:, :2]
        if self._how.is_share:
            ends *= np.tile(tensor, 2)
        # Where the picture begins in the tensor: inside of it, or before it where it was cropped.
        begin = -((scaled - tensor) // 2) if how.mode == "crop" else (tensor - scaled) // 2
        corners: Array = (ends - np.tile(begin, 2)) * np.tile(np.array(size) / scaled, 2)
        return corners


def _best(rows: Array, number: float) -> Array:
    own = rows[rows[:, 5] == number]
    best: Array = own[np.argsort(-own[:, 4], kind="stable")[:MOST_DETECTIONS]]
    return best


def run(
    calls: Callable[[int], Iterator[list[Any]]],
    detector: Detector,
    pictures: Callable[[int], tuple[Picture, tuple[int, int]]],
    rows: int,
    work: Path,
    check: Callable[[int], None],
) -> None:
    """Run each picture and write its boxes; ``check`` gets the number of rows that are done."""
    boxes = []
    for row in range(rows):
        values = next(calls(row))
        boxes.append(detector.boxes(values, *pictures(row)).tolist())
        check(row + 1)
    (work / FILE).write_text(json.dumps(boxes), encoding="utf-8")


def rows_of(boxes: Sequence[Sequence[Sequence[float]]], width: int) -> Array:
    """The boxes of each row as an array of arrays ``[boxes, width]``."""
    rows = np.empty(len(boxes), dtype=object)
    rows[:] = [np.array(row, np.float64).reshape(-1, width) for row in boxes]
    return rows


def mean_average_precision(
    targets: Array, answers: Array, thresholds: Sequence[float] = THRESHOLDS
) -> Metric:
    """The mean over the classes of the targets and the thresholds of the average precision.

    ``targets`` and ``answers`` are `rows_of` 5 and 6 numbers. A class without a target in a draw of
    rows is left out of it.
    """
    curves = [
        _precision(targets, answers, number, thresholds)
        for number in np.unique(np.concatenate([row[:, 4] for row in targets]))
    ]

    def metric(counts: Array) -> Array:
        values = np.array([curve(counts) for curve in curves]).reshape(len(curves), len(counts))
        is_defined = np.isfinite(values)
        count = is_defined.sum(axis=0)
        sums = np.where(is_defined, values, 0.0).sum(axis=0)
        means: Array = np.divide(sums, count, out=np.full(len(counts), np.nan), where=count > 0)
        return means

    return metric


def _precision(
    targets: Array, answers: Array, number: float, thresholds: Sequence[float]
) -> Metric:
    """The average precision of one class, the mean over the thresholds."""
    own = [row[row[:, 4] == number] for row in targets]
    detected = [_best(row, number) for row in answers]
    pairs = zip(own, detected, strict=True)
    hits = np.concatenate([_hits(*pair, thresholds) for pair in pairs], axis=1)
    places = np.repeat(np.arange(len(detected)), [len(row) for row in detected])
    order = np.argsort(-np.concatenate([row[:, 4] for row in detected]), kind="stable")
    hits, places = hits[:, order], places[order]
    totals = np.array([len(row) for row in own], float)

    def average(counts: Array) -> Array:
        size = max(1, _AT_ONCE // max(1, len(places)))
        parts = [
            _averages(
                counts[start : start + size][:, places], counts[start : start + size] @ totals
            )
            for start in range(0, len(counts), size)
        ]
        return np.concatenate(parts)

    def _averages(weights: Array, positives: Array) -> Array:
        result = np.where(positives > 0, 0.0, np.nan)
        whole = weights.cumsum(axis=1)
        for row_of_hits in hits:
            right = (weights * row_of_hits).cumsum(axis=1)
            precision = right / (whole + _LEAST)
            best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
            for draw in np.flatnonzero(positives):
                at = np.searchsorted(right[draw] / positives[draw], _RECALLS)
                result[draw] += best[draw, at[at < len(places)]].sum() / len(_RECALLS)
        return result / len(hits)

    return average


def _hits(boxes: Array, detected: Array, thresholds: Sequence[float]) -> Array:
    """Whether each detection is right, ``[thresholds, detections]``; the best one chooses first."""
    hits = np.zeros((len(thresholds), len(detected)), bool)
    if not len(boxes) or not len(detected):
        return hits
    overlaps = _overlaps(detected, boxes)
    for row, threshold in enumerate(thresholds):
        is_open = np.ones(len(boxes), bool)
        for place, overlap in enumerate(overlaps):
            values = np.where(is_open, overlap, -1.0)
            # Of equal overlaps the last box counts, as pycocotools has it.
            box = len(values) - 1 - int(values[::-1].argmax())
            if values[box] >= min(threshold, 1 - 1e-10):
                hits[row, place], is_open[box] = True, False
    return hits


def _overlaps(detected: Array, boxes: Array) -> Array:
    """The intersections over unions, ``[detections, boxes]``."""
    low = np.maximum(detected[:, np.newaxis, :2], boxes[:, :2])
    high = np.minimum(detected[:, np.newaxis, 2:4], boxes[:, 2:4])
    both = np.maximum(high - low, 0).prod(axis=2)
    areas = [np.maximum(rows[:, 2:4] - rows[:, :2], 0).prod(axis=1) for rows in (detected, boxes)]
    shares: Array = both / np.maximum(np.add.outer(*areas) - both, _LEAST)
    return shares
