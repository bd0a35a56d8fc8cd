"""Evaluations through the sandbox: figures, which answers count, and what is refused."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper

from hub.protocol import pairs
from tests.engine.evaluation import tiny
from tests.engine.evaluation.conftest import LIMITS
from tests.engine.evaluation.tiny import FLOAT, INT64, TEXT


def values(report):
    assert report.outcome == "passed", report.findings
    return {row["metric"]: row["value"] for row in report.measures}


def codes(report):
    return [finding.code for finding in report.findings]


def test_a_classifier_gets_figures_with_intervals(evaluate):
    report = evaluate(tiny.scores(softmax=True), tiny.csv(tiny.ROWS))
    figures = values(report)
    assert figures["accuracy"] == 0.8
    assert figures["f1-macro"] == pytest.approx((1 + 0.8 + 2 / 3) / 3)
    assert set(figures) == {"accuracy", "f1-macro", "log_loss", "roc_auc"}
    for row in report.measures:
        assert row["low"] <= row["value"] <= row["high"]
    facts = report.facts
    assert (facts["rows"], facts["resamples"]) == (5, 2000)
    methods = {row["metric"]: row["interval_method"] for row in report.measures}
    assert methods == {
        "accuracy": "Clopper-Pearson",
        "f1-macro": "bootstrap with two pseudo-rows",
        "log_loss": "studentised bootstrap",
        "roc_auc": "bootstrap with two pseudo-rows",
    }
    assert codes(report) == []


def test_the_digest_is_that_of_the_predicted_classes_in_the_order_of_the_rows(evaluate):
    report = evaluate(tiny.scores(softmax=True), tiny.csv(tiny.ROWS))
    expected = hashlib.sha256(b"0\n1\n2\n0\n0\n").hexdigest()
    assert report.facts["predictions_sha256"] == expected


def test_the_report_says_which_rows_are_right(evaluate):
    report = evaluate(tiny.scores(softmax=True), tiny.csv(tiny.ROWS))
    bits = pairs.read(report.facts["right_rows"], 5, right=4)
    assert bits is not None
    predictions = [0, 1, 2, 0, 0]
    targets = [row[-1] for row in tiny.ROWS]
    right = [one == other for one, other in zip(predictions, targets, strict=True)]
    assert f"{bits[0]:08b}"[:5] == "".join(str(int(row)) for row in right)


def test_the_same_work_gives_the_same_report(evaluate):
    reports = [evaluate(tiny.scores(), tiny.csv(tiny.ROWS)) for _ in range(2)]
    assert reports[0].measures == reports[1].measures
    assert reports[0].facts["seed"] == reports[1].facts["seed"]


def test_logits_are_scaled_and_the_report_says_so(evaluate):
    report = evaluate(tiny.scores(), tiny.csv(tiny.ROWS))
    assert codes(report) == ["scores-scaled"]
    scores = np.array([row[:3] for row in tiny.ROWS], dtype=np.float64)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    own = shares[np.arange(5), [row[3] for row in tiny.ROWS]]
    assert values(report)["log_loss"] == pytest.approx(-np.log(own).mean(), rel=1e-6)


def test_scores_that_are_neither_have_no_log_loss(evaluate):
    rows = [(0.9, 0.8, 0.1, 0), (0.2, 0.9, 0.7, 1), (0.1, 0.3, 0.4, 2)]
    report = evaluate(tiny.scores(), tiny.csv(rows))
    assert values(report).keys() == {"accuracy", "f1-macro"}
    assert set(report.facts["skipped"]) == {"log_loss", "roc_auc"}


def test_top_5_where_there_are_more_classes(evaluate):
    data = tiny.npz(x=np.tile(np.arange(7), (7, 1)), y=np.arange(7))
    split = tiny.split(reader="npz", files=["t.npz"], columns=["x"], labels=list("ABCDEFG"))
    report = evaluate(tiny.scores(7), {"t.npz": data}, split)
    assert values(report)["top-5"] == pytest.approx(5 / 7)


def test_a_fixed_batch_is_padded_and_cut(evaluate):
    whole = evaluate(tiny.scores(softmax=True), tiny.csv(tiny.ROWS))
    for batch in (1, 2, 7):
        report = evaluate(tiny.scores(batch=batch, softmax=True), tiny.csv(tiny.ROWS))
        assert report.facts["batch"] == batch
        assert report.measures == whole.measures


def test_a_model_without_a_batch_axis_runs_row_by_row(evaluate):
    model = tiny.model(
        [helper.make_node("Softmax", ["v"], ["s"], axis=0)],
        [("v", FLOAT, [3])],
        [("s", FLOAT, [3])],
    )
    assert values(evaluate(model, tiny.csv(tiny.ROWS)))["accuracy"] == 0.8


def test_values_are_reshaped_where_their_count_fits(evaluate, refused):
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Softmax", ["flat"], ["s"]),
    ]
    picture = tiny.model(nodes, [("x", FLOAT, ["n", 1, 3, 1])], [("s", FLOAT, ["n", 3])])
    assert values(evaluate(picture, tiny.csv(tiny.ROWS)))["accuracy"] == 0.8
    code, words = refused(tiny.scores(4), tiny.csv(tiny.ROWS))
    assert (code, "3 values" in words) == ("split-unfit", True)


def test_regression(evaluate):
    rows = [(1, 1.5), (2, 2.0), (4, 3.0)]
    data = tiny.csv(rows, header="a,y")
    model = tiny.model(
        [helper.make_node("Identity", ["x"], ["out"])],
        [("x", TensorProto.DOUBLE, ["n", 1])],
        [("out", TensorProto.DOUBLE, ["n", 1])],
    )
    report = evaluate(model, data, tiny.split("regression", columns=["a"]))
    figures = values(report)
    assert figures["mae"] == pytest.approx(0.5)
    assert figures["rmse"] == pytest.approx(np.sqrt(1.25 / 3))
    targets = np.array([1.5, 2.0, 3.0])
    assert figures["r2"] == pytest.approx(1 - 1.25 / ((targets - targets.mean()) ** 2).sum())
    expected = hashlib.sha256(b"1.0\n2.0\n4.0\n").hexdigest()
    assert report.facts["predictions_sha256"] == expected


NAMES = ["ant", "bee", "cat"]
NAMED = [(5, 1, 1, "ant"), (1, 4, 2, "bee"), (0, 1, 3, "cat"), (2, 1, 0, "ant"), (3, 2, 1, "cat")]


def test_names_decide_where_a_model_orders_its_classes_otherwise(evaluate):
    in_order = evaluate(tiny.labelled(NAMES, [0, 1, 2]), tiny.csv(NAMED), tiny.split(labels=NAMES))
    other = evaluate(tiny.labelled(NAMES, [2, 0, 1]), tiny.csv(NAMED), tiny.split(labels=NAMES))
    assert values(in_order)["accuracy"] == 0.8
    assert other.measures == in_order.measures
    assert other.facts["predictions_sha256"] == in_order.facts["predictions_sha256"]


def test_a_label_that_contradicts_the_scores_is_refused(refused):
    nodes = [
        helper.make_node("Identity", ["x"], ["scores"]),
        helper.make_node("ArgMin", ["x"], ["place"], axis=1, keepdims=0),
        helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        helper.make_node("Add", ["place", "best"], ["sum"]),
        helper.make_node("Mod", ["sum", "three"], ["label"]),
    ]
    model = tiny.model(
        nodes,
        [("x", FLOAT, ["n", 3])],
        [("label", INT64, ["n"]), ("scores", FLOAT, ["n", 3])],
        [("three", np.array(3))],
    )
    rows = [(5, 1, 0, 0), (5, 0, 1, 0), (1, 5, 0, 1)]
    code, words = refused(model, tiny.csv(rows))
    assert (code, words) == (
        "split-unfit",
        "The label of the model is not the class of its greatest score.",
    )


def test_labels_alone_give_accuracy_and_f1(evaluate):
    model = tiny.model(
        [helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0)],
        [("x", FLOAT, ["n", 3])],
        [("label", INT64, ["n"])],
    )
    report = evaluate(model, tiny.csv(tiny.ROWS))
    assert values(report).keys() == {"accuracy", "f1-macro"}
    assert report.facts["skipped"]["log_loss"] == "The model gives labels and no scores."


def test_maps_of_scores_are_read_by_their_keys(evaluate):
    zipmap = helper.make_node(
        "ZipMap", ["s"], ["maps"], domain="ai.onnx.ml", classlabels_strings=["cat", "ant", "bee"]
    )
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"], axis=1),
        helper.make_node("Gather", ["p", "order"], ["s"], axis=1),
        zipmap,
    ]
    graph = helper.make_graph(
        nodes,
        "maps",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 3])],
        [
            helper.make_value_info(
                "maps",
                helper.make_sequence_type_proto(
                    helper.make_map_type_proto(TEXT, helper.make_tensor_type_proto(FLOAT, []))
                ),
            )
        ],
        [helper.make_tensor("order", INT64, [3], [2, 0, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    report = evaluate(model, tiny.csv(NAMED), tiny.split(labels=NAMES))
    assert values(report)["accuracy"] == 0.8


def test_text_goes_to_inputs_of_text(evaluate):
    model = tiny.model(
        [helper.make_node("Identity", ["x"], ["label"])],
        [("x", TEXT, ["n", 1])],
        [("label", TEXT, ["n", 1])],
    )
    data = tiny.csv([("ant", "ant"), ("bee", "cat")], header="a,y")
    report = evaluate(model, data, tiny.split(columns=["a"], labels=NAMES))
    assert values(report)["accuracy"] == 0.5


def test_inputs_go_by_name_and_each_must_have_one(evaluate, refused):
    model = tiny.model(
        [helper.make_node("Concat", ["p", "q"], ["s"], axis=1)],
        [("p", FLOAT, ["n", 1]), ("q", FLOAT, ["n", 2])],
        [("s", FLOAT, ["n", 3])],
    )
    named = [{"name": "q", "columns": ["b", "c"]}, {"name": "p", "columns": ["a"]}]
    report = evaluate(model, tiny.csv(tiny.ROWS), tiny.split(inputs=named))
    assert values(report)["accuracy"] == 0.8
    assert refused(model, tiny.csv(tiny.ROWS), tiny.split(inputs=named[:1])) == (
        "split-unfit",
        "The split gives no value for the model's input 'p'.",
    )
    assert refused(model, tiny.csv(tiny.ROWS)) == (
        "split-unfit",
        "The split has an input 'x', but the model's inputs are p, q.",
    )


def test_answers_that_are_no_numbers_are_refused(refused):
    model = tiny.model(
        [helper.make_node("Log", ["x"], ["scores"])],
        [("x", FLOAT, ["n", 3])],
        [("scores", FLOAT, ["n", 3])],
    )
    rows = [(1, 2, 3, 2), (1, -2, 3, 2)]
    assert refused(model, tiny.csv(rows)) == (
        "split-unfit",
        "The model's answers to 1 of 2 rows are not finite numbers.",
    )


def test_a_constant_answer_is_measured_and_said(evaluate):
    nodes = [
        helper.make_node("Mul", ["x", "zero"], ["none"]),
        helper.make_node("Add", ["none", "same"], ["scores"]),
    ]
    model = tiny.model(
        nodes,
        [("x", FLOAT, ["n", 3])],
        [("scores", FLOAT, ["n", 3])],
        [
            ("zero", np.zeros(1, np.float32)),
            ("same", np.array([0.5, 0.3, 0.2], np.float32)),
        ],
    )
    report = evaluate(model, tiny.csv(tiny.ROWS))
    assert values(report)["accuracy"] == 0.4
    assert values(report)["roc_auc"] == 0.5
    assert codes(report) == ["constant-output"]


def test_a_wrong_number_of_classes_is_refused(refused):
    code, words = refused(tiny.scores(), tiny.csv(tiny.ROWS), tiny.split(labels=["0", "1"]))
    assert (code, words) == (
        "data-unfit",
        "The targets cannot be read: '2' is not among the labels of the split.",
    )
    code, words = refused(
        tiny.scores(), tiny.csv(tiny.ROWS), tiny.split(labels=["0", "1", "2", "3"])
    )
    assert (code, words) == (
        "split-unfit",
        (
            "No output of the model gives 4 scores or one label for each row: "
            "'scores' has 3 numbers for each row."
        ),
    )


def test_several_outputs_that_may_count_are_refused(refused):
    nodes = [
        helper.make_node("Identity", ["x"], ["logits"]),
        helper.make_node("Softmax", ["x"], ["shares"]),
    ]
    outputs = [(name, FLOAT, ["n", 3]) for name in ("logits", "shares")]
    model = tiny.model(nodes, [("x", FLOAT, ["n", 3])], outputs)
    assert refused(model, tiny.csv(tiny.ROWS)) == (
        "split-unfit",
        (
            "Several outputs of the model give 3 scores for each row, and nothing says which one "
            "counts: 'logits' and 'shares'."
        ),
    )


def test_numbers_of_a_model_that_may_be_names_or_positions_are_refused(refused):
    model = tiny.model(
        [helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0)],
        [("x", FLOAT, ["n", 3])],
        [("label", INT64, ["n"])],
    )
    rows = [(1, 5, 1, 1), (1, 2, 5, 2)]
    code, words = refused(model, tiny.csv(rows), tiny.split(labels=["1", "2", "3"]))
    assert code == "split-unfit"
    assert "may be labels of the split or positions" in words


@pytest.mark.parametrize("batch", [1, 3000])
def test_a_model_that_takes_too_long_gives_no_figure_of_a_part(refused, batch):
    side, count = 1200, 3000
    weights = np.full((side, side), 0.001, np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h0"])]
    nodes += [helper.make_node("MatMul", [f"h{k}", "w"], [f"h{k + 1}"]) for k in range(30)]
    nodes.append(helper.make_node("Slice", ["h30", "from", "to", "axis"], ["s"]))
    ends = [("from", np.array([0])), ("to", np.array([2])), ("axis", np.array([1]))]
    ports = [("x", FLOAT, [batch, side])], [("s", FLOAT, [batch, 2])]
    model = tiny.model(nodes, *ports, [("w", weights), *ends])
    data = tiny.npz(x=np.ones((count, side), np.float16), y=np.zeros(count, np.int64))
    split = tiny.split(reader="npz", files=["t.npz"], columns=["x"], labels=["a", "b"])
    code, words = refused(model, {"t.npz": data}, split, limits=replace(LIMITS, cpu_seconds=1))
    assert code == "over-budget", words
    assert re.fullmatch(
        r"The model ran [\d,]+ of 3,000 rows in the [12] seconds that an evaluation may take; "
        r"a part of the rows gives no figure\.",
        words,
    )


def test_an_evaluation_needs_its_files(evaluate):
    report = evaluate(tiny.scores(), {"other.csv": b""})
    assert (report.outcome, codes(report)) == ("errored", ["engine-error"])
