"""Outputs of a record, computed again in the real sandbox from what it says of its inputs."""

from __future__ import annotations

import json

import pytest
from onnx import TensorProto

from runners.engine.benchmark import output_agreement, verification
from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT


def curve():
    """A model of any number of rows whose outputs depend on all inputs."""
    ports = [samples.value(name, shape=("N", 3)) for name in ("x", "y")]
    made = samples.model([samples.node("Sigmoid", ["x"], ["y"])], ports[:1], ports[1:])
    return made.SerializeToString()


@pytest.fixture
def again(sandbox, stored):
    """Compute the outputs of a record's inputs with a model; gives the report."""

    def go(content, record, declared=None, **changed):
        config = record["config"]
        inputs = {
            "seed": config["seed"],
            "source": config["input_source"],
            "ports": config["inputs"],
        } | changed
        files = stored({"model.onnx": content})
        options = {"parts": [inputs], "inputs": declared}
        request = Request("recompute", "model.onnx", files, SUBJECT, options, SMALL)
        return sandbox.run(request)

    return go


def own(report):
    [row] = report.facts["outputs"]
    return row


def disagreement(record, report):
    [process] = record["processes"]
    within = output_agreement.tolerance("CPUExecutionProvider", "fp32")
    tensors = process["outputs"]["tensors"]
    return output_agreement.disagreement(tensors, own(report)["tensors"], within)


def test_a_record_holds_what_its_model_gives_for_its_challenge(measured, again):
    _, made = measured("benchmark", curve(), batch=3, seed=20_261_127)
    record = json.loads(made["record.json"])
    assert verification.problems(record) == []
    [process] = record["processes"]
    [tensor] = process["outputs"]["tensors"]
    assert tensor["shape"][0] == 3
    assert tensor["finite"] >= len(tensor["elements"]) > 0
    report = again(curve(), record)
    assert report.outcome == "passed", report.findings
    assert disagreement(record, report) == ""
    assert own(report)["repeats"] is True
    assert own(report)["fastest_ms"] > 0
    other = again(curve(), record, seed=7)
    assert "elements differ" in disagreement(record, other)


def test_inputs_that_the_model_cannot_have_are_named(measured, again):
    _, made = measured("benchmark", curve(), batch=1)
    record = json.loads(made["record.json"])
    [port] = record["config"]["inputs"]
    wrong = again(curve(), record, ports=[port | {"shape": [1, 999]}])
    assert wrong.outcome == "failed"
    assert "could not be recomputed" in wrong.findings[0].message
    missing = again(curve(), record, source="bundled test_data_set_9")
    assert "no such test data" in missing.findings[0].message


def state_of_a_cell():
    """A model that carries its state, whose inputs are a window of any length and a scalar."""
    rows = samples.value("x", shape=(1, "samples")), samples.value("rate", TensorProto.INT64, ())
    nodes = [
        samples.node("Constant", [], ["expected"], value_int=16000),
        samples.node("Equal", ["rate", "expected"], ["is_known"]),
        samples.node("Cast", ["is_known"], ["share"], to=TensorProto.FLOAT),
        samples.node("Reciprocal", ["share"], ["factor"]),
        samples.node("Mul", ["x", "factor"], ["y"]),
    ]
    out = samples.value("y", shape=(1, "samples"))
    return samples.model(nodes, list(rows), [out]).SerializeToString()


def test_a_benchmark_feeds_what_the_card_declares(measured, again):
    """At 16 kHz the outputs are finite, at any other rate none is."""
    declared = {
        "x": {"shape": [1, 576], "range": [-1, 1], "distribution": "uniform"},
        "rate": {"distribution": {"type": "one-of", "values": [16000]}},
    }
    _, made = measured("benchmark", state_of_a_cell(), inputs=declared)
    record = json.loads(made["record.json"])
    assert verification.problems(record) == []
    shapes = {port["name"]: port["shape"] for port in record["config"]["inputs"]}
    assert shapes == {"x": [1, 576], "rate": []}
    assert record["config"]["input_source"] == "declared by the card, seeded"
    [process] = record["processes"]
    [tensor] = process["outputs"]["tensors"]
    assert tensor["finite"] == 576
    report = again(state_of_a_cell(), record, declared)
    assert report.outcome == "passed", report.findings
    assert disagreement(record, report) == ""
    assert "elements differ" in disagreement(
        record, again(state_of_a_cell(), record, source="seeded")
    )
