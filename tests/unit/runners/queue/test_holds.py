"""Pools that hand out no job: paused until further notice, or draining."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.models import Event
from runners.models import HoldState, Host, Job
from runners.queue import selectors, services
from runners.queue.services import sweeps, urgency
from runners.worker_features import WorkerFeatures

pytestmark = pytest.mark.django_db

OWN = {"runtimes": {"onnxruntime": "1.32.0"}, "providers": ["CPUExecutionProvider"]}


def put(pool="cpu", **more):
    return services.enqueue(
        kind="suite", version=None, job_input={"n": Job.objects.count()}, pool=pool, **more
    )


def claim(*queues, worker="w", host="h"):
    return services.claim(worker, queues, host=host, features=WorkerFeatures.read(OWN))


def hold(admin, pool="cpu", state=HoldState.PAUSED, **more):
    return services.hold(admin, pool=pool, state=state, **more)


def state_of(admin, pool="cpu"):
    return selectors.pool(admin, pool).state


def test_a_paused_pool_hands_out_no_job(admin):
    job, urgent, light = put(), put(priority=Job.URGENT), put("light")
    hold(admin, reason="A new disk")
    assert claim("cpu") is None
    assert services.claim("w", ["cpu"], uuid=job.pk, features=WorkerFeatures.read(OWN)) is None
    assert claim("cpu", "light") == light
    for waiting in (job, urgent):
        assert selectors.why_waiting(waiting) == "the pool cpu is paused: A new disk"
    later = put()
    services.resume(admin, pool="cpu")
    assert {claim("cpu"), claim("cpu"), claim("cpu")} == {job, urgent, later}
    assert "paused" not in selectors.why_waiting(put())


def test_a_drained_pool_has_no_running_job(admin):
    put()
    running = claim("cpu")
    put()
    hold(admin, state=HoldState.DRAINING)
    assert (state_of(admin), claim("cpu")) == ("draining", None)
    Job.objects.filter(pk=running.pk).update(state=Job.State.SUCCEEDED)
    assert state_of(admin) == "drained"
    hold(admin, state=HoldState.PAUSED)
    assert state_of(admin) == "paused"
    services.resume(admin, pool="cpu")
    services.resume(admin, pool="cpu")
    assert state_of(admin) == "open"
    verbs = Event.objects.filter(verb__startswith="pool.").order_by("pk")
    assert [(row.verb, row.data["pool"], row.actor) for row in verbs] == [
        ("pool.draining", "cpu", admin),
        ("pool.paused", "cpu", admin),
        ("pool.resumed", "cpu", admin),
    ]


def test_measurements_go_on_while_urgent_work_is_held(admin):
    services.see("bench", host="h", pool="bench-cpu", features=OWN)
    services.see("w", host="h", pool="cpu", features=OWN)
    put(priority=Job.URGENT)
    bench = put("bench-cpu", exclusive=Job.Exclusive.HOST)
    assert claim("bench-cpu", worker="bench") is None
    hold(admin)
    assert not urgency.waits_on("h")
    assert claim("bench-cpu", worker="bench") == bench


def test_no_host_is_kept_for_a_held_job(admin):
    light, bench = put(), put("bench-cpu", exclusive=Job.Exclusive.HOST)
    assert claim("cpu") == light
    assert claim("bench-cpu") is None
    assert Host.objects.get().reserved_for == bench
    hold(admin, "bench-cpu")
    other = put()
    assert claim("cpu") == other


def test_workers_are_notified_of_no_held_job(admin, settings, monkeypatch):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sent = []
    monkeypatch.setattr(sweeps.notifications, "notify", lambda job: sent.append(job) or True)
    services.see("w", host="h", pool="cpu,light", features=OWN)
    long_ago = timezone.now() - timedelta(hours=1)
    job, light = put(), put("light")
    Job.objects.update(notified_at=long_ago)
    hold(admin)
    sent.clear()
    services.recover()
    assert sent == [light]
    services.resume(admin, pool="cpu")
    services.recover()
    assert set(sent[1:]) == {job, light}
