"""Checking a card over HTTP, and reading other tools' files into the card of a draft."""

from __future__ import annotations

import pytest

from registry.models import Version
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
V1 = "models/ada/net/versions/1"
CFF = "cff-version: 1.2.0\ntitle: My work\nauthors: [{name: Lab}]\n"


def check(client, text):
    return client.post("cards/check", text, content_type="text/markdown")


def test_a_guest_may_check_a_card(api):
    answer = check(api(), "---\nlicence: mit\ntraining_data:\n  - rows: -3\n---\nIt reads digits.")
    assert answer.status_code == 200
    said = answer.json()
    assert said["ok"] is False
    assert [(one["line"], one["field"], one["severity"]) for one in said["findings"]] == [
        (2, "licence", "warning"),
        (4, "training_data[0].rows", "error"),
        (4, "training_data[0]", "error"),
    ]
    assert said["findings"][0]["cure"] == "licence -> license."
    assert said["card"]["fields"] == ["licence", "training_data"]
    assert check(api(), factories.CARD).json() == {
        "ok": True,
        "findings": [],
        "card": {
            "license": "apache-2.0",
            "licenses": ["apache-2.0"],
            "task": "image-classification",
            "keywords": ["digits", "tiny"],
            "summary": "It tells digits apart.",
            "fields": ["license", "pipeline_tag", "tags"],
        },
    }


def test_what_is_no_card_is_refused(api):
    problem(check(api(), b"\xff\xfe"), 422, "card-invalid")
    problem(check(api(), "x" * 2_000_001), 413, "too-large")


def test_errors_of_a_card_come_all_at_once(api, ada):
    factories.draft(ada)
    client = api(ada)
    wrong = "---\ntags: {a: 1}\ndoi: x\n---\n"
    etag = client.get(f"{V1}/card")["ETag"]
    answer = client.put(f"{V1}/card", wrong, content_type="text/markdown", If_Match=etag)
    said = problem(answer, 422, "card-invalid")
    assert [error["pointer"] for error in said["errors"]] == ["/tags", "/doi"]
    assert said["errors"][1]["detail"].startswith("Line 3, doi:")
    assert Version.objects.get().readme == factories.CARD


def test_a_file_is_read_into_a_card_and_written_only_when_asked(api, ada, bob):
    factories.draft(ada)
    client = api(ada)
    kind = {"content_type": "application/octet-stream"}
    where = f"{V1}/card/import?filename=CITATION.cff"
    proposed = client.post(where, CFF, **kind)
    assert proposed.status_code == 200, proposed.content
    assert proposed.json()["fields"] == {"creators": ["Lab"], "citation": "Lab. My work."}
    assert proposed.json()["saved"] is False
    assert Version.objects.get().readme == factories.CARD
    problem(client.post(f"{where}&apply=true", CFF, **kind), 428, "precondition-required")
    stale = client.post(f"{where}&apply=true", CFF, **kind, If_Match='"old"')
    problem(stale, 412, "precondition-failed")
    done = client.post(f"{where}&apply=true", CFF, **kind, If_Match=proposed["ETag"])
    assert done.json()["saved"] is True
    version = Version.objects.get()
    assert version.card["creators"] == ["Lab"]
    assert version.readme == done.json()["text"]
    problem(client.post(f"{V1}/card/import", "hello", **kind), 400, "invalid-request")
    problem(api(bob).post(where, CFF, **kind), 404, "not-found")
    problem(api().post(where, CFF, **kind), 404, "not-found")
