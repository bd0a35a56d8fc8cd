"""Errors outside the API: a page for people, a document for programs, an id for both."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from hub.protocol import problems
from hub.server import health
from registry.api.problems import translate
from registry.storage import verification
from registry.storage.files import store
from registry.versions import moves
from runners.models import Job
from runners.queue import services
from tests import factories

pytestmark = pytest.mark.django_db


def test_every_problem_has_a_page_at_its_type(client):
    for slug, kind in problems.by_slug().items():
        page = client.get(f"/problems/{slug}")
        assert page.status_code == 200
        assert kind.__name__ in page.content.decode()
    assert client.get("/problems/no-such-thing").status_code == 404


def test_people_get_a_page_and_programs_a_document(client):
    page = client.get("/nothing/here", headers={"Accept": "text/html"})
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert page["X-Request-Id"] in page.content.decode()
    document = client.get("/nothing/here", headers={"Accept": "application/json"})
    assert document["Content-Type"] == "application/problem+json"
    assert document.json()["instance"] == document["X-Request-Id"]
    below = client.get("/api/v1/nothing", headers={"Accept": "text/html"})
    assert below["Content-Type"] == "application/problem+json"


def test_an_id_is_taken_over_only_if_it_is_one(client):
    taken = client.get("/healthz", headers={"X-Request-Id": "abc-123"})
    assert taken["X-Request-Id"] == "abc-123"
    for evil in ("a b", "x" * 65, "<script>", "a\tb"):
        assert client.get("/healthz", headers={"X-Request-Id": evil})["X-Request-Id"] != evil


def test_what_breaks_inside_says_nothing_of_the_inside(client, monkeypatch):
    def broken(*_args, **_more):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(moves, "heir", broken)
    client.raise_request_exception = False
    answer = client.get("/api/v1/models/a/b")
    assert answer.status_code == 500
    assert answer.json()["type"].endswith("/problems/internal")
    assert "secret" not in answer.content.decode()


def test_a_database_that_is_away_is_said_to_be_away():
    problem = translate(OperationalError("could not connect"))
    assert isinstance(problem, problems.Unavailable)
    assert problem.extensions["retry_after"] == 2


def test_security_headers_are_on_every_page(client):
    for path in ("/", "/models", "/login", "/nothing"):
        answer = client.get(path, headers={"Accept": "text/html"})
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["X-Frame-Options"] == "DENY"
        assert "camera=()" in answer["Permissions-Policy"]


def test_a_form_of_another_site_is_refused(ada):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    answer = client.post("/logout", headers={"Accept": "text/html"})
    assert answer.status_code == 403
    assert "This form was not sent from a page of this hub" in answer.content.decode()
    made = client.post("/api/v1/models", {"namespace": "ada", "name": "x"}, "application/json")
    assert made.status_code == 403
    given = client.post("/account/namespaces/ada", {"username": "bob", "role": "owner"})
    assert given.status_code == 403


def test_pages_are_compressed_and_files_are_not(client, ada):
    version = factories.published(ada)
    gzip = {"Accept-Encoding": "gzip"}
    assert client.get("/models", headers=gzip)["Content-Encoding"] == "gzip"
    size = version.files.get(path="model.onnx").blob.size
    file = client.get("/api/v1/models/ada/net/versions/1/files/model.onnx", headers=gzip)
    assert "Content-Encoding" not in file
    assert len(b"".join(file.streaming_content)) == int(file["Content-Length"]) == size


@pytest.mark.capability("sparql")
def test_health(client):
    assert client.get("/healthz").content == b"ok"
    ready = client.get("/readyz")
    assert ready.status_code == 200
    parts = ready.json()
    works = {"ok": True}
    assert parts == {
        "database": works, "storage": works, "cache": works,
        "workers": {"ok": False}, "graphs": {"ok": False},
        "blobs": works, "urgent_jobs": works,
    }  # fmt: skip


def test_health_names_urgent_jobs_that_wait(client):
    job = services.enqueue(kind="describe", version=None, priority=0)
    assert client.get("/readyz").json()["urgent_jobs"] == {"ok": True}
    ago = timezone.now() - timedelta(seconds=61)
    Job.objects.filter(pk=job.pk).update(queued_at=ago, not_before=ago)
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["urgent_jobs"] == {"ok": False}


def test_health_in_detail_is_for_administrators(client, api, ada, admin):
    services.see("box-17", host="box", pool="cpu", features={})
    secret = {"headers": {"Authorization": "Bearer hf_wrong"}}
    client.force_login(ada)
    for answer in (client.get("/readyz"), client.get("/readyz", **secret), api(ada).get("/readyz")):
        assert answer.status_code == 200
        assert answer.json()["workers"] == {"ok": True}
        assert "box" not in answer.content.decode()
    bound = api(admin, namespace="zoo")
    assert bound.get("/readyz").json()["database"] == {"ok": True}
    client.force_login(admin)
    for answer in (client.get("/readyz"), api(admin).get("/readyz")):
        parts = answer.json()
        assert parts["database"] == {"ok": True, "engine": connection.vendor}
        assert parts["storage"]["free_bytes"] > 0
        assert parts["workers"]["workers"][0]["name"] == "box-17"


def test_health_says_nothing_of_addresses_that_fail(client, admin, monkeypatch, caplog):
    def fail():
        raise OperationalError("connection to server at 10.1.2.3 failed")

    monkeypatch.setattr(connection, "cursor", fail)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["database"] == {"ok": False}
    monkeypatch.setattr(health, "is_administrator", lambda _: True)
    assert client.get("/readyz").json()["database"] == {"ok": False, "error": "OperationalError"}
    assert "10.1.2.3" in caplog.text


def test_unsound_blobs_raise_an_alarm_and_only_administrators_see_which(client, ada, admin):
    digest = factories.blob(ada, b"soon gone")
    store().path(digest.removeprefix("sha256:")).unlink()
    assert [problem for _, problem in verification.verify()] == ["is missing from storage"]
    for user in (None, ada):
        if user:
            client.force_login(user)
        answer = client.get("/readyz")
        assert answer.status_code == 200  # the rest of the hub works
        assert answer.json()["blobs"] == {"ok": False}
        page = client.get("/health").content.decode()
        assert "1 file missing or changed on disk" in page
        assert digest not in page
    client.force_login(admin)
    named = {"ok": False, "unsound": 1, "digests": {digest: "missing"}}
    assert client.get("/readyz").json()["blobs"] == named
    assert f"{digest} is missing from storage" in client.get("/health").content.decode()
    factories.blob(ada, b"soon gone")
    assert client.get("/readyz").json()["blobs"] == {"ok": True, "unsound": 0, "digests": {}}


def test_only_the_database_takes_a_process_out_of_service(client, monkeypatch):
    def fail(*_):
        raise OSError("it hangs")

    monkeypatch.setattr(health._probes["storage"], "_check", fail)
    monkeypatch.setattr(health._probes["cache"], "_check", fail)
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["storage"] == ready.json()["cache"] == {"ok": False}


def test_a_part_that_hangs_is_named_in_time_and_asked_once(client, monkeypatch):
    over = threading.Event()
    calls = []
    probe = health._Probe("storage", lambda: calls.append(1) or over.wait(30) or {"ok": True})
    monkeypatch.setitem(health._probes, "storage", probe)
    monkeypatch.setattr(health, "_PROBE_SECONDS", 0.2)
    began = time.monotonic()
    for _ in range(2):
        assert client.get("/readyz").json()["storage"] == {"ok": False}
    assert time.monotonic() - began < 10
    assert calls == [1]
    over.set()
