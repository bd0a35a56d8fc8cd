"""Benchmarks as rows: what a child may say, what counts and is ranked, what is kept for ever."""

from __future__ import annotations

import copy
import json
import random
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core import outbox
from registry.models import Event, RegisteredModel
from runners.benchmarks import (
    calibrations,
    comparisons,
    contributions,
    machines,
    rankings,
    record_checks,
    records,
    samples,
    scheduling,
    selectors,
    timelines,
    timing_jobs,
)
from runners.engine.benchmark import record as form
from runners.engine.benchmark import summary
from runners.models import Comparison, Environment, Host, Job, Measurement, Worker
from runners.proofs import verification
from runners.queue import order, services
from runners.worker_features import WorkerFeatures
from tests import factories, proven, shared, timed
from tests import samples as models

pytestmark = pytest.mark.django_db


def row_of(version, median_ms=1.0, **more):
    """A result without the deliveries that other tests are about."""
    return timed.benchmark(version, median_ms, deliver=False, **more)


def model_version(owner, of=None, contents=None):
    return factories.version(owner, of or factories.model(owner), contents)


GUEST = AnonymousUser()
OFFERED = {
    "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
    "runtimes": {"onnxruntime": "1.31.1"},
    "providers": ["CPUExecutionProvider", "AzureExecutionProvider"],
}


