"""The record of a benchmark as typed facts, and nothing of what is malformed."""

from __future__ import annotations

import datetime

import pytest

from hub.protocol import benchmark_metrics
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verdicts
from runners.engine.benchmark.typed_record import Comparison, Process, Record, Stats
from tests.engine.benchmark import timings


def test_a_record_is_read_whole_and_without_its_samples():
    document = timings.record()
    whole, slim = Record.read(document), Record.read(form.without_samples(document))
    stats = document["stats"]
    assert (whole.status, whole.reasons) == (document["status"], tuple(document["reasons"]))
    assert whole.median_ms == slim.median_ms == stats["p50_of_processes_ms"] > 0
    assert whole.stats == slim.stats
    assert whole.stats.p50_ci95_ms == tuple(stats["p50_ci95_ms"])
    assert whole.stats.latency_ms["max"] == stats["latency_ms"]["max"]
    assert whole.stats.samples_needed["p99"] == 662
    assert [list(one.samples_ns) for one in whole.processes] == [
        one["samples_ns"] for one in document["processes"]
    ]
    assert not any(one.samples_ns for one in slim.processes)
    assert whole.runtime_version == document["environment"]["runtime_version"]
    assert whole.started_at <= whole.ended_at
    assert whole.ended_at.tzinfo == datetime.UTC
    assert whole.entry_sha256 == document["model"]["sha256"]
    assert whole.config.concurrency == 1


def test_a_sweep_is_a_part_of_its_record():
    step = timings.record()
    document = timings.record() | {"sweeps": [{"axis": "batch", "value": 1, "record": step}]}
    parts = Record.read(document).parts
    assert [one.data["content_sha256"] for one in parts] == [step["content_sha256"]] * 2


def test_a_comparison_has_two_records_and_the_verdict_of_its_document():
    side = timings.record()
    document = verdicts.complete(side, side, "AB")
    comparison = Comparison.read(document)
    assert comparison.baseline == comparison.candidate == Record.read(side)
    assert comparison.change == document["verdict"]["word"]
    assert comparison.reasons == tuple(document["verdict"]["reasons"])


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"stats": "none", "processes": 3, "energy": [], "config": None, "reasons": "x"},
        {"stats": {"latency_ms": {"p50": True}, "early_stopping": 5, "n_samples": "7"}},
    ],
)
def test_what_is_absent_or_malformed_is_empty(document):
    record = Record.read(document)
    assert record.stats == Stats()
    assert (record.processes, record.reasons, record.median_ms) == ((), (), 0.0)
    assert {record.value(metric) for metric in benchmark_metrics.ALL} == {None}
    assert record.provenance(benchmark_metrics.ENERGY) == "none"


def test_a_hidden_reading_keeps_its_reason_and_a_malformed_one_has_none():
    document = {"processes": [{"peak_rss_bytes": "not-applicable", "session_load_ms": [1]}]}
    assert Record.read(document).processes == (Process(peak_rss_bytes="not-applicable"),)
