"""What follows from a record, and that nothing in it can be changed without showing."""

from __future__ import annotations

import copy
import itertools
import json
import math

import pytest

from hub.protocol import intervals
from runners.engine.benchmark import (
    power,
    statistics,
    subjects,
    summary,
    verdicts,
    verification,
)
from runners.engine.benchmark import record as form
from tests.engine.benchmark import timings

NOISE = {**timings.QUIET, "foreign_cpu": 0.5}


def noisy(count, **changed):
    return [
        timings.process(k, interference=NOISE if k <= count else timings.QUIET, **changed)
        for k in range(1, 11)
    ]


def test_a_quiet_record_is_accepted_and_verifies_after_a_trip_through_json():
    record = timings.record()
    assert (record["status"], record["reasons"]) == ("accepted", [])
    assert record["stats"]["latency_ms"]["p50"] == pytest.approx(1, rel=0.01)
    low, high = record["stats"]["p50_ci95_ms"]
    assert low < record["stats"]["p50_of_processes_ms"] < high
    assert verification.problems(json.loads(json.dumps(record))) == []


def test_a_percentile_without_enough_samples_is_withheld():
    stats = timings.record()["stats"]
    assert stats["n_samples"] == 2000
    assert stats["latency_ms"]["p99"] is not None
    assert (stats["latency_ms"]["p99.9"], stats["withheld"]) == (None, ["p99.9"])
    assert stats["early_stopping"]["p99.9"]["estimate_ms"] is None
    assert stats["early_stopping"]["p99"]["estimate_ms"] >= stats["latency_ms"]["p99"]


def test_processes_above_the_gate_do_not_count_but_are_kept():
    record = timings.record(noisy(5))
    assert record["accounting"]["kept"] == 5
    assert record["status"] == "accepted"
    assert record["accounting"]["rejected_processes"][0] == {
        "ordinal": 1,
        "reasons": ["foreign-cpu"],
    }
    assert record["stats"]["n_processes"] == 5


def test_too_few_that_count_make_a_record_noisy_over_all_that_finished():
    record = timings.record(noisy(6))
    assert (record["status"], record["reasons"]) == ("noisy", ["interference"])
    assert record["stats"]["n_processes"] == 10
    assert record["stats"]["aggregation"] == "all processes that finished"


def test_a_spread_between_processes_makes_a_record_noisy():
    processes = [timings.process(k, 1.0 if k % 2 else 1.3) for k in range(1, 11)]
    record = timings.record(processes)
    assert (record["status"], record["reasons"]) == ("noisy", ["spread-between-processes"])


def test_every_way_of_not_counting_has_its_word():
    worst = {"psi_cpu_some": 0.2, "foreign_cpu": 0.2, "steal": 0.1, "throttled": 1}
    seen = {**worst, "foreign_gpu_pids": 1}
    gate = timings.record()["gate"]
    found = summary.faults(timings.process(1, interference=seen, steady=False), gate)
    assert found == [
        *("cpu-pressure", "foreign-cpu", "steal", "throttled"),
        *("foreign-gpu-process", "not-steady"),
    ]
    hidden = dict.fromkeys(timings.QUIET, form.NOT_EXPOSED)
    assert summary.faults(timings.process(1, interference=hidden), gate) == []
    assert summary.faults(timings.process(1, samples=0, wall_s=0.0), gate) == ["died"]


def test_a_gate_can_be_narrower_but_never_wider():
    gate = {**timings.record()["gate"], "foreign_cpu": 0.9, "least_processes": 1}
    assert timings.record(noisy(6), gate=gate)["status"] == "noisy"
    narrow = {**gate, "foreign_cpu": 0.01}
    assert timings.record(gate=narrow)["accounting"]["kept"] == 0