@shared.rows
def start():
    return model_version(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def entry_of(version):
    return version.files.get(path="model.onnx").blob_id


def test_a_record_becomes_a_row_with_its_files(version):
    row = row_of(version, 1.5)
    assert (row.status, row.origin, row.scenario) == ("accepted", "measured", "single_stream")
    assert row.p50_ms == pytest.approx(1.5, rel=0.02)
    assert row.p50_low_ms <= 1.5 * 1.01
    assert row.p90_ms >= row.p50_ms
    assert row.p99_ms is None  # a hundred samples support no such percentile
    assert (row.processes, row.samples) == (5, 100)
    assert (row.device, row.device_title) == ("example-cpu-2-cores", "Example CPU, 2 cores")
    assert row.environment.parts["os"] == "Linux"
    assert (row.energy_j, row.energy_provenance) == (None, "none")
    assert row.record["processes"][0]["samples_ns"] == []
    assert row.record_file.path.startswith("benchmarks/")
    assert row.samples_file.derived
    assert [len(one.samples_ns) for one in samples.of(row)] == [20] * 5
    lines = list(samples.csv(row))
    assert len(lines) == 101
    assert lines[1].startswith("0,0,1,0,")
    assert Event.objects.filter(verb="benchmark.added").count() == 1


def test_what_is_shown_and_ranked_is_the_middle_of_its_own_interval(version):
    """One process with most of the samples moves the median of all samples out of it."""
    draw = random.Random(0)
    most = timed.process(0, [900_000 + draw.randint(-500, 0) for _ in range(1000)])
    rest = [timed.process(n, timed.scattered(1, 20, n)) for n in range(1, 5)]
    row = row_of(version, processes=[most, *rest])
    stats = row.record["stats"]
    assert stats["latency_ms"]["p50"] < row.p50_low_ms < row.p50_ms < row.p50_high_ms
    assert row.p50_ms == stats["p50_of_processes_ms"]
    # The percentiles of all samples stay in the record where they lie below.
    assert stats["latency_ms"]["p90"] <= 0.9
    assert row.p90_ms is None
    assert row.p95_ms >= row.p50_ms


def test_the_same_report_is_taken_once(version):
    row = row_of(version)
    assert records.take(row.job) == 0
    assert Measurement.objects.count() == 1


def test_a_sweep_is_a_result_for_each_step(version):
    sha256 = entry_of(version)
    sweeps = [
        {"axis": "batch", "value": batch, "record": timed.record(sha256, config={"batch": batch})}
        for batch in (2, 4)
    ]
    row = row_of(version, sweeps=sweeps)
    rows = Measurement.objects.filter(job=row.job).order_by("ordinal")
    assert [(one.ordinal, one.batch) for one in rows] == [(0, 1), (1, 2), (2, 4)]
    assert len({one.comparability_key for one in rows}) == 3
    assert [len(samples.of(one)) for one in rows] == [5, 5, 5]


def faked(sha256):
    """Records that a child which was taken over might write, each with a word on what is wrong."""
    right = timed.record(sha256)
    found = {}
    for name in ("stats", "status", "key", "samples", "digest", "other file", "no object", "zero"):
        found[name] = copy.deepcopy(right)
    found["stats"]["stats"]["latency_ms"]["p50"] = 0.001
    found["status"] = copy.deepcopy(timed.record(sha256, spread=0.3)) | {"status": "accepted"}
    found["key"]["comparability_key"] = "0" * 64
    found["samples"]["processes"][2]["samples_ns"][3] = 7
    found["digest"]["environment"]["cpu_model"] = "A faster CPU"
    found["other file"] = timed.record("ab" * 32)
    found["no object"] = [right]
    zero = timed.measured(sha256) | {"processes": [timed.process(n, [0] * 20) for n in range(5)]}
    found["zero"] = summary.complete(zero)
    found["NUL"] = timed.record(sha256, environment={"os": "Li\x00nux"})
    found["surrogate"] = timed.record(sha256, environment={"os": "Li\ud800nux"})
    found["batch"] = timed.record(sha256, config={"batch": 2**40})
    found["infinite"] = copy.deepcopy(right)
    found["infinite"]["stats"]["latency_ms"]["mean"] = "Infinity"
    found["another count"] = timed.record(
        sha256, processes=[timed.process(0, [1_000_000] * 20, inferences=4000)]
    )
    found["huge"] = timed.record(sha256, environment={str(n): "x" * 1000 for n in range(100)})
    return found


FAKES = faked("00" * 32)


@pytest.mark.parametrize("name", FAKES)
def test_what_does_not_add_up_is_no_result(name):
    job = Job(kind="benchmark", subject="00" * 32)
    found = record_checks.vetted(job, timed.report(FAKES[name]))
    assert (found.outcome, found.facts, found.outputs) == ("errored", {}, [])
    assert found.findings[-1].code == "record-invalid"


def test_a_child_cannot_tell_of_more_time_than_there_was(version):
    job, told = timed.running(version), timed.record(entry_of(version), 100.0)
    assert record_checks.vetted(job, timed.report(told, seconds=60.0)).outcome == "passed"
    assert record_checks.vetted(job, timed.report(told, seconds=2.0)).outcome == "errored"


def test_facts_of_a_report_are_not_believed(version):
    job, told = timed.running(version), timed.record(entry_of(version))
    report = timed.report(told)
    lie = {"record": form.without_samples(told) | {"status": "accepted", "stats": None}}
    object.__setattr__(report, "facts", lie)
    assert record_checks.vetted(job, report).facts == {"record": form.without_samples(told)}


def test_a_failed_run_is_kept_as_such_and_has_no_rank(version):
    failure = {"code": "ep-not-used", "message": "The provider did nothing."}
    job = timed.running(version)
    told = timed.record(entry_of(version), failure=failure)
    report = record_checks.vetted(job, timed.report(told, outcome="failed"))
    assert services.finish(job, report)
    outbox.deliver()
    row = Measurement.objects.get()
    assert (row.status, row.reasons) == ("failed", ["ep-not-used"])
    assert rankings.across(GUEST, rankings.Selection()).items == ()
    assert selectors.newest(GUEST) == []


NONSENSE = [
    {"status": "quick"},
    {"origin": "contributed"},
    {"job_id": None},
    {"p50_ms": None},
    {"p50_ms": 0.0},
    {"samples": 0},
    {"p50_low_ms": None},
    {"p50_low_ms": 9.0},
    {"p90_ms": 0.1},
    {"comparability_key": "short"},
    {"energy_j": 1.0},
    {"energy_provenance": "estimated"},
    {"carbon_g": 1.0, "carbon_provenance": "measured"},
    {"batch": 0},
    {"device": "No slug"},
    {"scenario": "burst"},
]


def test_the_database_refuses_rows_that_say_nonsense(version):
    row = row_of(version)
    values = {
        field.attname: getattr(row, field.attname)
        for field in Measurement._meta.concrete_fields
        if not field.primary_key
    }
    with pytest.raises(IntegrityError), transaction.atomic():
        Measurement.objects.create(**values)  # a second one of the same job
    values["job_id"] = timed.running(version, again=True).pk
    for change in NONSENSE:
        with pytest.raises(IntegrityError), transaction.atomic():
            Measurement.objects.create(**values | change)
    Measurement.objects.create(**values)


def test_what_was_measured_is_never_changed(version):
    row_of(version)
    for change in ("runners_measurement SET p50_ms = 0.5", "runners_environment SET parts = '{}'"):
        with (
            pytest.raises(IntegrityError),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"UPDATE {change}")


def test_one_environment_for_equal_machines(version):
    row_of(version, 1.0)
    row_of(version, 2.0)
    row_of(version, 1.0, environment={"python": "3.12.1"})
    assert Environment.objects.count() == 2
    # Another Python alone does not forbid a comparison; another kernel does.
    assert Measurement.objects.values("comparability_key").distinct().count() == 1
    row_of(version, 1.0, environment={"kernel": "6.18"})
    assert Measurement.objects.values("comparability_key").distinct().count() == 2


def test_the_newest_accepted_counts_and_old_ones_stay(version):
    first, second = row_of(version, 1.0), row_of(version, 2.0)
    noisy = row_of(version, 3.0, spread=0.3)
    assert noisy.status == "noisy"
    assert selectors.of_version(version) == [second]
    assert len(selectors.of_version(version, with_history=True)) == 3
    assert set(selectors.history_of(second)) == {first, second, noisy}


def test_lists_and_charts_show_the_newest_accepted_not_the_newest(version):
    row_of(version, 1.0)
    firm, noisy = row_of(version, 2.0), row_of(version, 3.0, spread=0.3)
    assert (firm.comparability_key, noisy.status) == (noisy.comparability_key, "noisy")
    assert timelines.of_newest(GUEST, device=firm.device).rows == [firm]
    assert timelines.of_newest(GUEST, runtime="onnxruntime").rows == [firm]
    key = firm.comparability_key
    assert timelines.over_versions(GUEST, version.model, key) == [firm]


def test_contributed_results_push_none_of_the_hubs_own_out(version, bob, monkeypatch):
    mine = [row_of(version, 1.0, config={"batch": batch}) for batch in (1, 2)]
    for batch in (4, 5, 6):
        told = timed.contributed(version, bob, config={"batch": batch})
        given = contributions.contribute(bob, version=version, text=json.dumps(told))
        [sent] = contributions.results_of(timed.recomputed(given))
    monkeypatch.setattr(selectors, "RESULTS", 2)
    monkeypatch.setattr(selectors, "CONTRIBUTED", 1)
    found = selectors.listing_of(version)
    assert (set(found.rows), found.left_out) == ({*mine, sent}, 2)
    assert set(selectors.of_version(version)) == {*mine, sent}
    assert selectors.listing_of(version, with_history=True).left_out == 2
    monkeypatch.setattr(timelines, "MOST", 2)
    monkeypatch.setattr(timelines, "MOST_CONTRIBUTED", 1)
    for found in (
        timelines.of_newest(GUEST, device=sent.device),
        timelines.of_newest(GUEST, runtime="onnxruntime"),
    ):
        assert (set(found.rows), found.left_out) == ({*mine, sent}, 2)


def test_a_result_counts_only_while_its_variant_is_the_file_that_was_run(version):
    proven.convert(version)
    row = row_of(version, variant="int8")
    assert selectors.of_version(version) == [row]
    proven.convert(version, b"another int8")
    row = selectors.one(version, row.pk)
    assert not selectors.counts(row)
    assert selectors.of_version(version) == []
    assert rankings.across(GUEST, rankings.Selection()).items == ()


@pytest.mark.usefixtures("lists")
def test_ranks_stay_inside_a_key_and_noise_has_none(version, ada):
    other = model_version(ada, factories.model(ada, "other"))
    fast, slow = row_of(version, 1.0), row_of(other, 2.0)
    apart = row_of(other, 0.1, config={"batch": 2})
    row_of(version, 0.5, spread=0.3, config={"batch": 2})
    found = rankings.across(GUEST, rankings.Selection()).items
    assert {(one.row, one.rank) for one in found} == {(fast, 1), (slow, 2), (apart, 1)}
    assert [one.row for one in found if one.row != apart] == [fast, slow]
    [group] = [
        group for group in selectors.groups(selectors.of_version(version)) if group.first.batch == 2
    ]
    assert (group.ranked, len(group.unranked)) == ((), 1)
    assert selectors.rank_of(group.unranked[0], group) is None
    assert selectors.fastest(selectors.of_version(version)) == fast


@pytest.mark.usefixtures("lists")
def test_pages_of_standings_go_on_and_name_their_keys(version, ada):
    rows = [row_of(version, 1.0)]
    for number, median in enumerate((3.0, 2.0)):
        more = model_version(ada, factories.model(ada, f"more{number}"))
        rows.append(row_of(more, median))
    page = rankings.across(GUEST, rankings.Selection(), limit=2)
    rest = rankings.across(GUEST, rankings.Selection(), limit=2, cursor=page.next)
    assert [(one.row, one.rank) for one in (*page.items, *rest.items)] == [
        (rows[0], 1),
        (rows[2], 2),
        (rows[1], 3),
    ]
    [key] = page.keys
    assert (key.device, key.results) == ("example-cpu-2-cores", 3)
    assert rankings.across(GUEST, rankings.Selection(sort="throughput")).items[0].row == rows[0]
    assert rankings.across(GUEST, rankings.Selection(sort="energy")).items == ()
    with pytest.raises(problems.InvalidRequest):
        rankings.across(GUEST, rankings.Selection(sort="p99"))


def test_what_is_private_shows_nowhere(version, ada, bob):
    row = row_of(version)
    RegisteredModel.objects.update(visibility="private")
    for somebody in (GUEST, bob):
        assert rankings.across(somebody, rankings.Selection()).keys == ()
        assert selectors.newest(somebody) == []
        assert machines.devices(somebody) == []
        assert machines.runtimes(somebody) == []
        with pytest.raises(problems.NotFound):
            machines.environment(somebody, row.environment_id)
        with pytest.raises(problems.NotFound):
            machines.device(somebody, row.device)
    assert machines.environment(ada, row.environment_id) == row.environment
    assert machines.device(ada, row.device).measurements == 1


@pytest.mark.usefixtures("lists")
def test_lists_take_as_many_questions_for_many_as_for_few(
    version, ada, django_assert_max_num_queries
):
    for number in range(3):
        row_of(version, 1.0, config={"batch": number + 1})
    with django_assert_max_num_queries(3):
        rows = selectors.of_version(version)
        assert len(selectors.groups(rows)) == 3
        assert selectors.choices(rows)["batch"] == [1, 2, 3]
        assert [row.environment.digest for row in rows]
    with django_assert_max_num_queries(3):
        for one in rankings.across(GUEST, rankings.Selection()).items:
            assert one.row.variant.version.model.ref


@pytest.fixture
def bench(db):
    services.see("w1", host="h1", pool="bench-cpu", features=OFFERED)


def queued(kind="benchmark"):
    return list(Job.objects.filter(kind=kind, state=Job.State.QUEUED))


def test_publishing_queues_a_benchmark_alone_on_its_host_as_first_evidence(ada, bench):
    version = factories.submitted(ada)
    factories.work(limit=2)
    [job] = queued()
    assert (job.pool, job.queue, job.exclusive) == ("bench-cpu", "bench-cpu", "host")
    assert job.priority == order.FIRST
    assert job.requires == {"runtime": "onnxruntime", "provider": "CPUExecutionProvider"}
    assert job.version == version
    assert scheduling.schedule_missing(job.version) == 0


def test_nothing_is_queued_where_nobody_would_do_it_or_it_is_off(version, bench, settings):
    settings.HUB_BENCH = "off"
    assert scheduling.schedule_missing(version) == 0
    Worker.objects.all().delete()
    settings.HUB_BENCH = "light"
    assert scheduling.schedule_missing(version) == 0


def test_gpus_and_other_builds_are_timed_where_workers_offer_them(version, bench):
    cuda = OFFERED | {"providers": ["CPUExecutionProvider", "CUDAExecutionProvider"]}
    services.see("w2", host="h2", pool="gpu-h200", features=cuda)
    vino = {"versions": {"openvino": "2026.4.1"}, "runtimes": {"openvino": "2026.4.1"}}
    services.see("w3", host="h3", pool="bench-cpu.openvino", features=vino)
    scheduling.schedule_missing(version)
    found = {(job.queue, job.exclusive, job.requires.get("provider")) for job in queued()}
    assert found == {
        ("bench-cpu", "host", "CPUExecutionProvider"),
        ("bench-cpu.openvino", "host", None),
        ("gpu-h200", "gpu", "CUDAExecutionProvider"),
    }


def test_what_a_run_is_told_holds_the_host_and_the_operator(version, bench, settings):
    settings.HUB_BENCH_WATTS, settings.HUB_GRID_REGION = 7.5, "FRA"
    limits = {"limits": {"foreign_cpu": 0.05}, "calibrated_at": "2026-11-20T10:00:00Z"}
    Host.objects.create(name="h1", calibration=limits, calibrated_at=timezone.now())
    scheduling.schedule_missing(version)
    job = services.claim("w1", ["bench-cpu"], host="h1", features=WorkerFeatures.read(OFFERED))
    told = timing_jobs.options_at(job)
    assert told["gate"] == limits
    assert (told["watts_per_core"], told["grid_region"]) == (7.5, "FRA")
    assert (told["processes"], told["if_busy"]) == (5, "measure")
    assert "manifest_sha256" not in told
    assert timing_jobs.job_seconds(told) > told["budget_seconds"]
    [asked] = scheduling.ask(version.created_by, version=version, batch=4)
    told = timing_jobs.options_at(asked)
    assert (told["batch"], told["budget_seconds"]) == (4, settings.HUB_BENCH_SECONDS)
    assert "processes" not in told


def test_maintainers_alone_ask_and_are_told_what_is_wrong(version, bench, bob):
    owner = version.created_by
    with pytest.raises(problems.NotAllowed):
        scheduling.ask(bob, version=version)
    with pytest.raises(problems.NotAuthenticated):
        scheduling.ask(GUEST, version=version)
    for wrong in ({"batch": 0}, {"scenario": "burst"}, {"runtime": "abacus"}, {"threads": "two"}):
        with pytest.raises(problems.InvalidRequest):
            scheduling.ask(owner, version=version, **wrong)
    assert queued() == []


def test_a_host_is_calibrated_once_it_has_settled(bench):
    calibrations.keep_up()
    assert queued("calibrate") == []
    Worker.objects.update(started_at=timezone.now() - timedelta(hours=1))
    calibrations.keep_up()
    calibrations.keep_up()
    [job] = queued("calibrate")
    assert (job.requires["host"], job.exclusive) == ("h1", "host")
    offered = OFFERED | {"host": "h1"}
    taken = services.claim("w1", ["bench-cpu"], host="h1", features=WorkerFeatures.read(offered))
    facts = {"limits": {"foreign_cpu": 0.02}, "is_quiet": True}
    services.finish(taken, factories.report("calibrate", facts=facts))
    outbox.deliver()
    assert Host.objects.get(name="h1").calibration == facts
    calibrations.keep_up()
    assert queued("calibrate") == []


def test_benchmarks_that_wait_hold_nothing_else_up(version, bench):
    for number in range(verification.ENOUGH_WAITING + 1):
        services.enqueue(
            kind="benchmark", version=None, job_input={"n": number}, pool="bench-cpu", priority=9
        )
    services.see("w1", host="h1", pool="cpu", features=OFFERED)
    verification.register()
    assert verification.catch_up() > 0


@pytest.fixture
def newer(version, ada):
    return model_version(ada, version.model, {"model.onnx": models.mlp(hidden=9)})


@pytest.mark.parametrize(
    ("slower", "spread", "word", "reason"),
    [
        (1.1, 0.0, "slower", ""),
        (0.9, 0.0, "faster", ""),
        (1.0, 0.0, "same", ""),
        # Processes of a loud host lie apart, and both models in each of them keep their ratio.
        (1.1, 0.2, "slower", "baseline-noisy, candidate-noisy, by-cpu-time"),
        (1.0, 0.2, "inconclusive", "baseline-noisy, candidate-noisy"),
    ],
)
def test_a_comparison_becomes_a_verdict(version, newer, slower, spread, word, reason):
    timed.comparison(newer, version, slower=slower, spread=spread, deliver=False)
    [row] = selectors.comparisons_of(newer)
    assert (row.verdict, row.baseline.version, row.candidate.version) == (word, version, newer)
    assert row.reason == reason
    assert selectors.comparisons_of(version, newer) == [row]
    assert selectors.comparison(newer, row.pk) == row
    assert Event.objects.filter(verb="benchmark.slower").exists() is (word == "slower")
    if word == "slower":
        assert row.ratio_low > 1.03
        assert row.cpu_ratio == pytest.approx(1.1, rel=0.01)


def test_a_verdict_that_does_not_follow_is_none(version, newer):
    job = timed.comparison(newer, version, slower=1.1, tampered=True, deliver=False)
    job.refresh_from_db()
    assert job.state == Job.State.RUNNING
    assert not Comparison.objects.exists()


def test_what_was_measured_of_a_withdrawn_version_goes(version, newer, ada, bob):
    row_of(version), row_of(newer)
    told = json.dumps(timed.contributed(version, bob))
    timed.recomputed(contributions.contribute(bob, version=version, text=told))
    timed.comparison(newer, version, deliver=False)
    assert "record" not in row_of(newer).job.report["facts"]
    assert records.forget(version) > 0
    assert {row.variant.version for row in Measurement.objects.all()} == {newer}
    assert not Comparison.objects.exists()
    job = timed.running(version)
    version.state = "withdrawn"
    job.version = version
    job.report = {"facts": {"record": timed.record(entry_of(version))}}
    assert records.take(job) == 0


def test_publishing_compares_with_the_version_before(version, newer, bench):
    scheduling.schedule_missing(newer)
    [job] = queued("compare-speed")
    assert (job.exclusive, job.priority, job.version) == ("host", timing_jobs.IDLE, newer)
    assert job.input["against"] == ".against/model.onnx"
    assert job.input["against_files"] == {"model.onnx": entry_of(version)}
    taken = services.claim(
        "w1", ["bench-cpu"], uuid=job.pk, host="h1", features=WorkerFeatures.read(OFFERED)
    )
    told = timing_jobs.options_at(taken)
    assert told["against"] == ".against/model.onnx"
    assert "against_files" not in told
    assert timing_jobs.job_seconds(told) > 2 * told["budget_seconds"]
    assert scheduling.schedule_missing(newer) == 0


def test_the_same_file_again_is_not_compared(version, ada, bench):
    same = model_version(ada, version.model)
    scheduling.schedule_missing(same)
    assert queued("compare-speed") == []


def test_models_of_other_inputs_are_not_compared(version, newer, bench):
    main = newer.variants.get()
    main.facts = main.facts | {"inputs": [{"name": "x", "dtype": "float32", "shape": [1, 3]}]}
    main.save()
    scheduling.schedule_missing(newer)
    assert queued("compare-speed") == []
    with pytest.raises(problems.InvalidRequest):
        comparisons.ask(newer.created_by, baseline=version.variants.get(), candidate=main)
