"""Runs of several origins of data sets: one session, one load, and what its child may answer."""

from __future__ import annotations

import numpy as np
import pytest

from runners.engine.jobs import JobError
from runners.engine.onnx_files import datasets
from runners.engine.onnx_files.datasets import DataSet
from runners.engine.runs import answers, child_runs
from runners.engine.runs.child_runs import Form
from tests import samples


@pytest.fixture
def form(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(samples.add_one())
    return Form(path, tmp_path, "original")


def test_one_session_runs_the_sets_of_all_origins(form, tmp_path, monkeypatch):
    model = form.load()
    origins = []
    for name, values in (("bundled", [1.0, 2.0]), ("generated", [3.0, 4.0])):
        sets = tmp_path / "sets" / name
        inputs = {"x": np.float32(values)}
        datasets.write(sets, DataSet("test_data_set_0", "bundled", inputs), model)
        origins.append((sets, tmp_path / "runs" / name))
    loads = []
    plain = Form.open
    monkeypatch.setattr(Form, "open", lambda *args, **more: loads.append(1) or plain(*args, **more))
    answer = child_runs.run("onnxruntime", form, origins)
    assert len(loads) == 1
    for ran, (_, results), values in zip(
        answers.session(answer, 2), origins, ([2.0, 3.0], [4.0, 5.0]), strict=True
    ):
        assert (ran.refused, ran.sets) == ({}, 1)
        assert ran.seconds > 0
        [outputs] = child_runs.outputs_in(results, model)
        assert outputs.outputs["y"].tolist() == values


@pytest.mark.parametrize("count", [0, 2])
def test_a_child_that_answers_for_other_origins_is_not_believed(count):
    row = {"refused": {}, "sets": 1, "seconds": 0.1}
    with pytest.raises(JobError, match="origins"):
        answers.session({"origins": [row]}, count)


def test_time_that_a_child_claims_is_never_negative():
    [ran] = answers.session({"origins": [{"refused": {}, "sets": 1, "seconds": -5.0}]}, 1)
    assert ran.seconds == 0
