"""The hostile corpus: every kind of model that means harm, and the least that a check must do.

Refused: no library sees it. Limited: a limit ends it. Flagged: it passes with a warning that
says what is wrong. Accepted: it is only dangerous to run, which a check does not.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runners.sandbox import Request
from tests import samples
from tests.engine import hostile
from tests.engine.conftest import SMALL, SUBJECT, codes, words

# Short: each bomb costs its whole limit.
SHORT = replace(SMALL, cpu_seconds=1, wall_seconds=6)


@pytest.mark.parametrize(
    ("build", "signal"),
    [
        (lambda: hostile.overflowing("Div"), "SIGFPE"),
        (lambda: hostile.overflowing("Div", np.int32), "SIGFPE"),
        (samples.layernorm_killer, "SIGSEGV"),
    ],
    ids=["div-int64", "div-int32", "layernorm"],
)
def test_killers_of_the_loader(run, build, signal):
    """Today's versions die of these; a newer one that does not may change this table."""
    report = run("check", build())
    assert report.outcome == "failed"
    assert report.findings[0].message == f"crashed: {signal} in runtime load."


@pytest.mark.parametrize(
    "build",
    [
        *(lambda word=word: hostile.empty_input(word) for word in ("Min", "Max", "Sum", "Mean")),
        lambda: hostile.empty_input("Max", folded=True),
        lambda: hostile.overflowing("Mod"),
        lambda: hostile.overflowing("Mod", np.int32),
        hostile.endless_loop,
        hostile.nested_loops,
        hostile.growing_loop,
        hostile.sequence_loop,
        hostile.long_scan,
        hostile.backtracking,
        hostile.huge_expand,
        hostile.huge_tile,
        hostile.huge_constant,
        hostile.huge_pad,
        hostile.huge_range,
        hostile.huge_one_hot,
        hostile.huge_roi,
        hostile.overflowing_shape,
        hostile.endless_range,
        hostile.indices_outside,
    ],
)
def test_only_running_them_is_dangerous(run, build):
    """Valid by every library's word, and loaded without being run: nothing to say against them."""
    report = run("check", build(), limits=SHORT)
    assert report.outcome == "passed"
    assert words(report)[0] == words(report)[1] == words(report)[3] == "ok"


@pytest.mark.parametrize(
    ("build", "stage"),
    [
        (hostile.dotted_einsum, "inference"),
        (hostile.wide_products, "load"),
    ],
)
def test_bombs_that_a_limit_ends(run, build, stage):
    report = run("check", build(), limits=SHORT)
    assert (report.outcome, codes(report)[0]) == ("failed", "timed-out")
    assert report.findings[0].where == stage


@pytest.mark.parametrize("build", [hostile.fanout, hostile.many_inputs, hostile.split_into])
def test_large_graphs_end_one_way_or_the_other(run, build):
    """How long these take depends on the machine; they pass, or a limit ends them."""
    report = run("check", build(), limits=SHORT)
    assert report.outcome == "passed" or codes(report)[0] in {"timed-out", "out-of-memory"}


@pytest.mark.parametrize(
    ("build", "code", "stage"),
    [
        (hostile.cyclic_trees, "runtime-load-failed", "load"),
        (hostile.backward_slice, "inference-failed", "inference"),
        (hostile.huge_pool, "inference-failed", "inference"),
        (lambda: hostile.opset(99), "runtime-unsupported", "load"),
    ],
)
def test_flagged(run, build, code, stage):
    report = run("check", build())
    assert report.outcome == "passed"
    assert [(one.code, one.severity, one.where) for one in report.findings] == [
        (code, "warning", stage)
    ]


@pytest.mark.parametrize(
    "build",
    [
        hostile.label_encoder,
        hostile.recursive_function,
        hostile.cycle,
        hostile.outer_value_as_output,
        hostile.wrong_attribute_type,
        lambda: hostile.opset(0),
        lambda: hostile.opset(hostile.INT64_MIN),
        lambda: hostile.opset(1 << 40),
    ],
)
def test_invalid_and_not_loaded(run, build):
    report = run("check", build())
    assert (report.outcome, codes(report)) == ("failed", ["checker-invalid", "runtime-load-failed"])


