from __future__ import annotations

import json

import pytest

from hub.cli import command
from hub.client import evaluations
from hub.protocol import problems
from tests.unit.client.conftest import make_model

ROW = {
    "job": "j1",
    "metric": "accuracy",
    "value": 0.8,
    "low": 0.7,
    "high": 0.9,
    "interval_level": 95,
    "claimed": 0.95,
    "less_than_claimed": True,
}
NONE = {"low": None, "high": None, "interval_level": None}
OTHER = (
    ROW | NONE | {"metric": "log_loss", "value": 1.5, "claimed": None, "less_than_claimed": False}
)
OLD = ROW | {"job": "j0", "value": 0.5}


@pytest.fixture
def ones(fake):
    fake.add("zoo/ones", make_model())
    fake.evaluations = [OLD, ROW, OTHER]
    fake.job_steps = [{"state": "queued"}, {"state": "succeeded", "report": {}}]
    return fake


def test_an_evaluation_is_asked_for_followed_and_returned(client, ones, pauses):
    assert evaluations.evaluate(client, "ones", "stones@2:test", progress=False) == [ROW, OTHER]
    assert ones.wishes == [{"dataset": "stones", "split": "test", "version": 2}]
    ones.job_steps = [{"state": "succeeded", "report": {}}]
    evaluations.evaluate(client, "ones:main", "Stones:held out", progress=False)
    assert ones.wishes[1] == {"dataset": "stones", "split": "held out", "variant": "main"}


def test_a_failed_evaluation_says_why(client, ones):
    finding = {"severity": "error", "code": "split-unfit", "message": "It does not fit."}
    ones.job_steps = [{"state": "failed", "report": {"findings": [finding]}}]
    with pytest.raises(problems.JobFailed, match="It does not fit"):
        evaluations.evaluate(client, "ones", "stones:test")


@pytest.mark.parametrize("written", ["", "stones", "stones@:test", "stones@0:test", ":test"])
def test_what_names_no_split_is_refused_before_anything_is_sent(client, ones, written):
    with pytest.raises(problems.InvalidRequest, match=r"digits@1:test"):
        evaluations.evaluate(client, "ones", written)
    assert ones.wishes == []


@pytest.mark.usefixtures("default")
def test_the_command_prints_figures_beside_claims(ones, capsys, monkeypatch):
    monkeypatch.setattr("hub.client.checks.LONGEST_POLL_SECONDS", 0.0)
    assert command.main(["evaluate", "ones", "--on", "stones:test", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "accuracy  0.8000  [95 %: 0.7000, 0.9000]  claimed 0.9500  less than claimed",
        "log_loss  1.5000",
    ]
    ones.job_steps = [{"state": "queued"}]
    assert command.main(["evaluate", "ones", "--on", "stones:test", "--no-wait", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "queued"
    ones.job_steps, ones.evaluations = [{"state": "succeeded", "report": {}}], []
    assert command.main(["evaluate", "ones", "--on", "stones:test", "--quiet"]) == 1
    assert "no figure" in capsys.readouterr().err
