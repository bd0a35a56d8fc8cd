"""The life of a job: claimed once, fenced by its attempt, lost and found again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from hub.protocol import problems
from registry.models import Check, Delivery, Version
from runners.models import Job
from runners.queue import services
from tests import factories, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    return factories.submitted(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def expire(job):
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_job_is_claimed_once(version):
    first = services.claim("one", ["cpu"])
    assert first is not None
    assert services.claim("two", ["cpu"]) is None
    assert (first.worker, first.attempt) == ("one", 1)


def test_pools_are_kept_apart(version):
    assert services.claim("one", ["light", "bench-cpu"]) is None


def test_the_same_work_is_queued_once(version):
    again = services.enqueue(kind="describe", version=version, entry="model.onnx")
    assert Job.objects.get() == again


def test_a_lost_worker_is_fenced_off(version):
    late = services.claim("late", ["cpu"])
    expire(late)
    services.sweep()
    assert Job.objects.get().state == Job.State.QUEUED
    current = services.claim("current", ["cpu"])
    assert current.attempt == 2
    assert not services.renew(late)
    assert not services.finish(late, factories.report("describe"))
    assert not services.give_back(late, reason="errored")
    job = Job.objects.get()
    assert (job.state, job.worker, job.report) == (Job.State.RUNNING, "current", None)
    assert services.finish(current, factories.report("describe"))
    assert Job.objects.get(kind="describe").state == Job.State.SUCCEEDED


def test_a_job_that_loses_every_worker_fails_and_says_so(version):
    for _ in range(3):
        expire(services.claim("w", ["cpu"]))
        services.sweep()
    job = Job.objects.get()
    assert (job.state, job.error_class) == (Job.State.FAILED, "lost")
    version.refresh_from_db()
    assert version.state == Version.State.DRAFT
    assert Check.objects.get(kind="onnx").outcome == Check.Outcome.ERRORED


def test_our_own_error_is_tried_again_then_told(version):
    for attempt in (1, 2, 3):
        Job.objects.update(not_before=timezone.now())
        job = services.claim("w", ["cpu"])
        assert job.attempt == attempt
        services.give_back(job, reason="errored", detail="disk full")
    assert Job.objects.get().state == Job.State.FAILED
    assert services.claim("w", ["cpu"]) is None


def test_cancelling(ada, bob, version):
    job = Job.objects.get()
    with pytest.raises(problems.NotAllowed):
        services.cancel(bob, job=job)
    assert services.cancel(ada, job=job).state == Job.State.CANCELLED
    with pytest.raises(problems.StateConflict):
        services.cancel(ada, job=job)


def test_cancelling_while_it_runs(ada, version):
    running = services.claim("w", ["cpu"])
    services.cancel(ada, job=running)
    assert not services.renew(running)
    assert services.stop(running)
    assert Job.objects.get().state == Job.State.CANCELLED
    assert not services.finish(running, factories.report("describe"))


def test_a_handler_that_fails_is_told_again_later(ada, monkeypatch):
    from registry.core import outbox

    version = factories.draft(ada)
    broken = []

    def fail(_subject):
        broken.append(1)
        raise RuntimeError("the index is away")

    outbox.deliver()
    monkeypatch.setitem(outbox._handlers, "runners.jobs", fail)
    from registry.versions.services import versions

    versions.submit(ada, version=version)
    outbox.deliver()
    delivery = Delivery.objects.get()
    assert (delivery.consumer, delivery.attempts) == ("runners.jobs", 1)
    assert "the index is away" in delivery.error
    assert delivery.next_at > timezone.now()
    assert len(broken) == 1
    monkeypatch.undo()
    Delivery.objects.update(next_at=timezone.now())
    outbox.deliver()
    assert Job.objects.count() == 1
    assert not Delivery.objects.exists()


def described(ada, declared):
    """A version whose card declares this, after its file was described and checked."""
    card = f"---\nlicense: mit\ninputs: {declared}\n---\n# Net\n"
    version = factories.submitted(ada, card=card)
    rows = [{"name": "pixels", "type": "tensor", "dtype": "float32", "shape": [1, 1, 8, 8]}]
    factories.work(facts={"inputs": rows})
    version.refresh_from_db()
    return version, Check.objects.get(version=version, kind="onnx")


def test_a_card_that_declares_another_input_is_sent_back(ada):
    version, check = described(ada, "{pixel: {range: [0, 1]}}")
    assert (version.state, check.outcome) == (Version.State.DRAFT, Check.Outcome.FAILED)
    (finding,) = check.report["files"][-1]["findings"]
    assert finding == {
        "code": "declared-input",
        "severity": "error",
        "message": "The model has no input pixel. pixel -> pixels.",
        "where": "line 3, inputs.pixel",
    }


def test_a_card_that_declares_the_inputs_of_the_model_passes(ada):
    _, check = described(ada, "{pixels: {image: {channels: grey, scale: 0-1}}}")
    assert check.outcome == Check.Outcome.PASSED
    assert [one["path"] for one in check.report["files"]] == ["model.onnx"]


@pytest.mark.parametrize(
    ("metadata", "stated"),
    [
        ({"license": "AGPL-3.0"}, "AGPL-3.0"),
        ({"license": "AGPL-3.0 License (https://example.org/license)"}, "AGPL-3.0"),
        ({"model_license": "apache-2.0"}, "apache-2.0"),
        ({"license": "MIT"}, ""),
        ({"model_license": "MIT OR Apache-2.0"}, ""),
        ({"license": "see the README"}, ""),
    ],
)
def test_a_licence_in_the_file_that_the_card_does_not_state_is_a_warning(ada, metadata, stated):
    version = factories.submitted(ada, card="---\nlicense: mit\n---\n# Net\n")
    factories.work(facts={"metadata": metadata})
    version.refresh_from_db()
    check = Check.objects.get(version=version, kind="onnx")
    assert (version.state, check.outcome) == (Version.State.PUBLISHED, Check.Outcome.PASSED)
    findings = [each for file in check.report["files"] for each in file["findings"]]
    assert [each["code"] for each in findings] == (["licence-contradiction"] if stated else [])
    for finding in findings:
        assert finding["severity"] == "warning"
        assert f"state the licence {stated} (key " in finding["message"]
        assert "the card states mit." in finding["message"]


def test_a_card_without_a_licence_contradicts_none(ada):
    version = factories.submitted(ada, card="# Net\n")
    factories.work(facts={"metadata": {"license": "AGPL-3.0"}})
    check = Check.objects.get(version=version, kind="onnx")
    assert [each for file in check.report["files"] for each in file["findings"]] == []


def test_a_card_whose_example_was_not_sent_passes_with_a_warning(ada):
    version, check = described(ada, "{pixels: {range: [0, 1], example: test_data/input.pb}}")
    assert (version.state, check.outcome) == (Version.State.PUBLISHED, Check.Outcome.PASSED)
    (finding,) = check.report["files"][-1]["findings"]
    assert (finding["code"], finding["severity"]) == ("declared-input", "warning")
    assert "The version has no file test_data/input.pb." in finding["message"]