@pytest.mark.parametrize("heads", [0, hostile.INT64_MIN])
def test_numbers_of_heads_that_older_runtimes_died_of_are_refused(run, heads):
    report = run("check", hostile.attention(heads))
    assert (report.outcome, codes(report)) == (
        "failed", ["inference-failed", "runtime-load-failed"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (hostile.name_in_memory, "external-data-missing"),
        (hostile.sparse_outside, "external-data-outside"),
        (lambda: hostile.sparse_outside("/etc/passwd"), "external-data-outside"),
        (lambda: hostile.deep_branches(28), "over-budget"),
        (hostile.zip_bomb, "archive-file"),
        (hostile.climbing_zip, "archive-file"),
        (hostile.empty_zip, "archive-file"),
        (hostile.bz2_file, "archive-file"),
        (hostile.xz_file, "archive-file"),
        (hostile.zip_behind_a_model, "malformed"),
        (lambda: b"\x28\xb5\x2f\xfd" + bytes(64), "archive-file"),
        (lambda: b"7z\xbc\xaf\x27\x1c" + bytes(64), "archive-file"),
        (lambda: b"Rar!\x1a\x07\x01\x00" + bytes(64), "archive-file"),
    ],
)
@pytest.mark.parametrize("task", ["describe", "check"])
def test_refused_before_any_library(run, task, build, code):
    report = run(task, build())
    assert (report.outcome, codes(report)) == ("failed", [code])
    assert task == "describe" or words(report) == ["refused", *["not-run"] * 3]


def test_branches_within_bounds_are_fast(run):
    report = run("check", hostile.deep_branches(20), limits=SHORT)
    assert (report.outcome, words(report)) == ("passed", ["ok"] * 4)


@pytest.mark.parametrize(
    "build",
    [
        *(lambda version=version: hostile.ir_version(version) for version in (-1, 0, 99, 1 << 40)),
        *(
            lambda name=name: hostile.named(name)
            for name in (
                b"\xff\xfe\x80",
                b"\xed\xa0\x80",
                b"nul\x00inside",
                b"\x1b[2J\x1b]0;title\x07",
                "\u202eevitaerc\u2066".encode(),
                b"<script>alert(1)</script>",
                b"%s%n{0.__class__}",
                b"n" * 60_000,
            )
        ),
    ],
)
def test_strange_versions_and_names_are_only_words(run, build):
    """Whatever the verdict, it is one about the model, and its words fit any database."""
    report = run("check", build())
    assert report.outcome in {"passed", "failed"}
    said = json.dumps(report.to_json(), ensure_ascii=False)
    said.encode("utf-8")
    assert "\\u0000" not in said
    assert len(said) < 100_000


class TestStoredExternalData:
    """What lies in the store under an external file's name is never followed anywhere."""

    def checked(self, sandbox, stored, weights):
        places = stored(samples.with_external_data())
        places["weights.bin"] = str(weights)
        return sandbox.run(Request("check", "model.onnx", places, SUBJECT, limits=SMALL))

    def test_a_fifo_is_not_waited_for(self, sandbox, stored, tmp_path):
        os.mkfifo(tmp_path / "fifo")
        report = self.checked(sandbox, stored, tmp_path / "fifo")
        assert (report.outcome, codes(report)) == ("errored", ["input-missing"])

    @pytest.mark.parametrize("place", ["/dev/zero", "/etc", "/proc/self/environ/none"])
    def test_devices_folders_and_nothing(self, sandbox, stored, place):
        report = self.checked(sandbox, stored, Path(place))
        assert (report.outcome, codes(report)) == ("errored", ["input-missing"])

    def test_a_hard_link_gives_its_own_bytes_as_a_copy(self, sandbox, stored, tmp_path):
        """Stores may link; what a library opens has one name, so none is followed outside."""
        weights = tmp_path / "original"
        weights.write_bytes(bytes(64))
        os.link(weights, tmp_path / "linked")
        report = self.checked(sandbox, stored, tmp_path / "linked")
        assert (report.outcome, words(report)) == ("passed", ["ok"] * 4)
        assert weights.stat().st_nlink == 2