def test_nothing_measured_is_rejected_or_failed():
    assert timings.record([])["status"] == "rejected"
    assert timings.record([])["stats"] is None
    dead = [timings.process(1, samples=0, wall_s=0.0, failure={"code": "signalled"})]
    assert timings.record(dead)["reasons"] == ["every-process-died"]
    failed = timings.record([], failure={"code": "ep-not-used", "message": "no node"})
    assert (failed["status"], failed["reasons"]) == ("failed", ["ep-not-used"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda r: r["processes"][3]["samples_ns"].__setitem__(7, 1), "accounting.samples_sha256"),
        (lambda r: r["stats"]["latency_ms"].update(p50=0.5), "stats.latency_ms.p50"),
        (lambda r: r["environment"].update(kernel="9"), "environment_digest"),
        (lambda r: r.update(comparability_key="f" * 64), "comparability_key"),
        (lambda r: r["environment"].update(cpu_model="Faster"), "comparability_key"),
        (lambda r: r.update(status="accepted", reasons=[]), "status"),
        (lambda r: r["processes"][0].update(rejected=False), "processes[0].rejected"),
        (lambda r: r["processes"][0].update(warmup_count=99), "content_sha256"),
        (lambda r: r["processes"][0]["interference"].update(foreign_cpu=0.0), "content_sha256"),
    ],
)
def test_whatever_is_changed_is_named(change, field):
    record = copy.deepcopy(timings.record(noisy(6)))
    change(record)
    assert field in [one.field for one in verification.problems(record)]


def impossible():
    """Records whose sums are right, of what cannot have been; each with the field that shows it."""

    def first(**changed):
        return [timings.process(1, **changed), *noisy(0)[1:]]

    def swept(axis, value, **more):
        config = {**timings.record()["config"], **timings.batch(8), "intra_op_threads": 2}
        inner = timings.record(config=config, **more)
        return timings.record(sweeps=[{"axis": axis, "value": value, "record": inner}])

    other = {**timings.record()["model"], "sha256": "1" * 64}
    place = "processes[0]."
    return {
        f"{place}inferences": timings.record(first(inferences=400)),
        f"{place}samples_ns": timings.record(first(queries=300, inferences=300)),
        f"{place}wall_s": timings.record(first(wall_s=2.0, cpu_time_s=1.9)),
        f"{place}wall_s ": timings.record(first(wall_s=0.001, cpu_time_s=0.001)),
        f"{place}samples_ns ": timings.record(first(kept_every=2)),
        "sweeps[0].value": swept("batch", 9),
        "sweeps[0].value ": swept("threads", 8),
        "sweeps[0].record.model.sha256": swept("threads", 2, model=other),
    }


@pytest.mark.parametrize("field", impossible())
def test_what_cannot_have_been_measured_is_named(field):
    found = verification.problems(impossible()[field])
    assert [one.field for one in found] == [field.strip()]


def test_what_was_thinned_or_died_or_came_at_random_moments_is_possible():
    thinned = timings.process(1, kept_every=3, queries=599, inferences=599, wall_s=0.6)
    dead = subjects._died(2, "signalled", "It was ended.")
    made = timings.record([thinned, dead, *noisy(0)[2:]])
    assert verification.problems(made) == []
    idle = [timings.process(k, wall_s=30.0) for k in range(1, 11)]
    config = {**timings.record()["config"], "scenario": "server", "rate_per_s": 7.0}
    made = timings.record(idle, config=config, ended_at="2026-11-22T00:10:00Z")
    assert verification.problems(made) == []


def metered(processes=None, **changed):
    """A record of a host with a meter, of processes that took more and more energy."""
    processes = processes or [
        timings.process(k, meter_j={"intel-rapl:0": 1.0 + k / 10}) for k in range(1, 11)
    ]
    told = {
        "provenance": "measured",
        "method": "RAPL energy counter",
        "boundary": "b",
        "meters": ["intel-rapl:0"],
    }
    return timings.record(processes, power=told, grid=power.grid("FRA"), **changed)


def test_the_sums_of_a_format_stay_what_they_are():
    digest = "4434fe417df00a702de3950da4302457d530ec2092374e32cad05720be8361c3"
    assert form.digest(metered()) == digest


