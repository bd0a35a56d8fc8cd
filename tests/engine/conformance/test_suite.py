"""The node tests of the installed onnx package: made in parts, run whatever a case does."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from functools import partial
from types import SimpleNamespace

import numpy as np
import onnx
import pytest

from runners.engine import runtimes
from runners.engine.confine.children import Ending
from runners.engine.conformance import cases, suite
from runners.engine.jobs import Job
from runners.sandbox import Request
from tests.engine.conformance.test_conformance_optimiser import operators_in, transposed_after_int8
from tests.engine.conftest import SMALL, SUBJECT, codes

MODULES = cases.modules()


def part_of(name):
    """The part, among as many parts as modules, that holds one module's cases."""
    return MODULES.index(f"onnx.backend.test.case.node.{name}"), len(MODULES)


def test_every_module_of_the_package_is_in_exactly_one_part():
    assert len(MODULES) > 150
    dealt = [name for part in range(7) for name in MODULES[part::7]]
    assert sorted(dealt) == MODULES
    assert "onnx.backend.test.case.node.ai_onnx_ml.label_encoder" in MODULES


@pytest.fixture
def run(sandbox):
    def run_part(part, parts, **options):
        options = {"part": part, "parts": parts, **options}
        limits = SMALL.__class__(wall_seconds=60, cpu_seconds=30, memory_bytes=2 << 30)
        return sandbox.run(Request("suite", "", {}, SUBJECT, options, limits))

    return run_part


@pytest.mark.parametrize("runtime", ["onnxruntime", "onnx-reference"])
def test_a_part_runs_in_the_sandbox(run, runtime):
    report = run(*part_of("relu"), runtime=runtime)
    assert (report.outcome, report.facts["totals"]["passed"]) == ("passed", len(report.measures))
    names = {one["case"] for one in report.measures}
    assert names >= {"test_relu"}
    (one,) = [one for one in report.measures if one["case"] == "test_relu"]
    assert one == {
        "case": "test_relu",
        "operator": "Relu",
        "opset": 14,
        "outcome": "passed",
        "reason": "",
    }


def test_expanded_cases_and_other_domains_are_counted_for_their_operator(run):
    report = run(*part_of("clip"))
    assert {one["operator"] for one in report.measures} == {"Clip"}
    assert any("_expanded" in one["case"] for one in report.measures)
    report = run(*part_of("ai_onnx_ml.label_encoder"))
    assert {one["operator"] for one in report.measures} == {"ai.onnx.ml.LabelEncoder"}


def test_what_a_runtime_lacks_and_what_cannot_match_are_told_apart(run):
    report = run(*part_of("dropout"))
    found = {one["case"]: one for one in report.measures}
    assert found["test_training_dropout_default"]["outcome"] == "failed"
    assert "random" in found["test_training_dropout_default"]["reason"]
    assert found["test_dropout_default"]["outcome"] == "passed"


@pytest.mark.parametrize("options", [{"part": 3, "parts": 3}, {"part": "x"}, {"parts": 0}])
def test_a_part_that_is_none_is_our_fault(run, options):
    report = run(**{"part": 0, "parts": 1, **options})
    assert (report.outcome, codes(report)) == ("errored", ["suite-unreadable"])


def test_a_runtime_that_is_not_here_is_our_fault(run):
    assert codes(run(0, 500, runtime="tensorflow")) == ["runtime-missing"]


# --- a runtime that dies, in one process for the test ---


class DeathError(Exception):
    """Stands for a signal that would end a child."""


class Mortal:
    name = "mortal"
    optimises = False

    def __init__(self, deadly):
        self._deadly = deadly
        self.opened = Counter()

    def open(self, path, **_):
        name = onnx.load(str(path)).graph.name
        self.opened[name] += 1
        end = self._deadly.get(name)
        if end == "unsupported":
            raise runtimes.UnsupportedModelError("no kernel")
        if end == "wrong":
            return lambda _: [np.ones(1, np.float32)]
        if end:
            raise DeathError(end)
        return runtimes_of("onnx-reference").open(path)


runtimes_of = runtimes.of


@pytest.fixture
def play(tmp_path, monkeypatch):
    def play_with(deadly):
        mortal = Mortal(deadly)
        monkeypatch.setattr(runtimes, "of", lambda _: mortal)
        monkeypatch.setattr(runtimes, "names", lambda: ["mortal"])

        def stage(_name, task, **_):
            try:
                return Ending("answered", json.loads(json.dumps(task(), default=asdict)))
            except DeathError as death:
                kind = str(death)
                return Ending(kind, "SIGSEGV" if kind == "signalled" else None)

        part, parts = part_of("relu")
        (tmp_path / "work").mkdir()
        job = SimpleNamespace(
            request=SimpleNamespace(options={"runtime": "mortal", "part": part, "parts": parts}),
            work=tmp_path / "work",
            out=tmp_path / "out",
            input=tmp_path / "input",
            model=tmp_path / "input",
            stage=stage,
            tell=lambda *_: None,
            report=lambda *told: told,
        )
        job.cause = partial(Job.cause, job)
        _outcome, _findings, facts, measures, _ = suite.run(job)
        return mortal, facts, {one["case"]: one for one in measures}

    return play_with


