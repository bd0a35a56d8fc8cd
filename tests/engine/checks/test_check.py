"""Verdicts of every stage, for models good, strange and hostile, through the whole sandbox."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from runners.sandbox import Limits
from tests import samples
from tests.engine.conftest import SMALL, codes, words

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
NOT_RUN = ["not-run"] * 3


@pytest.mark.parametrize(
    "sample",
    [
        samples.mlp,
        samples.add_one,
        samples.conv,
        samples.with_external_data,
        samples.with_functions,
        samples.with_branches,
        samples.quantised,
        samples.zip_map,
    ],
)
def test_good_models_pass(run, sample):
    report = run("check", sample())
    assert words(report) == ["ok"] * 4
    assert (report.outcome, report.findings) == ("passed", ())


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_models_that_onnx_ships_pass(run, path):
    report = run("check", path.read_bytes(), limits=Limits())
    assert words(report) == ["ok"] * 4
    assert (report.outcome, report.findings) == ("passed", ())


def test_operators_are_resolved_to_their_version(run):
    operators = run("check", samples.mlp()).facts["operators"]
    assert {one["name"]: one["since_version"] for one in operators} == {
        "Gemm": 13,
        "Relu": 14,
        "Softmax": 13,
    }


def test_external_data_in_a_folder_of_its_own(run):
    made = samples.external_proto("data/w.bin").SerializeToString()
    files = {"onnx/model.onnx": made, "onnx/data/w.bin": bytes(64), "README.md": b"other"}
    report = run("check", files, entry="onnx/model.onnx")
    assert words(report) == ["ok"] * 4


@pytest.mark.parametrize(
    ("sample", "verdicts", "outcome", "expected"),
    [
        (
            samples.unknown_domain,
            ["ok", "ok", "ok", "unsupported"],
            "passed",
            {"needs-operator-set": "warning"},
        ),
        (
            samples.newer_opset,
            ["ok", "ok", "ok", "unsupported"],
            "passed",
            {"runtime-unsupported": "warning"},
        ),
        (
            samples.inference_invalid,
            ["ok", "ok", "invalid", "ok"],
            "passed",
            {"inference-failed": "warning"},
        ),
        (
            samples.checker_invalid,
            ["ok", "invalid", "invalid", "invalid"],
            "failed",
            {"checker-invalid": "error", "runtime-load-failed": "warning"},
        ),
        (
            samples.split_killer,
            ["ok", "ok", "crashed", "not-run"],
            "failed",
            {"crashed": "error"},
        ),
        (
            samples.layernorm_killer,
            ["ok", "ok", "ok", "crashed"],
            "failed",
            {"crashed": "error"},
        ),
        (samples.int_min_div, ["ok", "ok", "ok", "crashed"], "failed", {"crashed": "error"}),
        (samples.lfs_pointer, ["refused", *NOT_RUN], "failed", {"git-lfs-pointer": "error"}),
        (samples.pickle_file, ["refused", *NOT_RUN], "failed", {"pickle-file": "error"}),
        (samples.truncated, ["refused", *NOT_RUN], "failed", {"truncated": "error"}),
        (samples.deep_nesting, ["refused", *NOT_RUN], "failed", {"over-budget": "error"}),
        (
            lambda: samples.with_external_data(location="../../etc/passwd"),
            ["refused", *NOT_RUN],
            "failed",
            {"external-data-outside": "error"},
        ),
        (
            lambda: {"model.onnx": samples.with_external_data()["model.onnx"]},
            ["refused", *NOT_RUN],
            "failed",
            {"external-data-missing": "error"},
        ),
    ],
)
def test_verdicts(run, sample, verdicts, outcome, expected):
    report = run("check", sample())
    assert words(report) == verdicts
    assert report.outcome == outcome
    assert {finding.code: finding.severity for finding in report.findings} == expected


def test_two_libraries_that_call_it_invalid_refuse_a_file(run):
    report = run("check", samples.unfit_product())
    assert words(report) == ["ok", "ok", "invalid", "invalid"]
    assert report.outcome == "failed"
    assert {finding.code: finding.severity for finding in report.findings} == {
        "inference-failed": "error",
        "runtime-load-failed": "warning",
    }


def test_a_crash_names_its_signal_and_stage(run):
    finding = run("check", samples.layernorm_killer()).findings[0]
    assert finding.message == "crashed: SIGSEGV in runtime load."
    finding = run("check", samples.split_killer()).findings[0]
    assert finding.message == "crashed: SIGABRT in strict inference."


def test_an_unknown_operator_set_is_named(run):
    finding = run("check", samples.unknown_domain()).findings[0]
    assert finding.message.startswith("Valid, needs operator set 'com.acme'")


def test_text_models_are_not_to_blame_for_a_missing_locale(run):
    report = run("check", samples.text_model())
    assert report.outcome == "passed"
    if report.facts["verdicts"]["load"]["verdict"] == "unsupported":
        assert codes(report) == ["locale-missing"]
    else:
        assert words(report) == ["ok"] * 4


def test_messages_hold_no_scratch_folder(run, tmp_path_factory):
    report = run("check", samples.checker_invalid())
    said = repr(report.to_json())
    assert "/input" not in said
    assert "hub-job-" not in said
    assert "onnxruntime_src" not in said


def test_a_memory_bomb_runs_out_of_memory(run):
    limits = replaced(memory_bytes=600 << 20)
    report = run("check", samples.memory_bomb(), limits=limits)
    assert words(report) == ["ok", "ok", "ok", "out-of-memory"]
    assert (report.outcome, codes(report)) == ("failed", ["out-of-memory"])


def test_a_computing_bomb_runs_out_of_time_which_counts(run, sandbox):
    before = sandbox.cpu_seconds() or 0.0
    report = run("check", samples.function_doubling(), limits=replaced(cpu_seconds=1))
    # The limit is counted in ticks of the clock, which may be more than what was used.
    assert sandbox.cpu_seconds() - before > 0.5
    assert words(report)[:2] == ["ok", "ok"]
    assert "timed-out" in words(report)
    assert (report.outcome, codes(report)) == ("failed", ["timed-out"])


def test_waiting_counts_too(run):
    limits = replaced(wall_seconds=0.5)
    report = run("check", samples.function_doubling(), limits=limits)
    assert (report.outcome, codes(report)) == ("failed", ["timed-out"])


def test_too_many_nodes_are_refused(run):
    report = run("check", samples.many_nodes(260_000))
    assert (report.outcome, codes(report)) == ("failed", ["over-budget"])


def replaced(**changes):
    from dataclasses import replace

    return replace(SMALL, **changes)
