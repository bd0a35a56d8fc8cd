"""One score for each row, several labels for each row, and pictures of a stated polarity.

The figures are those of scikit-learn 1.9.1: accuracy_score, f1_score, roc_auc_score and log_loss.
"""

from __future__ import annotations

import io

import numpy as np
import pytest
from onnx import helper
from PIL import Image

from tests.engine.evaluation import tiny
from tests.engine.evaluation.conftest import LIMITS
from tests.engine.evaluation.test_evaluation import codes, values
from tests.engine.evaluation.tiny import FLOAT, INT64

# Scores of `bad` (the second label) with a tie at one half, and the right class of each row.
SHARES = np.array([0.91, 0.5, 0.62, 0.08, 0.35, 0.77, 0.51, 0.12, 0.66, 0.29])
KINDS = ["bad", "good", "bad", "good", "bad", "bad", "good", "good", "bad", "good"]
LOGITS = np.array([4.0, 0.0, 0.5, -2.5, -0.6, 1.25, 0.05, -60.0, 40.0, -0.9])
# Rows of three labels; the third has one row, the right and the given ones are never equal in all.
LABELS = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
GIVEN = np.array(
    [
        [0.9, 0.2, 0.1], [0.1, 0.8, 0.6], [0.7, 0.4, 0.9],
        [0.2, 0.1, 0.3], [0.4, 0.6, 0.2], [0.55, 0.9, 0.1],
    ]
)  # fmt: skip


def single(shape=("n", 1), op="Identity", label=None):
    """A model whose one score is its input."""
    nodes = [helper.make_node(op, ["x"], ["score"])]
    outputs = [("score", FLOAT, list(shape))]
    constants = []
    if label is not None:
        constants = [("half", np.array(0.5, dtype=np.float32))]
        nodes += [
            helper.make_node("Greater", ["x", "half"], ["above"]),
            helper.make_node("Cast", ["above"], ["label"], to=INT64),
        ]
        nodes += [helper.make_node("Sub", ["one", "label"], ["other"])] if label == "other" else []
        constants += [("one", np.array(1, dtype=np.int64))]
        outputs.append((label, INT64, list(shape)))
    return tiny.model(nodes, [("x", FLOAT, list(shape))], outputs, constants)


def binary(positive, labels=("good", "bad")):
    split = tiny.split(columns=["a"], labels=labels)
    split["target"] |= {"positive": positive} if positive else {}
    return split


def table(scores, kinds=KINDS):
    rows = [(score, kind) for score, kind in zip(scores, kinds, strict=True)]
    return tiny.csv(rows, header="a,y")


@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good")])
def test_one_probability_is_that_of_the_positive_class(evaluate, order):
    report = evaluate(single(), table(SHARES), binary("bad", order))
    figures = values(report)
    # A score of exactly one half is not above it, as in `predict` of scikit-learn.
    assert figures["accuracy"] == 0.8
    assert figures["f1-macro"] == pytest.approx(0.8)
    assert figures["roc_auc"] == pytest.approx(0.92)
    assert figures["log_loss"] == pytest.approx(0.42592511708421144, rel=1e-6)
    assert codes(report) == []


def test_one_logit_goes_through_the_sigmoid_and_the_report_says_so(evaluate):
    report = evaluate(single(), table(LOGITS), binary("bad"))
    figures = values(report)
    assert codes(report) == ["scores-scaled"]
    assert "sigmoid" in report.findings[0].message
    assert figures["accuracy"] == 0.8
    assert figures["roc_auc"] == pytest.approx(0.92)
    assert figures["log_loss"] == pytest.approx(0.36132943815270446, rel=1e-6)


def test_one_score_without_a_positive_class_is_refused_with_the_cure(refused):
    code, words = refused(single(), table(SHARES), binary(""))
    assert code == "split-unfit"
    assert "Name it as `positive` in the split's target." in words