def test_a_figure_of_an_inference_is_that_of_all_over_the_number_of_all():
    # Of unlike lengths and speeds: a mean of the processes' figures is another number.
    unlike = [
        timings.process(k, 1 + k / 5, samples=50 * k, meter_j={"intel-rapl:0": k**1.5})
        for k in range(1, 11)
    ]
    record = metered(unlike)
    energy, stats, processes = record["energy"], record["stats"], record["processes"]
    assert energy["j_per_inference"] == statistics.rounded(
        energy["energy_j"] / energy["inferences"]
    )
    low, high = energy["ci95"]
    assert low < energy["j_per_inference"] < high
    inferences = sum(one["inferences"] for one in processes)
    seconds = math.fsum(one["wall_s"] for one in processes)
    assert stats["throughput_per_s"] == statistics.rounded(inferences / seconds)
    low, high = stats["throughput_ci95_per_s"]
    assert low < stats["throughput_per_s"] < high


def test_an_output_that_the_timed_part_does_not_repeat_makes_a_process_not_count():
    outputs = {"sha256": "cd" * 32, "repeat": "no"}
    processes = [timings.process(k, outputs=outputs) for k in range(1, 11)]
    record = timings.record(processes)
    assert record["status"] == "noisy"
    assert record["processes"][0]["reasons"] == ["outputs-differ"]


@pytest.mark.parametrize("version", [0, 3, 6, 5.0, True, "5"])
def test_other_versions_of_a_record_are_refused(version):
    with pytest.raises(form.InvalidRecordError, match="it must be 5; measure again"):
        verification.problems({**timings.record(), "format_version": version})


def test_a_record_of_format_4_stays_readable():
    earlier = timings.record()
    for process in earlier["processes"]:
        del process["outputs"]["tensors"]
    told = summary.complete(form.measured(earlier) | {"format_version": 4})
    assert verification.problems(told) == []
    with pytest.raises(form.InvalidRecordError, match="missing tensors"):
        verification.problems(told | {"format_version": 5})


def test_a_host_that_shows_nothing_is_not_known_to_be_quiet():
    hidden = dict.fromkeys(timings.QUIET, form.NOT_EXPOSED)
    some = [timings.process(1, interference=hidden), *noisy(0)[1:]]
    for processes in (some, [timings.process(k, interference=hidden) for k in range(1, 11)]):
        record = timings.record(processes)
        assert (record["status"], record["reasons"]) == ("noisy", ["nothing-readable"])
    part = [timings.process(k, interference={**hidden, "steal": 0.0}) for k in range(1, 11)]
    assert timings.record(part)["status"] == "accepted"


def test_others_on_a_gpu_that_nobody_can_see_make_it_noisy():
    provider = {**timings.record()["provider"], "claimed": "CUDAExecutionProvider"}
    for seen, reasons in ((form.NOT_EXPOSED, ["gpu-not-readable"]), (0, [])):
        told = {**timings.QUIET, "foreign_gpu_pids": seen}
        processes = [timings.process(k, interference=told) for k in range(1, 11)]
        record = timings.record(processes, provider=provider)
        assert (record["status"] == "noisy", record["reasons"]) == (bool(reasons), reasons)


def test_a_changed_sweep_is_named_by_its_place():
    inner = timings.record(config={**timings.record()["config"], **timings.batch(8)})
    record = timings.record(sweeps=[{"axis": "batch", "value": 8, "record": inner}])
    assert verification.problems(record) == []
    inner["stats"]["throughput_per_s"] = 9e9
    fields = [one.field for one in verification.problems(record)]
    assert "sweeps[0].record.stats.throughput_per_s" in fields


@pytest.mark.parametrize(
    "change",
    [
        {"format": "something"},
        {"processes": [{}]},
        {"processes": [timings.process(1, samples_ns=[1.5])]},
        {"processes": [timings.process(1, samples_ns=[True])]},
        {"processes": [timings.process(1, wall_s=float("nan"))]},
        {"processes": [timings.process(1, interference={**timings.QUIET, "steal": "none"})]},
        {"power": {"provenance": "estimated"}},
        {"grid": {"region": "FRA"}},
        {"started_at": "yesterday"},
        {"extra": 1},
    ],
)
def test_what_is_no_record_is_refused(change):
    with pytest.raises(form.InvalidRecordError):
        verification.problems({**timings.record(), **change})


