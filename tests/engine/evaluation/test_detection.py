"""Detectors: a model whose boxes are known, through the sandbox, and figures of pycocotools."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from onnx import TensorProto, helper
from PIL import Image

from runners.engine.evaluation import detection
from runners.engine.runs import pictures
from tests.engine.evaluation import tiny
from tests.engine.evaluation.test_sequences import figures, split

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
TASK = "object-detection"
IMAGE = {
    "channels": "RGB",
    "scale": "0-1",
    "layout": "NCHW",
    "resize": {"width": 8, "height": 8, "mode": "letterbox", "interpolation": "nearest"},
}
OUTPUTS = {"boxes": {"boxes": {"format": "xyxy", "scores": "scores", "classes": "kinds"}}}
BOXES = np.float32([[[0, 2, 4, 6], [4, 2, 8, 6]]])


def detector(boxes=BOXES, scores=(0.9, 0.8)):
    """Finds the same two boxes in every picture, which are of class 0 and 1."""
    constants = [("boxes", boxes), ("kinds", np.int64([[0, 1]]))]
    nodes = [helper.make_node("Identity", [f"{name}_"], [name]) for name, _ in constants]
    nodes += [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Sub", ["most", "most"], ["zero"]),
        helper.make_node("Add", ["scores_", "zero"], ["scores"]),
    ]
    return tiny.model(
        nodes,
        [("x", FLOAT, [1, 3, 8, 8])],
        [("boxes", FLOAT, [1, 2, 4]), ("scores", FLOAT, [1, 2]), ("kinds", INT64, [1, 2])],
        [*((f"{name}_", array) for name, array in constants), ("scores_", np.float32([scores]))],
    )


def picture(width, height, turned=1):
    buffer, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = turned
    Image.new("RGB", (width, height), "grey").save(buffer, "PNG", exif=exif)
    return buffer.getvalue()


WIDE = {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 4], [4, 0, 4, 4]],
                                          "category": [0, 1]}}  # fmt: skip
HIGH = {"file_name": "b.png", "objects": {"bbox": [[0, 2, 2, 4]], "categories": ["cat"]}}
PICTURES = {"a.png": picture(8, 4), "b.png": picture(4, 8)}


def data(*rows, **files):
    lines = "\n".join(map(json.dumps, rows)).encode()
    return {"test.zip": tiny.archive(PICTURES | files | {"metadata.jsonl": lines})}


def of_boxes(**target):
    return split(TASK, "objects", (), "images", **{"labels": ["cat", "dog"]} | target)


def boxes_figures(evaluate, model, outputs=OUTPUTS, rows=(WIDE, HIGH)):
    return evaluate(model, data(*rows), of_boxes(), inputs={"x": {"image": IMAGE}}, outputs=outputs)


def test_boxes_are_placed_in_the_picture_and_scored_as_coco_does(evaluate):
    """Of the high picture half of the box lies outside, so it is right at 0.5 alone."""
    report = boxes_figures(evaluate, detector())
    half = 51 / 101  # recalls up to one half have a precision of 1
    assert figures(report) == {
        "map": pytest.approx((np.mean([1, *[half] * 9]) + 1) / 2),
        "map50": pytest.approx(1),
    }
    assert report.facts["output"] == "boxes"


@pytest.mark.parametrize(
    ("form", "boxes"),
    [
        ({"format": "xywh"}, [[[0, 2, 4, 4], [4, 2, 4, 4]]]),
        ({"format": "cxcywh"}, [[[2, 4, 4, 4], [6, 4, 4, 4]]]),
        ({"format": "xyxy", "unit": "share"}, BOXES / 8),
    ],
)
def test_the_forms_of_boxes_are_those_of_the_card(evaluate, form, boxes):
    outputs = {"boxes": {"boxes": OUTPUTS["boxes"]["boxes"] | form}}
    report = boxes_figures(evaluate, detector(np.float32(boxes)), outputs, rows=(WIDE,))
    assert figures(report) == {"map": pytest.approx(1), "map50": pytest.approx(1)}


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({}, "The card declares 0 outputs of the model as boxes; one is needed."),
        ({"boxes": {"boxes": {"format": "xyxy"}}}, "names no output of the model as scores"),
        ({"boxes": {"boxes": {"format": "xyxy", "scores": "boxes"}}}, "8 scores and 2 classes"),
    ],
)
def test_what_the_card_does_not_declare_of_boxes_is_not_guessed(evaluate, outputs, words):
    assert words in boxes_figures(evaluate, detector(), outputs).findings[0].message


def test_scores_that_are_no_numbers_are_refused(evaluate):
    report = boxes_figures(evaluate, detector(scores=(np.nan, 1)))
    assert "not all finite numbers" in report.findings[0].message


@pytest.mark.parametrize(
    "row",
    [
        [],
        {"file_name": "a.png"},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 4]]}},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 4]], "category": []}},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 0]], "category": [0]}},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4]], "category": [0]}},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 4]], "category": [2]}},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 4]], "category": ["cow"]}},
        {"file_name": "a.png", "objects": {"bbox": [[0, 0, 4, 4]], "category": [True]}},
    ],
)  # fmt: skip
def test_a_line_of_boxes_that_is_wrong_is_named(evaluate, row):
    report = boxes_figures(evaluate, detector(), rows=(WIDE, row))
    assert report.findings[0].message.startswith("Line 2 of metadata.jsonl in test.zip is not")


def test_a_turned_picture_has_the_size_that_readers_see():
    assert pictures.size(io.BytesIO(picture(8, 4))) == (8, 4)
    assert pictures.size(io.BytesIO(picture(8, 4, turned=6))) == (4, 8)


def crowd(seed):
    """Boxes of some pictures and what a poor detector makes of them, with equal scores."""
    random = np.random.default_rng(seed)
    targets, answers = [], []
    for _ in range(8):
        count = int(random.integers(0, 7))
        boxes = random.integers(5, 80, (count, 4)).astype(float)
        boxes[:, 2:] = boxes[:, :2] + boxes[:, 2:] / 2 + 9
        classes = random.integers(0, 3, (count, 1)).astype(float)
        targets.append(np.hstack([boxes, classes]).tolist())
        near = boxes + random.normal(0, 2, boxes.shape)
        scores = random.choice([0.2, 0.5, 0.9], (count, 1))
        answers.append(np.hstack([near, scores, classes]).tolist())
    return detection.rows_of(targets, 5), detection.rows_of(answers, 6)


# Of pycocotools 2.0.11: the figures of each seed with IoU from 0.5 to 0.95, and at 0.5.
COCO = {
    1: (0.6254788097857404, 0.9372937293729373),
    2: (0.55260567723439, 0.9207920792079208),
    3: (0.5534370579915134, 1.0),
}


@pytest.mark.parametrize("seed", COCO)
def test_figures_are_those_of_pycocotools(seed):
    rows = crowd(seed)
    every = np.ones((1, len(rows[0])))
    value = detection.mean_average_precision(*rows)(every)[0]
    at_half = detection.mean_average_precision(*rows, thresholds=(0.5,))(every)[0]
    assert (value, at_half) == pytest.approx(COCO[seed], abs=1e-12)


def test_a_row_that_is_drawn_twice_counts_twice():
    targets, answers = crowd(1)
    metric = detection.mean_average_precision(targets, answers)
    counts = np.array([[2, 0, 1, 1, 3, 0, 1, 0]], float)
    places = np.repeat(np.arange(8), counts[0].astype(int))
    again = detection.mean_average_precision(targets[places], answers[places])
    assert metric(counts)[0] == pytest.approx(again(np.ones((1, len(places))))[0], abs=0.02)