def test_a_label_beside_one_score_must_agree(evaluate, refused):
    agreeing = evaluate(single(label="label"), table(SHARES), binary("bad"))
    assert values(agreeing)["accuracy"] == 0.8
    code, words = refused(single(label="other"), table(SHARES), binary("bad"))
    assert code == "split-unfit"
    assert "is not the class that its score" in words


def several(**target):
    split = tiny.split(task="multi-label-classification", columns=["a", "b", "c"])
    split["target"] = {"columns": ["p", "q", "r"], "labels": []} | target
    return split


def rows_of(scores=GIVEN, labels=LABELS):
    rows = [(*score, *label) for score, label in zip(scores, labels.tolist(), strict=True)]
    return tiny.csv(rows, header="a,b,c,p,q,r")


def test_several_labels_have_the_figures_of_scikit_learn(evaluate):
    report = evaluate(tiny.scores(), rows_of(), several())
    figures = values(report)
    assert figures["accuracy"] == pytest.approx(1 / 3)  # all labels of a row are right
    assert figures["f1-macro"] == pytest.approx(2 / 3)
    assert figures["f1-micro"] == pytest.approx(2 / 3)
    assert figures["roc_auc"] == pytest.approx(0.9259259259259259)
    assert set(figures) == {"accuracy", "f1-macro", "f1-micro", "roc_auc"}


def test_several_labels_in_an_array_and_as_logits(evaluate):
    logits = np.log(GIVEN / (1 - GIVEN)).astype(np.float32)
    split = several() | {"reader": "npz", "files": ["t.npz"]}
    split["inputs"] = [{"name": "x", "columns": ["x"]}]
    split["target"] = {"column": "y", "labels": ["p", "q", "r"]}
    report = evaluate(tiny.scores(), {"t.npz": tiny.npz(x=logits, y=LABELS)}, split)
    assert codes(report) == ["scores-scaled"]
    plain = evaluate(tiny.scores(), rows_of(), several())
    assert values(report) == values(plain)
    assert report.facts["predictions_sha256"] == plain.facts["predictions_sha256"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [(LABELS * 2, "neither 0 nor 1"), (LABELS.astype(float) + 0.5, "neither 0 nor 1")],
)
def test_targets_of_several_labels_are_0_and_1(refused, labels, words):
    code, message = refused(tiny.scores(), rows_of(labels=labels), several())
    assert code == "data-unfit"
    assert words in message


def test_a_model_with_another_number_of_scores_is_refused(refused):
    code, words = refused(tiny.scores(4), rows_of(), several())
    assert code == "split-unfit", words


def picture(value):
    file = io.BytesIO()
    Image.new("L", (2, 2), value).save(file, "PNG")
    return file.getvalue()


def test_pictures_of_the_other_polarity_are_inverted_where_the_split_states_theirs(
    evaluate, refused
):
    """A model whose score of `light` is the brightness of the ground, drawn light on dark."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["light"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["light", "last"], ["score"]),
    ]
    model = tiny.model(
        nodes,
        [("x", FLOAT, ["n", 1, 2, 2])],
        [("score", FLOAT, ["n", 1])],
        [("last", np.array([1]))],
    )
    image = {
        "channels": "gray", "layout": "NCHW", "scale": "0-1", "polarity": "light-on-dark",
        "resize": {"width": 2, "height": 2, "mode": "stretch", "interpolation": "nearest"},
    }  # fmt: skip
    data = {"t.zip": tiny.archive({"dark/a.png": picture(20), "light/b.png": picture(230)})}
    split = tiny.split(reader="images", files=["t.zip"], labels=["dark", "light"])
    split["inputs"] = [{"name": "x", "columns": []}]
    split["target"] |= {"positive": "light"}
    declared = {"x": {"image": image}}
    code, words = refused(model, data, split, inputs=declared)
    assert code == "split-unfit"
    assert "polarity" in words
    for polarity, accuracy in (("light-on-dark", 1.0), ("dark-on-light", 0.0)):
        split["inputs"][0]["polarity"] = polarity
        report = evaluate(model, data, split, inputs=declared, limits=LIMITS)
        assert values(report)["accuracy"] == accuracy
