"""Loads of benchmarks: queries that overlap, the highest rate within a bound, batches of offline.

Times that decide something are invented; the real sandbox only shows that the way there is whole.
"""

from __future__ import annotations

import json
import random
import threading
from dataclasses import asdict

import numpy as np
import pytest
from onnx import numpy_helper

from runners.engine.benchmark import (
    batches,
    bounds,
    feeds,
    loads,
    loops,
    options,
    statistics,
    summary,
    trials,
    verification,
)
from runners.engine.benchmark import record as form
from runners.engine.benchmark.requests import SessionRequest
from runners.engine.benchmark.subjects import Subject, TroubleError
from runners.engine.confine.children import Stop
from runners.sandbox import Limits, Request
from tests import samples
from tests.engine.benchmark import timings
from tests.engine.conftest import SUBJECT, codes

LIMITS = Limits(memory_bytes=2 << 30, output_bytes=4 << 20, job_seconds=120)


@pytest.fixture
def measured(sandbox, stored):
    """Measure a model in the sandbox; gives the report and the record."""

    def go(content, **given):
        made = {}

        def keep(report, folder):
            made.update({one.name: (folder / one.name).read_text() for one in report.outputs})
            return report

        files = stored({"model.onnx": content})
        request = Request("benchmark", "model.onnx", files, SUBJECT, timings.TIMED | given, LIMITS)
        report = sandbox.run(request, keep=keep)
        return report, json.loads(made["record.json"]) if made else None

    return go


def test_queries_overlap_on_as_many_callers_as_may_be_in_flight():
    """Each caller waits until all are inferring: with fewer in flight nothing would ever end."""
    together = threading.Barrier(3, timeout=10)
    pace = loops.Pace(seconds=0.0, cap_seconds=60.0, samples=9, rate_per_s=1e6)
    infers = [together.wait] * 3
    span = loops.timed("server", infers[0], pace, infers[1:])
    assert len(span.samples) == 9
    assert sorted(span.last) == [0, 1, 2]
    assert span.unserved == 0


def test_an_error_of_any_caller_ends_all_of_them():
    def fail():
        raise ValueError("lost")

    pace = loops.Pace(seconds=0.0, cap_seconds=60.0, samples=10**6, rate_per_s=1e6)
    with pytest.raises(ValueError, match="lost"):
        loops.timed("server", lambda: None, pace, [fail])


def test_queries_that_had_no_turn_before_the_cap_are_counted(monkeypatch):
    now = [0]
    monkeypatch.setattr(loops, "_clock", lambda: now[0])
    monkeypatch.setattr(loops, "_wait_until", lambda *_: 0.0)

    def infer():
        now[0] += 500_000_000

    pace = loops.Pace(seconds=1.0, cap_seconds=2.0, samples=1, rate_per_s=100.0, seed=1)
    span = loops.timed("server", infer, pace)
    # Four of half a second each fit into two seconds; about a hundred arrived in the first.
    assert len(span.samples) == 4
    assert 60 < span.unserved < 140
    draw = random.Random(1)
    arrivals, at = 0, 0.0
    while (at := at + draw.expovariate(100.0)) < 1.0:
        arrivals += 1
    assert arrivals == len(span.samples) + span.unserved


def test_every_query_of_the_timed_part_is_served_where_the_cap_allows_it(monkeypatch):
    now = [0]
    monkeypatch.setattr(loops, "_clock", lambda: now[0])
    monkeypatch.setattr(loops, "_wait_until", lambda *_: 0.0)

    def infer():
        now[0] += 15_000_000

    pace = loops.Pace(seconds=1.0, cap_seconds=4.0, samples=1, rate_per_s=100.0, seed=1)
    span = loops.timed("server", infer, pace)
    # More slowly than they arrive: the last ones are served after the second has ended.
    assert span.unserved == 0
    assert now[0] > 1_200_000_000


