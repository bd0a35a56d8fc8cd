"""Turns: urgent work, ageing, namespaces in turn, and work that is asked for again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from runners import tasks
from runners.benchmarks import scheduling
from runners.models import Attempt, Job
from runners.proofs import verification
from runners.queue import order, selectors, services
from runners.worker_features import WorkerFeatures
from tests import factories, samples

pytestmark = pytest.mark.django_db

OWN = {"runtimes": {"onnxruntime": "1.31.1"}, "providers": ["CPUExecutionProvider"]}


def put(version=None, kind="suite", **more):
    return services.enqueue(
        kind=kind, version=version, job_input={"n": Job.objects.count()}, **more
    )


def age(job, **past):
    """Let a job have been queued some time ago."""
    queued_at = job.queued_at - timedelta(**past)
    Job.objects.filter(pk=job.pk).update(
        queued_at=queued_at, due_at=order.due_at(job.priority, queued_at)
    )


def work(job, **spent):
    """Let a worker have spent some time on a job that has just ended."""
    now = timezone.now()
    Attempt.objects.create(
        job=job,
        number=1,
        worker="w",
        started_at=now - timedelta(**spent),
        ended_at=now,
        outcome=Attempt.Outcome.SUCCEEDED,
    )
    Job.objects.filter(pk=job.pk).update(state=Job.State.SUCCEEDED)


@pytest.fixture
def version():
    """A function that makes a published version in a namespace of its own."""

    def make(name):
        return factories.published(factories.user(name))

    return make


def test_what_waits_long_enough_comes_before_what_is_more_important():
    old, young = put(priority=7), put(priority=4)
    age(old, minutes=29)
    assert order.ahead_of(old).get() == young
    age(old, minutes=31)
    assert services.claim("w", ["cpu"]) == old
    assert services.claim("w", ["cpu"]) == young


def test_nothing_old_goes_before_what_a_person_waits_for():
    old, urgent = put(priority=3), put(priority=Job.URGENT)
    age(old, days=30)
    assert services.claim("w", ["cpu"]) == urgent
    assert services.claim("w", ["cpu"]) == old


def test_namespaces_take_turns(version):
    many, few = version("ada"), version("bob")
    Job.objects.all().delete()
    work(put(many), minutes=2)
    ours = [put(many) for _ in range(3)]
    theirs = put(few)
    assert services.claim("w", ["cpu"]) == theirs
    assert [services.claim("w", ["cpu"]) for _ in ours] == ours


def test_time_of_workers_is_forgotten_after_a_while(version):
    many, few = version("ada"), version("bob")
    Job.objects.all().delete()
    work(put(many), minutes=2)
    Attempt.objects.update(
        started_at=timezone.now() - 2 * order.WINDOW, ended_at=timezone.now() - order.WINDOW
    )
    first, _ = put(many), put(few)
    assert services.claim("w", ["cpu"]) == first


def test_who_asks_for_waiting_work_raises_it(version):
    owed = version("ada")
    Job.objects.all().delete()
    first, second = put(owed, priority=9), put(owed, priority=5)
    again = services.enqueue(kind="suite", version=owed, job_input={"n": 0}, priority=Job.URGENT)
    assert again == first
    assert (again.priority, again.queue) == (Job.URGENT, "cpu.urgent")
    assert services.claim("w", ["cpu"]) == first
    lower = services.enqueue(kind="suite", version=owed, job_input={"n": 1}, priority=9)
    assert (lower, lower.priority) == (second, 5)


def test_work_that_runs_is_not_raised(version):
    owed = version("ada")
    Job.objects.all().delete()
    job = put(owed, priority=9)
    services.claim("w", ["cpu"])
    again = services.enqueue(kind="suite", version=owed, job_input={"n": 0}, priority=Job.URGENT)
    assert (again, again.priority, again.state) == (job, 9, Job.State.RUNNING)


def test_a_waiting_job_says_how_long():
    services.see("w", host="h", pool="cpu", features=OWN)
    work(put(), minutes=3)
    before, waiting = put(), put()
    assert order.expected_wait(waiting) == timedelta(minutes=3)
    assert selectors.why_waiting(waiting) == "1 job ahead in cpu, about 3 min"
    Job.objects.filter(pk=before.pk).update(kind="convert")
    assert order.expected_wait(waiting) is None
    assert selectors.why_waiting(waiting) == "1 job ahead in cpu"


def test_a_message_is_a_hint_that_work_waits(monkeypatch):
    """A worker takes what is due first in the queue of the job that a message names."""
    services.see("w", host="h", pool="cpu", features=OWN)
    taken = []
    monkeypatch.setattr(tasks.registration, "name", lambda _: "w")
    monkeypatch.setattr(tasks, "_sandbox", lambda: None)
    monkeypatch.setattr(tasks, "execute", lambda job, _: taken.append(job))
    later, sooner, elsewhere = put(priority=9), put(priority=3), put(pool="bench-cpu")
    tasks.run_job(str(later.pk))
    tasks.run_job(str(elsewhere.pk))
    tasks.run_job(str(later.pk))
    tasks.run_job(str(later.pk))
    assert taken == [sooner, later]


def test_every_version_gets_its_first_evidence_before_any_gets_more(settings):
    settings.HUB_BENCH = "light"
    features = {
        "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
        "runtimes": {"onnxruntime": "1.31.1", "onnx-reference": "1.23.2"},
        "providers": ["CPUExecutionProvider"],
    }
    services.see("w1", host="h", pool="cpu,bench-cpu", features=features)
    verification.register()
    ada = factories.user("ada")
    versions = [
        factories.version(
            ada, factories.model(ada, name), {"model.onnx": samples.mlp(hidden=hidden)}
        )
        for name, hidden in (("one", 7), ("two", 8))
    ]
    for version in versions:
        verification.schedule_missing(version)
        scheduling.schedule_missing(version)
    done = []
    while job := services.claim(
        "w1", ["cpu", "bench-cpu"], host="h", features=WorkerFeatures.read(features)
    ):
        Job.objects.filter(pk=job.pk).update(state="succeeded")
        checks = job.input.get("checks", [])
        done.append((job.version.model.name, job.kind, job.input.get("runtime"), len(checks)))
    first = [
        (name, kind, "onnxruntime", 3 if kind == "conformance" else 0)
        for kinds in (("conformance", "upgrade"), ("benchmark",))
        for name in ("one", "two")
        for kind in kinds
    ]
    evidence = [one for one in done if one[1] in ("conformance", "upgrade", "benchmark")]
    assert evidence[:6] == first
    assert sorted(evidence[6:]) == [
        (name, "conformance", *one)
        for name in ("one", "two")
        for one in (("onnx-reference", 0), ("onnxruntime", 1))
    ]


def timing(version=None, **more):
    """A first benchmark that waits."""
    return put(version, "suite", pool="bench-cpu", exclusive="host", priority=order.FIRST, **more)


def end(job):
    job.refresh_from_db()
    assert services.finish(job, factories.report("suite"))


def test_a_host_that_came_to_rest_goes_on_with_what_wants_it_alone():
    """No proof of another worker begins between two benchmarks whose turns are near."""
    first, second, third = timing(), timing(), timing()
    proof = put(priority=order.FIRST)
    age(proof, minutes=2)
    for job in (first, second):
        Job.objects.filter(pk=job.pk).update(due_at=proof.due_at - timedelta(minutes=3))
    Job.objects.filter(pk=third.pk).update(due_at=proof.due_at + timedelta(minutes=3))
    assert services.claim("w1", ["bench-cpu"], host="h") == first
    end(first)
    assert services.claim("w2", ["cpu"], host="h") is None
    assert services.claim("w1", ["bench-cpu"], host="h") == second
    end(second)
    # The turn of the third one is too far away.
    assert services.claim("w2", ["cpu"], host="h") == proof


def test_a_host_is_handed_on_in_one_namespace_alone(version):
    many, few = version("ada"), version("bob")
    Job.objects.all().delete()
    first, second = timing(many), timing(many)
    assert services.claim("w1", ["bench-cpu"], host="h") == first
    Attempt.objects.update(started_at=timezone.now() - timedelta(minutes=2))
    theirs = put(few, priority=order.FIRST)
    end(first)
    assert services.claim("w2", ["cpu"], host="h") == theirs
    assert services.claim("w1", ["bench-cpu"], host="h") is None
    assert second.state == Job.State.QUEUED


def test_a_host_is_not_kept_for_a_job_that_was_cancelled():
    admin = factories.admin()
    first, second, proof = timing(), timing(), put(priority=order.FIRST)
    Job.objects.filter(pk__in=[first.pk, second.pk]).update(due_at=proof.due_at)
    assert services.claim("w1", ["bench-cpu"], host="h") == first
    end(first)
    services.cancel(admin, job=second)
    assert services.claim("w2", ["cpu"], host="h") == proof