@pytest.fixture
def made(monkeypatch):
    """Four cases instead of a module's own."""

    def write(folder, _part, _parts):
        relu = onnx.helper.make_node("Relu", ["x"], ["y"])
        port = [onnx.helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
        values = ([np.float32([-1])], [np.float32([0])])
        for number, name in enumerate("abcd"):
            graph = onnx.helper.make_graph([relu], name, port[:1], port[1:])
            model = onnx.helper.make_model(graph)
            one = SimpleNamespace(name=name, model=model, data_sets=[values], rtol=0, atol=0)
            cases_made.append(cases._write_one(folder, number, one, {name: relu}))
        (folder / "index.json").write_text(json.dumps([asdict(case) for case in cases_made]))
        return len(cases_made)

    cases_made = []
    monkeypatch.setattr(cases, "write", write)


def test_a_case_that_kills_the_runtime_costs_only_itself(made, play):
    mortal, facts, found = play({"b": "signalled", "c": "timed-out"})
    assert [found[name]["outcome"] for name in "abcd"] == [
        "passed",
        "crashed",
        "timed-out",
        "passed",
    ]
    assert "SIGSEGV" in found["b"]["reason"]
    assert facts["totals"] == {
        "passed": 2,
        "failed": 0,
        "unsupported": 0,
        "crashed": 1,
        "timed-out": 1,
    }
    # A death is seen twice: in the batch, and alone. What was done before is not done again.
    assert mortal.opened == {"a": 1, "b": 2, "c": 2, "d": 1}


def test_refusals_and_wrong_results_are_told_apart(made, play):
    _, _, found = play({"b": "unsupported", "c": "wrong"})
    assert [found[name]["outcome"] for name in "abcd"] == [
        "passed",
        "unsupported",
        "failed",
        "passed",
    ]
    assert "1 of 1 elements" in found["c"]["reason"]


# --- faults of the graph optimiser ---


def test_the_pass_that_breaks_a_case_is_named_with_the_smallest_model(tmp_path, monkeypatch):
    broken = transposed_after_int8()
    x = np.float32([[-1, 0.5, 2], [3, -0.25, 0]])
    y = -np.round(np.abs(x) / np.float32(0.1)).clip(-128, 127) * np.float32(0.1)
    sound = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    values = {"sound": (sound, np.float32([-1, 2]), np.float32([0, 2])), "broken": (broken, x, y.T)}

    def write(folder, _part, _parts):
        rows = []
        for number, (name, (model, given, expected)) in enumerate(values.items()):
            data = [([given], [expected])]
            one = SimpleNamespace(name=name, model=model, data_sets=data, rtol=1e-3, atol=1e-5)
            rows.append(cases._write_one(folder, number, one, {name: model.graph.node[0]}))
        (folder / "index.json").write_text(json.dumps([asdict(row) for row in rows]))
        return len(rows)

    def stage(_name, task, **_):
        try:
            return Ending("answered", json.loads(json.dumps(task(), default=asdict)))
        except runtimes.LoadError as error:
            return Ending("raised", [type(error).__name__, str(error)])

    monkeypatch.setattr(cases, "write", write)
    for folder in ("work", "out"):
        (tmp_path / folder).mkdir()
    job = SimpleNamespace(
        request=SimpleNamespace(options={"runtime": "onnxruntime"}),
        work=tmp_path / "work",
        out=tmp_path / "out",
        stage=stage,
        limits=lambda: SMALL,
        tell=lambda *_: None,
        report=lambda *told: told,
    )
    *_, measures, evidence = suite.run(job)
    reasons = {one["case"]: (one["outcome"], one["reason"]) for one in measures}
    assert reasons["sound"] == ("passed", "")
    outcome, reason = reasons["broken"]
    assert outcome == "unsupported"
    assert reason.startswith("the graph optimiser is at fault, since it passes without; from the")
    assert "by the pass QDQS8ToU8Transformer; the smallest model that fails has 2 nodes" in reason
    assert evidence == ["diverging-broken-QDQS8ToU8Transformer.zip"]
    assert operators_in((tmp_path / "out" / evidence[0]).read_bytes()) == [
        "DequantizeLinear",
        "Transpose",
    ]