def trial(rate, over, *, count=1000, unserved=0, processes=1):
    allowed = statistics.overruns_allowed(count, "p99")
    estimate = 5.0 if over < allowed else 50.0
    return bounds.RateTrial(rate, count, over, unserved, estimate, processes)


def test_a_rate_is_within_the_bound_by_the_estimate_of_early_stopping():
    allowed = statistics.overruns_allowed(1000, "p99")
    assert trial(1, allowed - 1).is_within("p99")
    assert not trial(1, allowed).is_within("p99")
    assert not trial(1, 0, unserved=1).is_within("p99")
    # Too few samples decide nothing, and so are not within.
    few = bounds.RateTrial(1, 661, 0, 0, None, 1)
    assert (few.is_decided("p99"), few.is_within("p99")) == (False, False)
    assert few.is_within("p90")


def test_a_trial_counts_what_the_estimate_is_made_of():
    spread = [timings.process(1, samples=0, samples_ns=list(range(1_000_000, 1_001_000)))]
    one = bounds.RateTrial.of(10.0, spread, 1.000990, "p99")
    allowed = statistics.overruns_allowed(1000, "p99")
    assert (one.samples, one.over_bound) == (1000, 9)
    assert one.estimate_ms == (1_001_000 - allowed) / 1e6
    assert one.is_within("p99") is (one.estimate_ms <= 1.000990)
    assert bounds.RateTrial.from_record(asdict(one)) == one


@pytest.mark.parametrize("limit", [0.7, 41.0, 99.0, 100.0, 390.0])
def test_the_search_ends_close_below_the_limit(limit):
    search = bounds.Search(100.0, "p99")
    while (rate := search.next_rate()) is not None:
        search.trials.append(trial(rate, 0 if rate <= limit else 500))
    assert limit / 1.06 <= search.highest() <= limit
    assert len(search.trials) <= bounds.MOST_TRIALS


def test_a_rate_that_failed_once_is_not_taken_again():
    search = bounds.Search(100.0, "p99")
    for rate, over in ((100.0, 0), (150.0, 500), (122.0, 0), (122.0, 500)):
        search.trials.append(trial(rate, over))
    assert search.highest() == 100.0
    assert search.next_rate() == 110.0
    search.trials.append(trial(110.0, 500, processes=5))
    assert search.next_rate() == 88.0
    unbound = bounds.Search(100.0, "p99")
    while (rate := unbound.next_rate()) is not None:
        unbound.trials.append(trial(rate, 0))
    assert unbound.highest() == 507.0
    never = bounds.Search(100.0, "p99")
    while (rate := never.next_rate()) is not None:
        never.trials.append(trial(rate, 500))
    assert never.highest() is None


class Job:
    """A job whose processes are made up."""

    stop = Stop()

    def limits(self):
        return LIMITS


def server(monkeypatch, tmp_path, *, limit, alone_ms=1.0, **given):
    """A server whose p99 is 5 ms up to a rate and 50 ms above it."""
    run_options = options.Options.from_json(
        {"scenario": "server", "concurrency": 4, "latency_bound_ms": 10.0, **given}
    )
    subject = Subject(Job(), run_options, tmp_path, "model.onnx", [])

    def time(self, ordinal, **changed):
        if changed.get("scenario") == form.SINGLE_STREAM:
            return timings.process(ordinal, alone_ms)
        middle = 5.0 if self.rate_per_s <= limit else 50.0
        return timings.process(ordinal, middle, samples=700)

    monkeypatch.setattr(Subject, "time", time)
    return subject


def test_the_measurement_is_at_the_highest_rate_within_the_bound(monkeypatch, tmp_path):
    subject = server(monkeypatch, tmp_path, limit=1234.0)
    collect = lambda: [subject.time(place) for place in range(1, 6)]  # noqa: E731
    processes = trials.under_bound(subject, collect)
    assert len(processes) == 5
    assert 1234 / 1.06 <= subject.rate_per_s <= 1234
    assert subject.trials[0].rate_per_s == 4000.0  # four in flight, of 1 ms each
    assert subject.rate_per_s == bounds.highest(subject.trials, "p99")


