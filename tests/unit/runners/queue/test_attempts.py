"""Every try is kept, what cannot heal is not tried for ever, and a bar waits for a person."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from hub.protocol import problems
from registry.core import outbox
from registry.models import Check, Event
from runners.engine.reports import Finding
from runners.models import Bar, Job
from runners.queue import selectors, services
from runners.queue.failures import reason_of
from tests import factories, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    return factories.submitted(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def take():
    Job.objects.update(not_before=timezone.now())
    return services.claim("w", ["cpu"], host="h")


def told(job):
    rows = job.attempts.values_list("number", "worker", "outcome", "detail")
    assert all((row.ended_at is None) == (row.outcome == "running") for row in job.attempts.all())
    return list(rows)


def finished(job):
    return Event.objects.filter(verb="job.finished", subject_id=str(job.pk)).count()


def test_no_try_overwrites_another(version):
    services.give_back(take(), reason="errored", detail="disk full")
    second = take()
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    services.sweep()
    third = take()
    assert told(third) == [
        (1, "w", "errored", "disk full"),
        (2, "w", "lost", "The worker was lost during attempt 2."),
        (3, "w", "running", ""),
    ]
    assert not services.finish(second, factories.report("describe"))
    assert services.finish(third, factories.report("describe"))
    assert [row[2] for row in told(third)] == ["errored", "lost", "succeeded"]
    assert finished(third) == 1


def test_a_verdict_is_not_tried_again(version):
    job = take()
    finding = Finding("load-crashed", "error", "crashed: SIGSEGV in runtime load")
    assert services.finish(job, factories.report("describe", "failed", [finding]))
    job.refresh_from_db()
    assert (job.state, job.error_class) == (Job.State.FAILED, "deterministic")
    assert [row[2:] for row in told(job)] == [("failed", "crashed: SIGSEGV in runtime load")]
    assert take() is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sandbox-lost", "crash"),
        ("child-killed", "crash"),
        ("sandbox-timeout", "timeout"),
        ("sandbox-unavailable", "errored"),
        ("storage-full", "errored"),
    ],
)
def test_failures_have_classes(code, reason):
    assert reason_of(factories.report("check", "errored", [Finding(code, "error", "")])) == reason


def test_a_second_crash_bars_the_file_until_an_administrator_lifts_the_bar(ada, admin, version):
    job = take()
    services.give_back(job, reason="crash", detail="ended by SIGKILL")
    assert Job.objects.get().state == Job.State.QUEUED
    services.give_back(take(), reason="crash", detail="ended by SIGKILL")
    job.refresh_from_db()
    assert (job.state, job.error_class) == (Job.State.FAILED, "poison")
    assert [row[2] for row in told(job)] == ["crashed", "crashed"]
    outbox.deliver()
    assert Check.objects.get(kind="onnx").outcome == Check.Outcome.ERRORED
    assert selectors.is_barred(job)

    again = factories.submitted(ada, factories.model(ada, "again"))
    barred = Job.objects.get(version=again)
    assert (barred.state, barred.error_class, barred.attempt) == (Job.State.FAILED, "poison", 0)
    assert "barred from describe" in barred.error_detail
    assert finished(barred) == 1
    outbox.deliver()
    assert take() is None
    again.refresh_from_db()
    assert again.state == "draft"

    with pytest.raises(problems.NotAllowed):
        services.lift(ada, job=barred)
    assert Bar.objects.get().lifted_at is None
    services.lift(admin, job=barred)
    assert Bar.objects.get().lifted_by == admin
    with pytest.raises(problems.StateConflict):
        services.lift(admin, job=barred)
    retried = services.enqueue(kind="describe", version=again, entry="model.onnx")
    assert retried.state == Job.State.QUEUED


def test_a_bar_is_for_one_kind_and_one_runtime(version):
    job = take()
    space = version.model.namespace
    Bar.objects.create(
        namespace=space, subject=job.subject, kind="conformance", runtime="openvino", job=job
    )
    for runtime, state in (("openvino", "failed"), ("onnxruntime", "queued")):
        made = services.enqueue(
            kind="conformance",
            version=version,
            entry="model.onnx",
            requires={"runtime": runtime},
        )
        assert made.state == state
    assert len(job.subject) == 64


def test_a_bar_says_nothing_to_other_namespaces(version):
    for _ in range(2):
        services.give_back(take(), reason="crash", detail="ended by SIGKILL")
    assert Bar.objects.get().namespace == version.model.namespace
    other = factories.submitted(factories.user("eve"))
    [job] = Job.objects.filter(version=other, kind="describe")
    assert job.subject == Job.objects.get(version=version).subject
    assert job.state == Job.State.QUEUED


def test_what_takes_too_long_is_tried_twice(version):
    services.give_back(take(), reason="timeout", detail="late")
    services.give_back(take(), reason="timeout", detail="late")
    job = Job.objects.get()
    assert (job.state, job.error_class) == (Job.State.FAILED, "timeout")
    assert not Bar.objects.exists()


def test_a_cancelled_try_says_so(ada, version):
    running = take()
    services.cancel(ada, job=running)
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    services.sweep()
    running.refresh_from_db()
    assert running.state == Job.State.CANCELLED
    assert [row[2] for row in told(running)] == ["cancelled"]
    assert finished(running) == 1


def test_only_a_cancelled_job_is_stopped(version):
    running = take()
    assert not services.stop(running)
    assert told(running)[0][2] == "running"