def test_what_may_differ_between_comparable_records():
    key = timings.record()["comparability_key"]
    same = [
        timings.record(environment={**timings.ENVIRONMENT, "python": "3.12.1"}),
        timings.record(started_at="2027-01-01T00:00:00Z"),
        timings.record(config={**timings.record()["config"], "seed": 9}),
    ]
    machine = {
        "cpu_family": "6",
        "cpu_model_number": "143",
        "cpu_stepping": "8",
        "cpu_microcode": "0x2b000603",
        "governor": "powersave",
        "turbo": "off",
        "smt": "on",
        "kernel": "6.2",
        "runtime_build": "a debug build",
    }
    other = [
        *(
            timings.record(environment={**timings.ENVIRONMENT, name: value})
            for name, value in machine.items()
        ),
        timings.record(environment={**timings.ENVIRONMENT, "runtime_version": "1.32"}),
        timings.record(config={**timings.record()["config"], "intra_op_threads": 2}),
        timings.record(config={**timings.record()["config"], "batch": 2}),
        timings.record(method="2"),
        timings.record(environment={**timings.ENVIRONMENT, "cgroup_cpu_limit": "50000 100000"}),
        timings.record(environment={**timings.ENVIRONMENT, "ep_version": "CUDA 12080"}),
        timings.record(config={**timings.record()["config"], "timed": {"least_s": 0.5}}),
        timings.record(config={**timings.record()["config"], "warmup": {"least_s": 0.3}}),
    ]
    assert {one["comparability_key"] for one in same} == {key}
    assert len({key, *(one["comparability_key"] for one in other)}) == 1 + len(other)


def test_energy_says_how_it_was_come_by_and_is_never_made_up():
    assert timings.record()["energy"]["provenance"] == "none"
    assert "j_per_inference" not in timings.record()["energy"]
    assert timings.record()["carbon"] == {"provenance": "none"}
    stated = {"provenance": "estimated", "watts_per_core": 10.0, "source": "the operator"}
    france = power.grid("fra")
    estimated = timings.record(power=stated, grid=france)
    # A millisecond of one core at ten watts.
    assert estimated["energy"]["j_per_inference"] == pytest.approx(0.01, rel=0.01)
    grams = 0.01 / 3.6e6 * france["g_per_kwh"]
    assert estimated["carbon"]["g_co2e_per_inference"] == pytest.approx(grams, rel=0.01)
    assert estimated["carbon"]["provenance"] == "estimated"
    assert timings.record(grid=france)["carbon"] == {"provenance": "none"}
    metered = [timings.process(k, meter_j={"intel-rapl:0": 4.0}) for k in range(1, 11)]
    measured = timings.record(metered, power={"provenance": "measured", "method": "RAPL"})
    assert measured["energy"]["j_per_inference"] == pytest.approx(4 / 200)
    # A processor time that nobody could read makes none of the others' either.
    hidden = [timings.process(k, cpu_time_s=form.NOT_EXPOSED) for k in range(1, 3)]
    partly = timings.record([*hidden, *(timings.process(k) for k in range(3, 11))], power=stated)
    assert (partly["energy"]["provenance"], partly["carbon"]["provenance"]) == ("none", "none")
    # A meter that gave nothing makes no figure.
    claimed = timings.record(power={"provenance": "measured", "method": "RAPL"})
    assert claimed["energy"]["provenance"] == "none"


def test_the_grid_is_asked_by_name_and_the_world_never_comes_by_default():
    assert power.grid("") is None
    assert power.grid("WORLD")["year"] < 2026
    assert len(power.regions()) > 40
    with pytest.raises(power.UnknownRegionError, match="three-letter"):
        power.grid("Quebec")


def judged(first, second, **changed):
    return verdicts.judge(timings.record(first), timings.record(second, **changed))


def side(p50, **changed):
    return [timings.process(k, p50, **changed) for k in range(1, 11)]


