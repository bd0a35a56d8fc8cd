"""Errors outside the API: a page for people, a document for programs, an id for both."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from hub.protocol import problems
from registry import selectors
from registry.api.problems import translate
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

    monkeypatch.setattr(selectors, "model", broken)
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


def test_health(client):
    assert client.get("/healthz").content == b"ok"
    ready = client.get("/readyz")
    assert ready.status_code == 200
    parts = ready.json()
    assert all(parts[name]["ok"] for name in ("database", "storage", "cache"))
    assert parts["workers"] == {"ok": False, "workers": []}