def test_a_rate_that_only_passed_alone_is_left_for_a_lower_one(monkeypatch, tmp_path):
    subject = server(monkeypatch, tmp_path, limit=1000.0)
    asked = []

    def collect():
        asked.append(subject.rate_per_s)
        middle = 5.0 if subject.rate_per_s <= 700.0 else 50.0
        return [timings.process(place, middle, samples=700) for place in range(1, 6)]

    trials.under_bound(subject, collect)
    assert asked[0] > 950.0
    assert asked[1:] == [float(f"{rate / 1.25:.3g}") for rate in asked[:-1]]
    assert 560.0 < asked[-1] <= 700.0
    failed = [one.rate_per_s for one in subject.trials if one.processes == 5]
    assert failed == asked[:-1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"alone_ms": 11.0}, "One inference alone takes"),
        ({"limit": 0.0}, "At no rate is p99 within 10 ms"),
        ({"limit": 0.0, "bound_percentile": "p99.9"}, "too few for p99.9"),
    ],
)
def test_a_bound_that_no_rate_meets_says_so(monkeypatch, tmp_path, given, words):
    subject = server(monkeypatch, tmp_path, **{"limit": 100.0, **given})
    with pytest.raises(TroubleError, match=words) as caught:
        trials.under_bound(subject, list)
    assert caught.value.code == trials.NOT_MET


def bounded_record(p50_ms=5.0, *, rate=100.0, asked="search", tried=None, **changed):
    """A record of a server of 100 arrivals a second under a bound of 10 ms."""
    rows = [trial(100.0, 0), trial(110.0, 500)] if tried is None else tried
    bound = {
        "latency_ms": 10.0,
        "percentile": "p99",
        "rate": asked,
        "rule": bounds.RULE,
        "trials": [asdict(one) for one in rows],
    }
    plain = timings.record()
    config = plain["config"] | {
        "scenario": "server",
        "rate_per_s": rate,
        "concurrency": 4,
        "bound": bound,
    }
    made = [timings.process(place, p50_ms) for place in range(1, 11)]
    return timings.record(made, config=config | changed)


def test_throughput_under_a_bound_follows_from_the_samples():
    good, bad = bounded_record(), bounded_record(50.0)
    throughput = good["stats"]["throughput_per_s"]
    assert good["stats"]["under_bound"]["throughput_per_s"] == throughput
    assert good["status"] == "accepted"
    assert verification.problems(good) == []
    assert bad["stats"]["under_bound"]["throughput_per_s"] is None
    assert (bad["status"], bad["reasons"]) == ("noisy", ["bound-exceeded"])
    # A rate that was found is a result; one that was asked for is a condition.
    assert good["comparability"]["rate_per_s"] == "search"
    other = bounded_record(rate=90.0, tried=[trial(90.0, 0), trial(94.0, 500)])
    assert other["comparability_key"] == good["comparability_key"]
    given = bounded_record(asked="given", tried=[])
    assert given["comparability"]["rate_per_s"] == 100.0
    assert given["comparability"]["latency_bound_ms"] == 10.0
    assert verification.problems(given) == []


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"rate": 150.0}, "rate-of-trials"),
        ({"tried": [trial(100.0, 0), trial(110.0, 0)]}, "rate-of-trials"),
        ({"tried": [bounds.RateTrial(100.0, 1000, 500, 0, 5.0, 1)]}, "rate-of-trials"),
        ({"scenario": "multi_stream"}, "load-of-scenario"),
    ],
)
def test_a_rate_that_does_not_follow_from_its_trials_breaks_a_rule(changed, rule):
    assert rule in {one.rule for one in loads.broken(bounded_record(**changed))}