def wavering(p50, spread, **changed):
    """Processes on a host whose speed changes between them, and both sides with it."""
    told = {"interference": NOISE, **changed}
    return [timings.process(k, p50 * (1 + spread * (k % 5)), **told) for k in range(1, 11)]


def test_verdicts_of_a_quiet_host():
    same = judged(side(1.0), side(1.0))
    assert (same["word"], same["reasons"], same["differs"]) == ("same", [], [])
    slower = judged(side(1.0), side(1.1))
    assert (slower["word"], slower["reasons"]) == ("slower", [])
    assert slower["wall_ratio"][0] == pytest.approx(1.1, rel=0.001)
    assert judged(side(1.1), side(1.0))["word"] == "faster"
    assert judged(side(1.0), side(1.02))["word"] == "same"
    # Some pairs apart and some not: neither can be said.
    mixed = [timings.process(k, 1.0 + 0.02 * (k % 4)) for k in range(1, 11)]
    wide = judged(side(1.0), mixed)
    assert (wide["word"], wide["reasons"]) == ("inconclusive", ["interval-too-wide"])


def test_processor_time_has_to_agree():
    against = side(1.1, cpu_time_s=0.1)
    verdict = judged(side(1.0), against)
    assert (verdict["word"], verdict["reasons"]) == ("inconclusive", ["cpu-time-disagrees"])


def test_of_a_noisy_host_processor_time_decides_and_nothing_is_the_same():
    both = ["baseline-noisy", "candidate-noisy", "rejected-processes-used"]
    slower = judged(wavering(1.0, 0.3), wavering(1.1, 0.3))
    assert (slower["word"], slower["reasons"]) == ("slower", [*both, "by-cpu-time"])
    assert judged(wavering(1.1, 0.3), wavering(1.0, 0.3))["word"] == "faster"
    same = judged(wavering(1.0, 0.3), wavering(1.0, 0.3))
    assert (same["word"], same["reasons"]) == ("inconclusive", both)
    # Latency that went the other way takes the verdict back.
    odd = judged(wavering(1.0, 0.3), wavering(0.9, 0.3, cpu_time_s=0.9))
    assert (odd["word"], odd["reasons"]) == ("inconclusive", [*both, "latency-disagrees"])


def test_latency_alone_moves_nothing_on_a_noisy_host():
    """A neighbour that stands in one side's way costs time by the clock, and no processor time."""
    held_up = wavering(1.3, 0.3, cpu_time_s=0.2)
    verdict = judged(wavering(1.0, 0.3, cpu_time_s=0.2), held_up)
    assert verdict["word"] == "inconclusive"


def test_several_threads_on_a_noisy_host_take_a_wide_margin_of_latency():
    config = {"config": {**timings.record()["config"], "intra_op_threads": 2}}
    busy = {"interference": {**timings.QUIET, "foreign_cpu": 0.15}}
    tried = [timings.record(wavering(p50, 0.3, **busy), **config) for p50 in (1.0, 1.08, 1.2)]
    assert verdicts.judge(tried[0], tried[1])["word"] == "inconclusive"
    assert verdicts.judge(tried[0], tried[2])["word"] == "slower"


def test_several_threads_on_a_crowded_host_are_not_compared():
    """Where others hold the processors two threads wait for each other, and one is faster."""
    config = {"config": {**timings.record()["config"], "intra_op_threads": 2}}
    two = timings.record(wavering(1.0, 0.3), **config)
    verdict = verdicts.judge(two, timings.record(wavering(0.5, 0.3)))
    assert verdict["word"] == "inconclusive"
    assert verdict["reasons"] == [
        *("baseline-noisy", "candidate-noisy", "rejected-processes-used", "too-few-processes"),
    ]


def test_processes_that_do_not_count_decide_only_as_a_noisy_host_does():
    """Six that count make a side accepted, and are too few for an interval."""
    sides = [timings.record(noisy(4, p50_ms=p50)) for p50 in (1.0, 1.0, 1.1)]
    assert [one["status"] for one in sides] == ["accepted"] * 3
    same, slower = (verdicts.judge(sides[0], one) for one in sides[1:])
    assert (same["word"], same["reasons"]) == ("inconclusive", ["rejected-processes-used"])
    assert slower["word"] == "slower"
    assert slower["reasons"] == ["rejected-processes-used", "by-cpu-time"]
    enough = timings.record(noisy(2))
    assert verdicts.judge(enough, enough)["reasons"] == []


