"""The page of a job: how far it is, whether it breathes, who may end it, and what it made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from frontend.presenters import job_outcomes
from runners.models import Job, Measurement
from runners.queue import services
from tests import factories, proven, samples, timed
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(ada):
    """A job at which a worker is."""
    factories.submitted(ada)
    job = services.claim("worker-7", Job.Pool.values, host="h")
    services.renew(job, progress=40, phase="reading weights")
    job.refresh_from_db()
    return job


def heard(job, seconds):
    """The job as it is when its worker was last heard of so long ago."""
    lease = timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)
    Job.objects.filter(pk=job.pk).update(
        lease_until=timezone.now() + lease - timedelta(seconds=seconds)
    )


def test_a_running_job_tells_what_it_does_and_its_last_sign_of_life(reader, running):
    html = reader.page(f"/jobs/{running.pk}")
    assert "Reading weights" in html
    at = running.lease_until - timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)
    assert f'<time datetime="{at.isoformat()}" data-since=" ago">' in html
    assert "40\u202f% · " in html.partition("</title>")[0]
    assert "Worker not responding" not in html
    assert 'data-now="' in html  # elapsed time counts from the hub's clock


def test_a_job_that_no_longer_breathes_looks_different(reader, running):
    heard(running, settings.HUB_LIMITS_LEASE_SECONDS * 0.6)
    assert "Worker not responding" not in reader.page(f"/jobs/{running.pk}")
    heard(running, settings.HUB_LIMITS_LEASE_SECONDS * 0.7)
    html = reader.page(f"/jobs/{running.pk}")
    assert "<b>Worker not responding.</b>" in html
    assert "<title>silent · " in html
    assert 'data-state="silent"' in html
    assert "accent" not in html.partition('class="end">')[2].partition("</span>")[0]


def test_only_who_may_cancel_is_offered_it(guest, reader, admin, bob, running):
    version = running.version
    version.checks.update(outcome="passed")
    type(version).objects.filter(pk=version.pk).update(
        state="published", published_at=timezone.now()
    )
    type(version.model).objects.update(first_published_at=timezone.now())
    path = f"/jobs/{running.pk}"
    stranger = Reader()
    stranger.force_login(bob)
    for somebody in (guest, stranger):
        assert "Cancel job" not in somebody.page(path)
    assert stranger.post(f"{path}/cancel").status_code == 403
    assert "Cancel job" in reader.page(path)
    reader.post(f"{path}/cancel")
    html = reader.page(path)
    assert "Cancelling…" in html
    assert "Cancel job" not in html


def test_the_hubs_own_job_is_cancelled_by_administrators(reader, admin):
    job = services.enqueue(kind="suite", version=None, requires={"runtime": "openvino"})
    boss = Reader()
    boss.force_login(admin)
    assert "Cancel job" not in reader.page(f"/jobs/{job.pk}")
    assert "Cancel job" in boss.page(f"/jobs/{job.pk}")


def test_every_kind_leads_to_what_it_made(guest, ada):
    version = factories.version(ada, contents={"model.onnx": samples.mlp()})
    result = timed.benchmark(version, deliver=False)
    page = guest.page(f"/jobs/{result.job_id}")
    assert f'href="/models/ada/net/v/1/benchmarks/{result.pk}"' in page
    assert 'for <a href="/models/ada/net/v/1/benchmarks">' in page
    proven.conformance(version, [proven.measure("reference"), proven.measure("determinism")])
    job = Job.objects.get(kind="conformance", state="succeeded")
    page = guest.page(f"/jobs/{job.pk}")
    assert '<a href="/models/ada/net/v/1/conformance?variant=default">2 results on ONNX R' in page
    later = factories.version(ada, version.model)
    job = timed.comparison(later, version, slower=1.3, deliver=False)
    job = getattr(job, "job", job)
    page = guest.page(f"/jobs/{job.pk}")
    assert 'href="/models/ada/net/v/2/benchmarks#before">verdict: slower</a>' in page
    assert 'for <a href="/models/ada/net/v/2/benchmarks">' in page


@pytest.mark.capability("tryouts")
def test_a_run_leads_to_its_outputs(reader, ada):
    version = factories.version(ada)
    job = Job(
        kind="run", version=version, state="succeeded", input={"variant": "default"}, entry="x"
    )
    (made,) = job_outcomes.of(job)
    assert made.url == f"/models/ada/net/v/1/try?variant=default&run={job.uuid}#server"
    assert job_outcomes.place(job) == "/models/ada/net/v/1/try?variant=default"
    job.state = "failed"
    assert job_outcomes.of(job) == []
    assert not Measurement.objects.exists()
