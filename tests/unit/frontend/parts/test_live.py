"""Pages that follow what they show: their marks, who is answered, and what a 304 costs."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.models import Version
from runners.models import Job
from tests import factories, shared

pytestmark = pytest.mark.django_db
LIVE = "/models/ada/net/v/1/live"


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def queued(version, **fields):
    return Job.objects.create(
        kind="conformance", queue="cpu", version=version, entry="model.onnx", **fields
    )


def test_an_unchanged_state_is_a_304_until_a_job_changes(guest, version, graphs):
    first = guest.get(LIVE)
    mark = first["ETag"]
    assert guest.get(LIVE, HTTP_IF_NONE_MATCH=mark).status_code == 304
    job = queued(version)
    changed = guest.get(LIVE, HTTP_IF_NONE_MATCH=mark)
    assert (changed.status_code, changed.json()) == (200, {"over": False})
    for progress in (0, 40):
        mark = guest.get(LIVE)["ETag"]
        Job.objects.filter(pk=job.pk).update(
            state="running", progress=progress, worker="w", lease_until=timezone.now()
        )
        assert guest.get(LIVE, HTTP_IF_NONE_MATCH=mark).status_code == 200
    page = guest.page("/models/ada/net/v/1")
    assert guest.get(LIVE)["ETag"].strip('"') in page
    assert "live.js" in page
    assert "40 %" in page


def test_a_state_is_over_once_nothing_is_left_to_do(guest, version, graphs):
    Job.objects.all().update(state="succeeded", finished_at=None)
    Version.objects.filter(pk=version.pk).update(published_at="2026-01-01T00:00:00Z")
    assert guest.get(LIVE).json() == {"over": True}
    assert "live.js" not in guest.page("/models/ada/net/v/1")


def test_a_private_state_is_nobodys(guest, version):
    version.model.visibility = "private"
    version.model.save(update_fields=["visibility"])
    assert guest.get(LIVE).status_code == 404


def test_a_304_renders_nothing_and_asks_for_few_rows(guest, version):
    mark = guest.get(LIVE)["ETag"]
    with CaptureQueriesContext(connection) as queries:
        assert guest.get(LIVE, HTTP_IF_NONE_MATCH=mark).status_code == 304
    assert len(queries) <= 6


def test_the_queue_follows_its_newest_jobs(guest, version):
    mark = guest.get("/jobs/live")["ETag"]
    assert mark.strip('"') in guest.page("/jobs")
    assert guest.get("/jobs/live", HTTP_IF_NONE_MATCH=mark).status_code == 304
    queued(version)
    assert guest.get("/jobs/live", HTTP_IF_NONE_MATCH=mark).status_code == 200
    assert guest.get("/jobs/live?state=wrong").status_code == 400
    # Another page of the list stays as it is.
    assert "data-watch" not in guest.page("/jobs?before=2030-01-01T00:00:00Z")


def test_a_draft_that_is_followed_shows_that_it_is_published(reader, guest, version):
    place = "/models/ada/net/v/1/draft"
    assert reader.get(place).status_code == 302
    queued(version)
    page = reader.page(f"{place}?watch")
    assert "<b>Published.</b>" in page
    assert "Its evidence is being made: 1 job" in " ".join(page.split())
    assert guest.get(f"{place}?watch").status_code == 302