def test_fewer_threads_are_slower_although_they_cost_less_processor_time():
    config = {"config": {**timings.record()["config"], "intra_op_threads": 2}}
    two = timings.record(side(1.0, cpu_time_s=0.4), **config)
    one = timings.record(side(1.6, cpu_time_s=0.3))
    verdict = verdicts.judge(two, one)
    assert (verdict["word"], verdict["reasons"]) == ("slower", [])
    assert verdict["differs"] == ["intra_op_threads"]


def test_fewer_than_eight_pairs_decide_nothing():
    verdict = judged(side(1.0)[:7], side(2.0)[:7])
    assert (verdict["word"], verdict["reasons"]) == ("inconclusive", ["too-few-processes"])
    assert verdict["wall_ratio"] is None
    assert judged(side(1.0)[:8], side(2.0)[:8])["word"] == "slower"


def test_a_pair_that_lacks_a_figure_decides_nothing():
    idle = [timings.process(1, inferences=0), *side(1.0)[1:]]
    verdict = judged(side(1.0), idle)
    assert (verdict["word"], verdict["reasons"]) == ("inconclusive", ["too-few-processes"])


def test_of_two_equal_sides_the_interval_leaves_one_out_once_in_a_hundred():
    """Every way to give ten ratios to two equal sides, as chance does: Wilcoxon's promise."""
    sizes = [0.001 * 1.7**k for k in range(10)]
    outside = 0
    for signs in itertools.product((-1, 1), repeat=10):
        ratios = [math.exp(sign * size) for sign, size in zip(signs, sizes, strict=True)]
        _, low, high = intervals.paired_ratio([1.0] * 10, ratios)
        outside += low > 1 or high < 1
    assert 0 < outside <= 0.01 * 2**10


def test_records_that_were_made_apart_are_judged_apart():
    pair = [timings.record(side(p50)) for p50 in (1.0, 1.1)]
    assert verdicts.judge_apart(*pair)["word"] == "slower"
    verdict = verdicts.judge_apart(pair[0], timings.record(noisy(6, p50_ms=2.0)))
    assert (verdict["word"], verdict["reasons"][0]) == ("inconclusive", "candidate-noisy")
    few = [timings.record(side(p50)[:7]) for p50 in (1.0, 2.0)]
    verdict = verdicts.judge_apart(*few)
    assert (verdict["word"], verdict["reasons"]) == ("inconclusive", ["too-few-processes"])
    assert verdict["wall_ratio"] is None


def test_a_comparison_is_verified_like_its_records():
    pair = [timings.record(side(p50)) for p50 in (1.0, 1.1)]
    made = verdicts.complete(*pair, "AB" * 5)
    assert verification.problems(json.loads(json.dumps(made))) == []
    made["verdict"]["word"] = "same"
    assert [one.field for one in verification.problems(made)] == ["verdict.word"]


@pytest.mark.parametrize(
    "change", [{"method": "1"}, {"verdict": []}, {"order": "ABC"}, {"more": 1}]
)
def test_what_is_no_comparison_is_refused(change):
    made = verdicts.complete(timings.record(), timings.record(), "AB" * 5)
    with pytest.raises(form.InvalidRecordError, match="comparison"):
        verdicts.check(made | change)


def test_processes_that_are_no_pairs_are_refused():
    made = verdicts.complete(timings.record(), timings.record(), "AB" * 5)
    made["candidate"] = timings.record([timings.process(k) for k in range(11, 21)])
    with pytest.raises(form.InvalidRecordError, match="no pairs"):
        verdicts.check(made)


def test_the_record_without_samples_says_how_many_there_were():
    slim = form.without_samples(timings.record())
    assert slim["processes"][0]["samples_ns"] == []
    assert slim["processes"][0]["samples"] == 200
