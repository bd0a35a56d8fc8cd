"""The report of MLDCAT-AP's shapes over HTTP and on the pages, and the check of the card."""

from __future__ import annotations

import pytest
from django.test import Client

from metadata.models import ShapeReport
from metadata.shapes import validator
from metadata.validation import card_check
from tests import factories

pytestmark = pytest.mark.django_db

V1 = "models/ada/net/versions/1"
FOUND = [
    validator.Finding(
        f"http://testserver/models/ada/net/v/1{part}",
        path,
        f"{component}ConstraintComponent",
        "",
        "Violation",
        "",
        "",
        {"minCount": "1"},
    )
    for part, path, component in (
        ("", "http://data.europa.eu/it6/trainedOn", "MinCount"),
        ("/files/model.onnx", "http://purl.org/dc/terms/format", "MinCount"),
        ("/files/README.md", "http://purl.org/dc/terms/format", "MinCount"),
    )
]


@pytest.fixture
def answers(real_shapes, monkeypatch):
    """What the validator is made to say, by set of shapes."""
    said = {"hub": [], "other": FOUND}
    monkeypatch.setattr(
        validator,
        "validate",
        lambda *_args, against, **_named: said["hub" if against == "hub" else "other"],
    )
    return said


def page(path, user=None):
    browser = Client()
    if user is not None:
        browser.force_login(user)
    response = browser.get(path, HTTP_ACCEPT="text/html")
    assert response.status_code == 200
    return response.content.decode()


def test_the_report_of_a_published_version(api, ada, answers, graphs):
    factories.published(ada)
    report = api().get(f"{V1}/checks/mldcat-ap").json()
    assert (report["profile"], report["conforms"], report["count"]) == ("mldcat-ap", False, 2)
    assert report["shapes"] == "the hub's transcription of MLDCAT-AP 3.1.0"
    assert report["official"] is False
    assert report["shapes_sha256"].startswith("sha256:")
    assert report["findings"][1] == {
        "code": "profile-shape",
        "severity": "warning",
        "message": "dcterms:format is missing: at least 1 is required.",
        "path": "http://purl.org/dc/terms/format",
        "field": "",
        "times": 2,
        "where": ["model.onnx", "README.md"],
    }
    shown = page("/models/ada/net/v/1/checks")
    assert "MLDCAT-AP: 2 findings" in shown
    assert "it6:trainedOn is missing" in shown
    assert "the hub&#x27;s transcription of MLDCAT-AP 3.1.0" in shown
    assert "2 findings" in page("/models/ada/net/v/1")


def test_a_conforming_version_says_so(ada, answers):
    answers["other"] = []
    factories.published(ada)
    assert ShapeReport.objects.get().conforms
    assert "MLDCAT-AP: no findings" in page("/models/ada/net/v/1/checks")


def test_no_report_is_told_to_nobody_but_who_sees_the_version(api, ada, bob, answers):
    version = factories.published(ada, factories.model(ada, visibility="private"))
    for client in (api(), api(bob)):
        response = client.get(f"{V1}/checks/mldcat-ap")
        assert response.status_code == 404
        assert "report" not in response.json()["detail"]
    assert (
        "There is no report on ada/net@1" in api(ada).get(f"{V1}/checks/mldcat-ap").json()["detail"]
    )
    assert version.state == "published"


def test_the_report_of_what_is_hidden_later_is_hidden(api, ada, answers):
    version = factories.published(ada)
    assert api(ada).get(f"{V1}/checks/mldcat-ap").status_code == 200
    version.model.visibility = "private"
    version.model.save()
    assert api(ada).get(f"{V1}/checks/mldcat-ap").status_code == 404
    assert "MLDCAT-AP:" not in page("/models/ada/net/v/1/checks", ada)


def test_a_refused_card_is_told_on_the_draft_and_over_http(api, ada, real_shapes, monkeypatch):
    finding = card_check._finding("card-shape", "Name the data.", factories.CARD, "license")
    report = card_check._report([finding])
    monkeypatch.setattr(card_check, "judge", lambda _: ("failed", report))
    factories.submitted(ada)
    version = api(ada).get(V1).json()
    assert version["state"] == "draft"
    [card, onnx] = version["checks"]
    assert (card["kind"], card["required"], card["outcome"]) == ("card", True, "failed")
    assert card["report"]["files"][0]["findings"][0]["where"] == "line 2, license"
    assert onnx["outcome"] == "pending"
    shown = page("/models/ada/net/v/1/draft", ada)
    assert "Checks failed." in shown
    assert "Name the data." in shown
    assert "line 2, license" in shown


def test_a_version_from_before_the_check_says_that_it_has_none(ada):
    version = factories.published(ada)
    version.checks.filter(kind="card").delete()
    assert "published before card checks existed" in page("/models/ada/net/v/1/checks")
