"""Urgent jobs on hosts that are exclusive, and the budget of requested runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from hub.protocol import problems
from runners import pools
from runners.benchmarks import comparisons, scheduling
from runners.models import Attempt, Host, Job
from runners.queue import selectors, services
from runners.worker_features import WorkerFeatures
from tests import factories

pytestmark = pytest.mark.django_db

OFFERED = {
    "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
    "runtimes": {"onnxruntime": "1.31.1"},
    "providers": ["CPUExecutionProvider"],
}
FEATURES = WorkerFeatures.read(OFFERED)


def claim(worker, *names, host="h1"):
    return services.claim(worker, names, host=host, features=FEATURES)


def see(worker, pool, *, host="h1", slots=1):
    services.see(worker, host=host, pool=pool, features=OFFERED, slots=slots)


@pytest.fixture
def version(ada):
    """A published version with one variant, and nothing queued."""
    made = factories.published(ada)
    Job.objects.all().delete()
    return made


@pytest.fixture
def bench(version):
    """A requested benchmark at work on h1, whose worker takes bench-cpu alone."""
    see("bench", "bench-cpu")
    [job] = scheduling.ask(version.created_by, version=version)
    taken = claim("bench", "bench-cpu")
    assert taken == job
    return taken


def urgent(version, kind="describe", **more):
    return services.enqueue(
        kind=kind, version=version, entry="model.onnx", priority=Job.URGENT, **more
    )


def wait(job, seconds):
    ago = timezone.now() - timedelta(seconds=seconds)
    Job.objects.filter(pk=job.pk).update(queued_at=ago, not_before=ago)


def test_urgent_work_begins_on_a_host_that_a_requested_run_holds(bench, version):
    other = services.enqueue(kind="suite", version=None, priority=1)
    job = urgent(version)
    assert claim("w", "cpu") == job
    assert claim("w2", "cpu") is None  # the host is still exclusive
    assert other.state == Job.State.QUEUED


def test_a_measurement_learns_what_ran_beside_it(bench, version):
    since = timezone.now()
    assert not services.ran_beside(bench, since)
    job = urgent(version)
    assert not services.ran_beside(bench, since)
    claim("w", "cpu")
    assert services.ran_beside(bench, timezone.now())
    Attempt.objects.filter(job=job).update(ended_at=timezone.now(), outcome="succeeded")
    assert services.ran_beside(bench, since)
    assert not services.ran_beside(bench, timezone.now())
    Attempt.objects.filter(job=job).update(host="h2")
    assert not services.ran_beside(bench, since)


def test_no_measurement_begins_while_urgent_work_waits(version):
    see("w", "cpu,cpu.urgent")
    scheduling_worker = ("bench", "bench-cpu")
    see(*scheduling_worker)
    [first] = scheduling.ask(version.created_by, version=version)
    job = urgent(version)
    assert claim(*scheduling_worker) is None
    assert claim("w", "cpu") == job
    assert claim(*scheduling_worker) is None
    Job.objects.filter(pk=job.pk).update(state=Job.State.SUCCEEDED, lease_until=None)
    assert claim(*scheduling_worker) == first


def test_urgent_work_that_no_worker_of_the_host_takes_holds_nothing_up(version):
    see("bench", "bench-cpu")
    see("elsewhere", "cpu", host="h2")
    [job] = scheduling.ask(version.created_by, version=version)
    urgent(version)
    see("w", "cpu")
    Job.objects.filter(queue=pools.URGENT).update(requires={"memory_bytes": 1 << 60})
    assert claim("bench", "bench-cpu") == job


def test_a_host_is_not_handed_on_while_urgent_work_waits(bench, version):
    again = services.enqueue(
        kind=bench.kind, version=version, entry=bench.entry, job_input={"n": 1},
        pool=bench.pool, requires=bench.requires, exclusive=bench.exclusive,
    )  # fmt: skip
    from runners.queue.services import claims

    see("w", "cpu")
    job = urgent(version)
    claims.hand_on(bench)
    assert Host.objects.get(name="h1").reserved_for is None
    job.delete()
    claims.hand_on(bench)
    assert Host.objects.get(name="h1").reserved_for == again


def test_a_measurement_with_the_only_place_gives_it_up(version):
    see("w", "cpu,bench-cpu")
    [asked] = scheduling.ask(version.created_by, version=version)
    bench = claim("w", "bench-cpu")
    assert bench == asked
    job = urgent(version)
    assert not services.is_in_the_way(bench)  # a free worker may be about to take it
    wait(job, 3)
    assert services.is_in_the_way(bench)
    bench.attempt = 9  # nobody else there would take it
    assert services.is_in_the_way(bench)
    see("urgent", "cpu.urgent")
    assert not services.is_in_the_way(bench)  # its place is free
    assert claim("urgent", "cpu.urgent") == job
    wait(urgent(version, "check"), 3)
    bench.refresh_from_db()
    for bench.attempt, gives_way in ((1, True), (3, True), (4, False)):
        assert services.is_in_the_way(bench) == gives_way
    bench.refresh_from_db()
    assert services.give_way(bench)
    bench.refresh_from_db()
    assert (bench.state, bench.max_attempts) == (Job.State.QUEUED, 4)
    assert bench.not_before > timezone.now()
    assert bench.attempts.get().outcome == "cancelled"


def test_a_worker_that_measures_only_is_in_nobodys_way(bench, version):
    wait(urgent(version), 60)
    assert not services.is_in_the_way(bench)


def test_one_user_requests_so_many_runs(ada, admin, version, settings):
    see("bench", "bench-cpu")
    settings.HUB_LIMITS_RUNS_QUEUED = 2
    for batch in (1, 2):
        scheduling.ask(ada, version=version, batch=batch)
    with pytest.raises(problems.Throttled, match="2 runs that you requested wait"):
        scheduling.ask(ada, version=version, batch=3)
    assert Job.objects.filter(requester=ada).count() == 2
    scheduling.ask(ada, version=version, batch=2)  # it waits already
    for batch in (4, 5, 6):
        scheduling.ask(admin, version=version, batch=batch)
    assert claim("bench", "bench-cpu").requester == ada
    scheduling.ask(ada, version=version, batch=3)


def test_a_request_of_many_runs_is_whole_or_none(ada, version, settings):
    see("bench", "bench-cpu")
    see("gpu", "gpu-a100")
    settings.HUB_LIMITS_RUNS_QUEUED = 1
    services.see("gpu", host="h1", pool="gpu-a100", features=OFFERED | {
        "providers": ["CUDAExecutionProvider", "CPUExecutionProvider"]
    })  # fmt: skip
    with pytest.raises(problems.Throttled):
        scheduling.ask(ada, version=version)
    assert not Job.objects.filter(requester=ada).exists()


def test_so_many_runs_of_one_user_are_at_work(ada, bob, version, settings):
    settings.HUB_LIMITS_RUNS_AT_WORK = 1
    see("bench", "bench-cpu")
    for batch in (1, 2):
        scheduling.ask(ada, version=version, batch=batch)
    assert claim("bench", "bench-cpu")
    waiting = Job.objects.get(state=Job.State.QUEUED)
    assert claim("bench", "bench-cpu", host="h2") is None
    assert "1 runs at work" in selectors.why_waiting(waiting)
    Job.objects.filter(pk=waiting.pk).update(requester=bob)
    waiting.refresh_from_db()
    assert "at work" not in selectors.why_waiting(waiting)
    assert claim("bench", "bench-cpu", host="h2") == waiting


def test_comparisons_count_in_the_budget(ada, version, settings):
    see("bench", "bench-cpu")
    settings.HUB_LIMITS_RUNS_QUEUED = 0
    newer = factories.published(ada, version.model)
    with pytest.raises(problems.Throttled):
        comparisons.ask(ada, baseline=version.variants.get(), candidate=newer.variants.get())
