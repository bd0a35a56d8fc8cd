"""Queues, needs and exclusive hosts: a job goes only where it can be done."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems
from runners import pools
from runners.models import Host, Job, Worker
from runners.queue import aliases, order, selectors, services
from runners.queue.services import claims
from runners.worker_features import WorkerFeatures
from tests import factories

pytestmark = pytest.mark.django_db

OWN = {"runtimes": {"onnxruntime": "1.31.1"}, "providers": ["CPUExecutionProvider"]}


def put(kind="suite", **more):
    job_input = more.pop("job_input", {"n": Job.objects.count()})
    return services.enqueue(kind=kind, version=None, job_input=job_input, **more)


@pytest.mark.parametrize(
    ("pool", "requires", "queue"),
    [
        ("cpu", {}, "cpu"),
        ("cpu", {"runtime": "onnxruntime"}, "cpu"),
        ("cpu", {"runtime": "onnx-reference"}, "cpu"),
        ("cpu", {"runtime": "openvino"}, "cpu.openvino"),
        ("gpu-a100", {"provider": "CUDAExecutionProvider"}, "gpu-a100"),
        ("bench-cpu", {"runtime": "openvino"}, "bench-cpu.openvino"),
    ],
)
def test_the_queue_is_the_pool_and_the_build(pool, requires, queue):
    assert put(pool=pool, requires=requires).queue == queue


@pytest.mark.parametrize("pool", ["gpu", "gpu-", "gpu-A100", "CPU", "cpu.openvino", "", "gpu-a-"])
def test_a_pool_that_is_none_is_refused_by_the_database(pool):
    assert not pools.is_pool(pool)
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.create(kind="suite", pool=pool, key="k")
    assert not Job.objects.exists()


@pytest.mark.parametrize("needs", [{"colour": "red"}, {"memory_bytes": "8"}, {"runtime": True}])
def test_needs_that_nobody_is_tested_for_are_refused(needs):
    with pytest.raises(pools.UnknownNeedError, match=next(iter(needs))):
        put(requires=needs)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("needs", "lack"),
    [
        ({"provider": "CUDAExecutionProvider"}, "CUDA"),
        ({"memory_bytes": 3 << 29}, "1.5 GiB of memory"),
        ({"host": "elsewhere"}, "the host elsewhere"),
        ({"runtime": "onnx-reference"}, "onnx-reference"),
    ],
)
def test_a_worker_that_cannot_leaves_it_and_burns_no_attempt(needs, lack):
    wanted, other = put(requires=needs), put()
    services.see("w", host="h", pool="cpu", features=OWN | {"memory_bytes": 1 << 30})
    assert selectors.why_waiting(wanted) == f"no worker offers {lack}"
    assert services.claim("w", ["cpu"]) == other
    assert services.claim("w", ["cpu"]) is None
    assert services.claim("w", ["cpu"], uuid=wanted.pk) is None
    wanted.refresh_from_db()
    assert (wanted.state, wanted.attempt) == (Job.State.QUEUED, 0)
    assert not wanted.attempts.exists()
    able = OWN | {
        "runtimes": {"onnx-reference": "1.23.2"},
        "providers": ["CUDAExecutionProvider"],
        "memory_bytes": 3 << 29,
        "host": "elsewhere",
    }
    services.see("able", host="h2", pool="cpu", features=able)
    assert selectors.why_waiting(wanted) == "next in line for a worker of cpu"
    assert services.claim("able", ["cpu"]) == wanted


def test_a_build_takes_its_own_jobs_alone():
    plain, built = put(), put(requires={"runtime": "openvino"})
    services.see("w", host="h", pool="cpu", features=OWN)
    assert selectors.why_waiting(built) == "no worker offers openvino"
    features = {"runtimes": {"openvino": "2026.4.1"}}
    services.see("ov", host="h2", pool="cpu.openvino", features=features)
    assert services.claim("ov", ["cpu.openvino"]) == built
    assert services.claim("ov", ["cpu.openvino"]) is None
    assert services.claim("w", ["cpu"]) == plain


def test_the_urgent_worker_takes_what_somebody_waits_for():
    later, now = put(priority=3), put(priority=0)
    assert (later.queue, now.queue) == ("cpu", "cpu.urgent")
    assert order.ahead_of(later).count() == 1
    assert services.claim("u", ["cpu.urgent"]) == now
    assert services.claim("u", ["cpu.urgent"]) is None
    services.see("u", host="h", pool="cpu.urgent", features=OWN)
    assert selectors.why_waiting(later) == "no worker takes jobs of the pool cpu"


def test_jobs_are_taken_by_priority_and_then_by_age():
    made = [put(priority=priority) for priority in (5, 3, 9, 3, 1)]
    expected = [made[place] for place in (4, 1, 3, 0, 2)]
    assert [services.claim(f"w{place}", ["cpu"]) for place in range(5)] == expected
    assert services.claim("w5", ["cpu"]) is None


def test_a_job_waits_until_its_time():
    job = put(not_before=timezone.now() + timedelta(minutes=1))
    assert services.claim("w", ["cpu"]) is None
    assert services.claim("w", ["cpu"], uuid=job.pk) is None
    Job.objects.update(not_before=timezone.now())
    assert services.claim("w", ["cpu"]) == job


def test_of_two_that_saw_a_job_waiting_one_gets_it():
    job = put()
    first = services.claim("w1", ["cpu"])
    assert claims._take(job, "w2", "h2", "", timezone.now()) is None
    job.refresh_from_db()
    assert (job.worker, job.attempt) == (first.worker, 1)
    assert job.attempts.count() == 1


def test_exclusive_means_alone_on_its_host():
    plain = put()
    running = services.claim("w1", ["cpu"], host="h1")
    assert running == plain
    alone = put(pool="bench-cpu", exclusive="host")
    assert services.claim("w2", ["bench-cpu"], host="h1") is None
    later, urgent = put(), put(priority=0)
    # The host is kept for the one that waits; urgent work passes, and other hosts do not care.
    assert services.claim("w3", ["cpu"], host="h1", uuid=later.pk) is None
    assert services.claim("w3", ["cpu"], host="h1") == urgent
    assert services.claim("w4", ["cpu"], host="h2") == later
    services.see("w2", host="h1", pool="bench-cpu,cpu", features=OWN)
    assert f"other jobs on {aliases.host('h1')} must end first" in selectors.why_waiting(alone)
    for job in (running, urgent):
        job.refresh_from_db()
        assert services.finish(job, factories.report("suite"))
    mine = services.claim("w2", ["bench-cpu"], host="h1")
    assert mine == alone
    assert services.claim("w3", ["cpu"], host="h1") is None
    put()
    put(priority=0)
    put(pool="bench-cpu", exclusive="host")
    urgent = services.claim("w3", ["cpu", "bench-cpu"], host="h1")
    assert urgent.priority == 0
    assert services.claim("w4", ["cpu", "bench-cpu"], host="h1") is None
    light = put(pool="light")
    assert services.claim("w3", ["cpu", "light"], host="h1") == light
    assert services.finish(mine, factories.report("suite"))
    assert services.finish(urgent, factories.report("suite"))
    put(priority=0)  # the host is reserved for the next exclusive job
    assert services.claim("w3", ["cpu"], host="h1") is not None


def test_a_reservation_passes():
    put()
    services.claim("w1", ["cpu"], host="h1")
    put(pool="bench-cpu", exclusive="host")
    assert services.claim("w2", ["bench-cpu"], host="h1") is None
    other = put()
    assert services.claim("w1", ["cpu"], host="h1") is None
    Host.objects.update(reserved_until=timezone.now() - timedelta(seconds=1))
    assert services.claim("w1", ["cpu"], host="h1") == other


def test_the_database_itself_keeps_a_host_and_a_gpu_for_one():
    told = {"state": "running", "worker": "w", "lease_until": timezone.now(), "host": "h"}
    Job.objects.create(kind="benchmark", key="1", exclusive="host", gpu="GPU-1", **told)
    for more in ({"exclusive": "host"}, {"gpu": "GPU-1"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Job.objects.create(kind="benchmark", key="2", **told | more)
    assert Job.objects.count() == 1


def test_one_job_on_a_gpu_at_a_time():
    first, second = put(pool="gpu-a100"), put(pool="gpu-a100")
    bound = WorkerFeatures.read(OWN | {"gpu": "GPU-1"})
    assert services.claim("g1", ["gpu-a100"], host="h", features=bound) == first
    assert services.claim("g2", ["gpu-a100"], host="h", features=bound) is None
    free = WorkerFeatures.read(OWN | {"gpu": "GPU-2"})
    assert services.claim("g3", ["gpu-a100"], host="h", features=free) == second
    unbound = put(exclusive="gpu")
    assert services.claim("w", ["cpu"], host="h", features=WorkerFeatures.read(OWN)) is None
    other = WorkerFeatures.read(OWN | {"gpu": "GPU-3"})
    assert services.claim("g4", ["cpu"], features=other) == unbound


@pytest.mark.parametrize("waiting", [{"pool": "gpu-a100"}, {"pool": "cpu", "exclusive": "gpu"}])
def test_a_worker_of_a_busy_gpu_takes_what_needs_none(waiting):
    first, second, plain = put(pool="gpu-a100"), put(priority=1, **waiting), put()
    bound = WorkerFeatures.read(OWN | {"gpu": "GPU-1"})
    assert services.claim("g1", ["gpu-a100"], features=bound, uuid=first.pk) == first
    assert services.claim("g2", ["gpu-a100", "cpu"], features=bound) == plain
    assert services.claim("g2", ["gpu-a100", "cpu"], features=bound) is None
    assert services.finish(first_again := Job.objects.get(pk=first.pk), factories.report("suite"))
    assert first_again.gpu == "GPU-1"
    assert services.claim("g2", ["gpu-a100", "cpu"], features=bound) == second


def test_work_of_the_hub_itself_is_queued_once_and_seen_by_all(ada, admin):
    job = put(job_input={"runtime": "onnxruntime"})
    assert put(job_input={"runtime": "onnxruntime"}) == job
    assert selectors.job(AnonymousUser(), job.pk) == job
    with pytest.raises(problems.NotAllowed):
        services.cancel(ada, job=job)
    assert services.cancel(admin, job=job).state == Job.State.CANCELLED
    assert put(job_input={"runtime": "onnxruntime"}) != job


def test_done_work_is_done_again_unless_once_is_enough():
    first = put(job_input={"a": 1})
    assert services.finish(services.claim("w", ["cpu"]), factories.report("suite"))
    assert put(job_input={"a": 1}, once=True) == first
    assert put(job_input={"a": 1}) != first


def test_what_waits_says_why():
    first, second = put(), put()
    assert selectors.why_waiting(first) == "no worker takes jobs of the pool cpu"
    services.see("w", host="h", pool="cpu,light", features=OWN)
    assert selectors.why_waiting(first) == "next in line for a worker of cpu"
    assert selectors.why_waiting(second) == "1 job ahead in cpu"
    later = put(not_before=timezone.now() + timedelta(hours=1))
    assert selectors.why_waiting(later).startswith("not before 20")
    running = services.claim("w", ["cpu"])
    assert selectors.why_waiting(running) == ""
    Worker.objects.update(seen_at=timezone.now() - timedelta(minutes=5))
    assert selectors.why_waiting(second) == "no worker takes jobs of the pool cpu"
    services.leave("w")
    assert not Worker.objects.exists()
