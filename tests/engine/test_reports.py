"""A report survives the journey as JSON, and nothing else is taken for one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hub.protocol import strict
from runners.engine.reports import Finding, OutputFile, Report, stored_findings

REPORT = Report(
    task="check",
    versions={"onnx": "1.23.2"},
    subject="ab" * 32,
    outcome="failed",
    findings=(Finding("truncated", "error", "The file ends early.", "model.onnx"),),
    facts={"verdicts": {}},
    measures=[{"name": "cpu"}],
    outputs=[OutputFile("a.onnx")],
    seconds=1.5,
)


def test_round_trip():
    assert Report.from_json(json.loads(json.dumps(REPORT.to_json()))) == REPORT


def test_keys_of_a_newer_engine_are_left_out():
    assert Report.from_json(REPORT.to_json() | {"extra": 1}) == REPORT


def without(key):
    return {name: said for name, said in REPORT.to_json().items() if name != key}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "report",
        {},
        without("facts"),
        REPORT.to_json() | {"outcome": "great"},
        REPORT.to_json() | {"subject": "AB" * 32},
        REPORT.to_json() | {"subject": "ab"},
        REPORT.to_json() | {"seconds": -1},
        REPORT.to_json() | {"seconds": True},
        REPORT.to_json() | {"seconds": float("nan")},
        REPORT.to_json() | {"versions": {"onnx": 1}},
        REPORT.to_json() | {"facts": []},
        REPORT.to_json() | {"measures": {}},
        REPORT.to_json() | {"outputs": ["a"]},
        REPORT.to_json() | {"task": None},
        REPORT.to_json() | {"findings": {}},
        REPORT.to_json() | {"findings": [{"code": "a"}]},
        REPORT.to_json()
        | {"findings": [{"code": "Not Kebab", "severity": "info", "message": "", "where": ""}]},
        REPORT.to_json()
        | {"findings": [{"code": "a", "severity": "loud", "message": "", "where": ""}]},
    ],
)
def test_what_is_no_report_is_refused(data):
    with pytest.raises(strict.UnreadableError):
        Report.from_json(data)


def test_a_stored_report_is_read_back():
    stored = json.loads(json.dumps(REPORT.to_json()))
    assert Report.stored(stored) == replace(REPORT, seconds=0.0)
    stored["outputs"] = [{"name": "a.onnx", "sha256": "cd" * 32}, {"name": "b.onnx"}]
    assert Report.stored(stored).files == {"a.onnx": "cd" * 32}


@pytest.mark.parametrize("shape", [None, 3, "x", [1, {}], {"a": 2}, [[None]]])
def test_a_stored_report_of_any_shape_is_no_error(shape):
    assert Report.stored(shape).outcome == "errored"
    report = Report.stored(dict.fromkeys(REPORT.to_json(), shape))
    assert (report.files, report.seconds) == ({}, 0.0)


def test_stored_findings_are_told_once_and_never_louder_than_known():
    row = {"code": "truncated", "severity": "loud", "message": "The file ends early."}
    assert stored_findings([row, 3, row]) == (Finding("truncated", "info", "The file ends early."),)
