"""Runs of several origins of data sets: one session, one load, and what its child may answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.engine.jobs import JobError
from runners.engine.onnx_files import datasets
from runners.engine.onnx_files.datasets import DataSet
from runners.engine.runs import answers, child_runs
from runners.engine.runs.child_runs import ModelFile
from tests import samples


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(samples.add_one())
    return ModelFile(path, tmp_path, "original")


def test_one_session_runs_the_sets_of_all_origins(model_file, tmp_path, monkeypatch):
    model = model_file.load()
    origins = []
    for name, values in (("bundled", [1.0, 2.0]), ("generated", [3.0, 4.0])):
        sets = tmp_path / "sets" / name
        inputs = {"x": np.float32(values)}
        datasets.write(sets, DataSet("test_data_set_0", "bundled", inputs), model)
        origins.append((sets, tmp_path / "runs" / name))
    loads = []
    plain = ModelFile.open
    monkeypatch.setattr(
        ModelFile, "open", lambda *args, **more: loads.append(1) or plain(*args, **more)
    )
    answer = child_runs.run("onnxruntime", model_file, origins)
    assert len(loads) == 1
    for ran, (_, results), values in zip(answer, origins, ([2.0, 3.0], [4.0, 5.0]), strict=True):
        assert (ran.refused, ran.sets) == ({}, 1)
        assert ran.seconds > 0
        [outputs] = child_runs.outputs_in(results, model)
        assert outputs.outputs["y"].tolist() == values


@pytest.fixture
def slow(monkeypatch):
    """A clock that counts a processor second for each element that a model runs on."""
    spent = [0.0]
    plain = child_runs.runtimes.attempt

    def attempt(run, values=None):
        spent[0] += sum(value.size for value in (values or {}).values())
        return plain(run, values) if values is not None else plain(run)

    monkeypatch.setattr(child_runs.runtimes, "attempt", attempt)
    monkeypatch.setattr(child_runs.time, "process_time", lambda: spent[0])
    return spent


@pytest.mark.parametrize(
    ("budget", "names", "spent"),
    [
        (math.inf, ["1", "2", "3", "extreme"], 8),
        (8, ["1", "2", "3", "extreme"], 8),
        (7, ["1", "2", "extreme"], 5),
        (4, ["1", "extreme"], 3),
        (3, ["1", "extreme"], 3),
        (2, ["1"], 1),
        (0, ["1"], 1),
    ],
)
def test_sets_beyond_the_budget_are_left_out(model_file, tmp_path, slow, budget, names, spent):
    model, sets, results = model_file.load(), tmp_path / "sets", tmp_path / "runs"
    for name, size in (("1", 1), ("2", 2), ("3", 3), ("extreme", 2)):
        dataset = DataSet(f"generated-{name}", "generated", {"x": np.ones(size, np.float32)})
        datasets.write(sets, dataset, model)
    answer = child_runs.run("onnxruntime", model_file, [(sets, results)], budget=budget)
    [ran] = answer
    assert (ran.sets, ran.left_out, ran.refused) == (len(names), 4 - len(names), {})
    run = [child_runs.title_of(one.name) for one in child_runs.outputs_in(results, model)]
    assert run == [f"generated-{name}" for name in names]
    assert slow == [spent]


def test_the_first_set_runs_however_long_loading_took(model_file, tmp_path, monkeypatch):
    ticks = iter(range(0, 1000, 10))
    monkeypatch.setattr(child_runs.time, "process_time", lambda: float(next(ticks)))
    model, sets, results = model_file.load(), tmp_path / "sets", tmp_path / "runs"
    for name in ("1", "2"):
        dataset = DataSet(f"generated-{name}", "generated", {"x": np.ones(1, np.float32)})
        datasets.write(sets, dataset, model)
    [ran] = child_runs.run("onnxruntime", model_file, [(sets, results)], budget=5)
    assert (ran.sets, ran.left_out) == (1, 1)


@pytest.mark.parametrize("count", [0, 2])
def test_a_child_that_answers_for_other_origins_is_not_believed(count):
    row = {"refused": {}, "sets": 1, "seconds": 0.1, "left_out": 0, "shapes": []}
    with pytest.raises(JobError, match="origins"):
        answers.session([row], count)


def test_time_that_a_child_claims_is_never_negative():
    row = {"refused": {}, "sets": 1, "seconds": -5.0, "left_out": 0, "shapes": []}
    [ran] = answers.session([row], 1)
    assert ran.seconds == 0


def test_a_figure_that_no_float_can_hold_is_left_out():
    row = {"name": "y", "shape": [1], "agrees": True, "outside": 0, "max_abs": 10**400}
    answer = {"sets": ["x"], "agrees": True, "rows": [row], "worst": ""}
    [read] = answers.read(answers.Comparison, answer).rows
    assert read["max_abs"] is None