def test_more_callers_have_more_processor_time():
    record = bounded_record()
    doubled = [one | {"cpu_time_s": 3 * one["wall_s"]} for one in record["processes"]]
    assert not verification.problems(bounded_record() | summary.complete(
        form.measured(record | {"processes": doubled})
    ))  # fmt: skip
    alone = summary.complete(
        form.measured(
            record | {"processes": doubled, "config": record["config"] | {"concurrency": 1}}
        )
    )
    assert "cpu-time-within-wall" in {one.rule for one in verification.problems(alone)}


def row(batch, per_s, peak=100 << 20):
    return batches.BatchTrial(batch, 100, 100 * batch / per_s, peak)


def test_the_smallest_batch_near_the_highest_throughput_is_chosen():
    assert batches.best([row(1, 100), row(2, 150), row(4, 200), row(8, 203)]) == 4
    assert batches.best([row(1, 100), row(2, 90)]) == 1
    assert batches.best([]) == 1


def test_trials_of_batches_end_where_they_only_get_slower_or_too_large():
    assert not batches.is_slower([row(1, 100), row(2, 80)])
    assert not batches.is_slower([row(1, 100), row(2, 80), row(4, 95)])
    assert batches.is_slower([row(1, 100), row(2, 80), row(4, 85)])
    peaks = [row(8, 1, 400 << 20), row(16, 1, 700 << 20)]
    # Another 300 MiB for 8 rows are 600 MiB for 16.
    assert batches.is_too_large(peaks, 1600 << 20)
    assert not batches.is_too_large(peaks, 1700 << 20)


def test_offline_takes_real_batches_and_tells_what_was_tried(measured):
    report, record = measured(samples.mlp(), scenario="offline", most_batch=4)
    told = record["config"]["batches"]
    assert report.outcome == "passed"
    assert record["method"] == form.LOAD_METHOD_VERSION
    assert [one["batch"] for one in told["tried"]] in ([1, 2, 4], [1, 2])
    tried = [batches.BatchTrial.from_record(one) for one in told["tried"]]
    assert record["config"]["batch"] == batches.best(tried)
    assert record["config"]["inputs"][0]["shape"][0] == record["config"]["batch"]
    assert record["comparability"]["batch"] == batches.BY_THROUGHPUT
    assert record["comparability"]["inputs"][0][1][0] == 1
    assert verification.problems(record) == []
    other = dict(record, config=record["config"] | {"batch": 3})
    assert "batch-of-trials" in {one.rule for one in loads.broken(other)}


def test_a_batch_that_sizes_say_is_not_tried(measured):
    _, record = measured(samples.mlp(), scenario="offline", shapes={"N": 5})
    assert record["config"]["batch"] == 5
    assert "batches" not in record["config"]
    assert record["config"]["inputs"][0]["shape"][0] == 5


def fixed(rows=2):
    ports = [samples.value(name, shape=(rows, 3)) for name in ("x", "y")]
    made = samples.model([samples.node("Relu", ["x"], ["y"])], ports[:1], ports[1:])
    return made.SerializeToString()


def test_a_model_with_a_fixed_batch_stays_at_it_and_says_so(measured):
    _, record = measured(fixed(), scenario="offline")
    assert record["config"]["batch"] == 2
    assert record["config"]["batches"]["choice"] == batches.FIXED
    assert record["comparability"]["batch"] == 2
    assert verification.problems(record) == []
    assert options.Options.from_json({"scenario": "offline"}).batch == 0
    assert options.Options.from_json({"scenario": "offline", "batch": 3}).batch == 3


def test_a_server_has_queries_in_flight_and_a_rate_within_its_bound(measured):
    report, record = measured(
        samples.mlp(),
        scenario="server",
        concurrency=2,
        latency_bound_ms=600_000,
        rate_per_s=2000.0,
    )
    assert report.outcome == "passed", codes(report)
    assert record["stats"]["under_bound"]["is_within"]
    assert record["comparability"]["concurrency"] == 2
    assert record["processes"][0]["outputs"]["repeat"] == "yes"
    assert verification.problems(record) == []


