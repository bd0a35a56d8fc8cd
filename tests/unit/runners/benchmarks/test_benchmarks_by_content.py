"""Benchmarks belong to content: versions with the same bytes share what was measured of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from registry.core import outbox
from runners.benchmarks import machines, rankings, scheduling, selectors
from runners.benchmarks.timing_jobs import IDLE
from runners.graphs import differences
from runners.models import Comparison, Job, Measurement
from runners.queue import order, services
from tests import factories, proven, samples, shared, timed
from tests.contents import (
    BENCH,
    HOST,
    MODEL,
    OTHER,
    OTHER_CARD,
    hide,
    jobs_of,
    measure,
    offer,
    publish,
    work,
)  # fmt: skip

pytestmark = pytest.mark.django_db


def offer_bench():
    offer()
    services.see("b1", host=HOST, pool="bench-cpu", features=BENCH)


@shared.rows
@override_settings(HUB_BENCH="light")
def start():
    """A version with every result but its benchmark, which waits."""
    offer_bench()
    version = publish(factories.somebody("ada"))
    work()
    return version


@pytest.fixture
def first(start):
    return shared.fresh(start)


@pytest.fixture
def bench(settings):
    """A worker that times models."""
    settings.HUB_BENCH = "light"
    offer_bench()


def results_of(version):
    return Measurement.objects.filter(variant__version=version)


def test_a_measurement_is_of_the_bytes_and_counts_once(ada, bob, bench, first):
    [job] = measure()
    second = publish(ada, first.model, card=OTHER_CARD)
    other = publish(bob, factories.model(bob, "copy"))
    assert work() == measure() == []
    mine = results_of(first).get()
    for version in (second, other):
        row = results_of(version).get()
        assert (row.record_sha256, row.at, row.p50_ms) == (mine.record_sha256, mine.at, mine.p50_ms)
        assert row.job.shared_from_id == job.pk
        assert row.record_file.version_id == version.pk
        assert row.record_file.blob_id == mine.record_file.blob_id


@pytest.mark.usefixtures("lists")
def test_a_rank_counts_each_measurement_once(ada, bob, bench):
    slow = publish(
        ada, factories.model(ada, "slow"), contents={"model.onnx": samples.mlp(hidden=9)}
    )
    work()
    measure(median_ms=2.0)
    for name in ("one", "two"):
        publish(bob, factories.model(bob, name))
    work()
    measure(median_ms=1.0)
    found = rankings.across(ada, rankings.Selection())
    places = {row.row.variant.version.model.name: row.rank for row in found.items}
    assert places == {"one": 1, "two": 1, "slow": 2}
    assert [key.results for key in found.keys] == [2]
    assert [device.measurements for device in machines.devices(ada)] == [2]
    assert [runtime.measurements for runtime in machines.runtimes(ada)] == [2]
    assert len(selectors.newest(ada)) == 2
    assert results_of(slow).exists()


def test_a_noisy_measurement_is_not_shared(ada, bench, first):
    measure(spread=0.3)
    assert results_of(first).get().status == "noisy"
    publish(ada, first.model, card=OTHER_CARD)
    work()
    assert len(measure()) == 1


def repetition(version):
    return jobs_of(version).filter(kind="benchmark", state="queued").first()


def test_a_noisy_first_benchmark_is_repeated_later_each_time(ada, bench, first):
    measure(spread=0.3)
    for minutes in (10, 60, 360, 1440):
        job = repetition(first)
        assert (job.priority, job.again, job.exclusive) == (IDLE, True, "host")
        wait = job.not_before - job.queued_at
        assert wait == pytest.approx(timedelta(minutes=minutes), abs=timedelta(minutes=1))
        assert measure() == []
        Job.objects.filter(pk=job.pk).update(not_before=job.queued_at)
        assert [done.pk for done in measure(spread=0.3)] == [job.pk]
    assert repetition(first) is None
    assert results_of(first).count() == 5


def test_repetitions_end_with_an_accepted_benchmark(ada, bench, first):
    measure(spread=0.3)
    Job.objects.filter(pk=repetition(first).pk).update(not_before=timezone.now())
    assert len(measure()) == 1
    assert repetition(first) is None
    assert {row.status for row in results_of(first)} == {"noisy", "accepted"}


def test_proofs_go_before_first_benchmarks_on_a_host_that_others_use(ada, bench):
    for width in range(6, 11):
        model = factories.model(ada, f"net-{width}")
        publish(ada, model, contents={"model.onnx": samples.mlp(hidden=width)})

    def wait(kind):
        rows = Job.objects.filter(kind=kind, state="queued", priority=order.FIRST)
        return {row.due_at - row.queued_at for row in rows}

    work()
    usual = order.FIRST * order.STEP + order.BATCH
    assert wait("benchmark") == {usual}
    measure(most=2, spread=0.3)
    assert wait("benchmark") == {usual}
    measure(most=1, spread=0.3)
    [later] = wait("benchmark")
    assert usual < later < order.DEEP * order.STEP
    # Again, without putting them off for ever.
    measure(most=1, spread=0.3)
    assert wait("benchmark") == {later}


def test_one_accepted_benchmark_shows_a_quiet_host(ada, bench):
    for width in range(6, 10):
        model = factories.model(ada, f"net-{width}")
        publish(ada, model, contents={"model.onnx": samples.mlp(hidden=width)})
    work()
    measure(most=1, spread=0.3)
    measure(most=1)
    measure(most=1, spread=0.3)
    [job] = Job.objects.filter(kind="benchmark", state="queued", priority=order.FIRST)
    assert job.due_at - job.queued_at == order.FIRST * order.STEP + order.BATCH


def test_a_noisy_benchmark_that_was_asked_for_is_not_repeated(ada, bench, first):
    measure()
    first.refresh_from_db()
    scheduling.ask(ada, version=first)
    assert len(measure(spread=0.3)) == 1
    assert repetition(first) is None


def test_a_measurement_serves_machines_of_its_class_alone(ada, bench, first):
    measure()
    services.leave("b1")
    services.see("b2", host="bench-2", pool="bench-cpu", features=BENCH)
    publish(ada, first.model, card=OTHER_CARD)
    work()
    assert len(measure(host="bench-2")) == 1
    publish(ada, first.model, card=f"{OTHER_CARD} Again.")
    work()
    assert measure(host="bench-2") == []


def test_what_another_namespace_times_in_private_tells_nothing_of_a_machine(ada, bob, bench, first):
    measure()
    services.leave("b1")
    services.see("b2", host="bench-2", pool="bench-cpu", features=BENCH)
    hidden = publish(bob, contents=OTHER)
    hide(hidden, visibility="private")
    work()
    assert len(measure(host="bench-2")) == 1
    publish(ada, first.model, card=OTHER_CARD)
    work()
    assert len(measure(host="bench-2")) == 1


def test_a_comparison_is_of_both_contents(ada, bob, bench):
    services.see("b2", host="proving", pool=proven.POOL, features=BENCH)
    sides = []
    for owner in (ada, bob):
        model = factories.model(owner, "compared")
        before, after = (
            factories.version(owner, model, contents) for contents in ({"model.onnx": MODEL}, OTHER)
        )
        sides.append((before, after))
    source = timed.comparison(sides[0][1], sides[0][0], slower=1.5)
    source.refresh_from_db()
    source.report["versions"] = BENCH["versions"]
    source.save()
    before, after = sides[1]
    job_input = differences.sides(before.variants.get(), after.variants.get())
    job = services.enqueue(
        kind="compare-speed",
        version=after,
        entry="model.onnx",
        job_input=job_input | {"runtime": "onnxruntime"},
        pool=proven.POOL,
    )
    assert (job.state, job.shared_from) == ("succeeded", source)
    outbox.deliver()
    row = Comparison.objects.get(job=job)
    assert (row.verdict, row.ratio) == ("slower", source.comparison.ratio)
    assert (row.baseline.version, row.candidate.version) == (before, after)
    assert row.record_file.version == after


def test_who_asks_for_a_benchmark_gets_a_new_one(ada, bench, first):
    measure()
    second = publish(ada, first.model, card=OTHER_CARD)
    work()
    second.refresh_from_db()
    scheduling.ask(ada, version=second, effort="light")
    [job] = measure()
    assert job.version_id == second.pk
    assert results_of(second).count() == 2
