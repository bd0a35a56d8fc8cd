"""Models that are only dangerous to run, through every task that runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.sandbox import Request
from tests import samples
from tests.engine import hostile
from tests.engine.conftest import SMALL, SUBJECT

# Every stage that runs such a bomb costs its whole limit.
SHORT = replace(SMALL, cpu_seconds=1, wall_seconds=4, job_seconds=20)
OPTIONS = {
    "conformance": {"runtime": "onnxruntime"},
    "upgrade": {"target": 18},
    "convert": {"recipe": "fp16"},
}
KILLERS = {
    "max-without-an-input": lambda: hostile.empty_input("Max"),
    "lowest-by-minus-one": lambda: hostile.overflowing("Div"),
    "normalisation": samples.layernorm_killer,
}
BOMBS = {
    "growing-loop": hostile.growing_loop,
    "expand": hostile.huge_expand,
    "wrapped-shape": hostile.overflowing_shape,
    "indices-outside": hostile.indices_outside,
    "cyclic-trees": hostile.cyclic_trees,
    "text-encoder-without-input": hostile.label_encoder,
}


@pytest.fixture
def survive(sandbox, stored):
    """Run a task; the sandbox must be the same afterwards, and the verdict the model's."""

    def run(task, content, limits=SHORT):
        sandbox.level()
        server = sandbox._server._process.pid
        places = stored({"model.onnx": content})
        request = Request(task, "model.onnx", places, SUBJECT, OPTIONS[task], limits)
        report = sandbox.run(request)
        assert report.outcome in {"passed", "failed"}, report.findings
        assert sandbox._server._process.pid == server
        return report

    return run


@pytest.mark.parametrize("task", OPTIONS)
@pytest.mark.parametrize("name", KILLERS)
def test_killers(survive, task, name):
    report = survive(task, KILLERS[name]())
    said = [finding.message for finding in report.findings]
    said += [str(measure.get("reason", "")) for measure in report.measures]
    # An upgrade that changes nothing about the node does not need to run it.
    assert any("SIG" in words for words in said) or task == "upgrade"
    assert report.outcome == "failed" or task == "upgrade"


@pytest.mark.parametrize("task", ["conformance", "convert"])
@pytest.mark.parametrize("name", BOMBS)
def test_bombs(survive, task, name):
    """A clean complaint of the library, never a verdict that the model is right."""
    report = survive(task, BOMBS[name]())
    assert all(measure.get("outcome") != "passed" for measure in report.measures)
    assert report.outcome == "failed" or task == "conformance"


def test_an_endless_loop(survive):
    report = survive("convert", hostile.endless_loop())
    assert report.outcome == "failed"
    assert "exceeded the time limit" in report.findings[0].message


def test_honest_work_goes_on(sandbox, stored, survive):
    survive("convert", KILLERS["max-without-an-input"]())
    places = stored({"model.onnx": samples.mlp()})
    report = sandbox.run(Request("check", "model.onnx", places, SUBJECT, limits=SMALL))
    assert report.outcome == "passed"