def two_inputs():
    """Inputs `a` of N rows and `b` of N rows, three and W columns."""
    ports = [
        samples.value("a", shape=("N", 3)),
        samples.value("b", shape=("N", "W")),
        samples.value("y", shape=("N", None)),
    ]
    made = samples.model([samples.node("Concat", ["a", "b"], ["y"], axis=1)], ports[:2], ports[2:])
    return made.SerializeToString()


def shapes_of(tmp_path, content, **given):
    place = tmp_path / "model.onnx"
    place.write_bytes(content)
    made = feeds.make(place, tmp_path / "inputs", SessionRequest(model=str(place), **given))
    return {port.name: port.shape for port in made.ports}, made.batch


def test_a_whole_shape_binds_the_names_that_inputs_share(tmp_path):
    content = two_inputs()
    shapes, batch = shapes_of(tmp_path, content, input_shapes={"b": [4, 7]})
    assert (shapes, batch) == ({"a": [4, 3], "b": [4, 7]}, 4)
    shapes, batch = shapes_of(tmp_path, content, shapes={"W": 5}, batch=2)
    assert (shapes, batch) == ({"a": [2, 3], "b": [2, 5]}, 2)
    shapes, batch = shapes_of(tmp_path, content, shapes={"N": 6})
    assert (shapes["a"], batch) == ([6, 3], 6)


def test_a_first_dimension_that_cannot_be_one_is_a_length(tmp_path):
    """Five steps make a frame, so that the model refuses a single one."""
    ports = [samples.value("x", shape=("T", 2)), samples.value("y", shape=(None, None))]
    weight = samples.tensor("w", (2, 2, 5))
    axis = numpy_helper.from_array(np.array([0]), "axis")
    nodes = [
        samples.node("Transpose", ["x"], ["across"], perm=[1, 0]),
        samples.node("Unsqueeze", ["across", "axis"], ["one"]),
        samples.node("Conv", ["one", "w"], ["framed"]),
        samples.node("Squeeze", ["framed", "axis"], ["y"]),
    ]
    made = samples.model(nodes, ports[:1], ports[1:], [weight, axis])
    shapes, batch = shapes_of(tmp_path, made.SerializeToString())
    assert (shapes, batch) == ({"x": [128, 2]}, 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"input_shapes": {"c": [1]}}, "no input named 'c'; it has: a, b"),
        ({"input_shapes": {"a": [1]}}, "declared as Nx3"),
        ({"input_shapes": {"a": [1, 4]}}, "contradicts the input a: it is Nx3"),
        ({"input_shapes": {"a": [2, 3], "b": [3, 3]}}, "contradicts the input b: N is 2"),
        ({"input_shapes": {"a": [2, 3]}, "shapes": {"N": 4}}, "N is 4"),
        ({"input_shapes": {"a": [2, 3]}, "batch": 8}, "a batch of 2, and 8 was asked for"),
        ({"shapes": {"Q": 1}}, "no dynamic dimension named 'Q'; it has: N, W"),
    ],
)
def test_shapes_that_contradict_the_model_are_refused(tmp_path, given, words):
    with pytest.raises(feeds.UnsuitableInputError, match=words):
        shapes_of(tmp_path, two_inputs(), **given)


@pytest.mark.parametrize(
    "given",
    [
        {"concurrency": 2},
        {"scenario": "server", "concurrency": 65},
        {"latency_bound_ms": 5.0},
        {"scenario": "server", "latency_bound_ms": -1.0},
        {"scenario": "server", "latency_bound_ms": 5.0, "bound_percentile": "p98"},
        {"scenario": "server", "batch": 0},
        {"scenario": "offline", "most_batch": 0},
        {"shapes": {"n": "3"}},
        {"input_shapes": {"x": [1, 0]}},
        {"input_shapes": {"x": 3}},
    ],
)
def test_options_of_a_load_are_bounded(given):
    with pytest.raises(options.UnusableOptionError):
        options.Options.from_json(given)
