"""The check of a card: what it refuses, where it points, and that nothing else is harmed by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import timezone

from metadata.graphs import cycles
from metadata.models import ShapeReport
from metadata.rdf.vocabulary import ShapesUnavailableError
from metadata.shapes import validator
from metadata.validation import card_check, reports
from registry.core import outbox
from registry.models import Check, Delivery, Event, Version
from registry.versions.services import files, versions
from tests import factories
from tests.unit.metadata import shaping

BAD = """---
license: mit
model-index:
  - results:
      - dataset: {type: mnist}
        metrics:
          - {type: accuracy, value: 0.9}
training_data:
  - {name: Faces, personal_data: "yes"}
  - name: Faces
    personal_data: "no"
---
# A model
"""


@pytest.fixture
def shapes(real_shapes, monkeypatch):
    """Shapes are asked, in this process."""
    monkeypatch.setattr(validator, "validate", shaping.validate)


def card_of(version):
    return Check.objects.get(version=version, kind="card")


@pytest.mark.django_db
def test_a_sound_card_passes_and_its_version_is_published(shapes, ada):
    version = factories.published(ada)
    assert card_of(version).outcome == "passed"
    assert card_of(version).report == {"files": [{"path": "README.md", "findings": []}]}


@pytest.mark.django_db
def test_a_bad_card_sends_the_version_back_and_names_field_and_line(shapes, ada):
    version = factories.submitted(ada, card=BAD)
    version.refresh_from_db()
    assert version.state == Version.State.DRAFT
    [finding] = card_of(version).report["files"][0]["findings"]
    assert finding == {
        "code": "card-shape",
        "severity": "error",
        "message": "A data set is said to hold personal data, and to hold none: tell each data "
        "set once.",
        "where": "line 9, training_data[0].personal_data",
        "field": "training_data[0].personal_data",
        "line": 9,
    }
    files.write_card(ada, version=version, text=BAD.replace("name: Faces\n", "name: Cats\n"))
    versions.submit(ada, version=version, publish=True)
    factories.work()
    version.refresh_from_db()
    assert version.state == Version.State.PUBLISHED


@pytest.mark.django_db
def test_no_answer_is_the_hubs_fault_and_says_so(real_shapes, ada, monkeypatch):
    def fail(*_args, **_named):
        raise ShapesUnavailableError("validation took too long.")

    monkeypatch.setattr(validator, "validate", fail)
    version = factories.submitted(ada)
    version.refresh_from_db()
    assert version.state == Version.State.DRAFT
    assert card_of(version).outcome == "errored"
    [finding] = card_of(version).report["files"][0]["findings"]
    assert finding["code"] == "shapes-unavailable"
    assert "took too long" in finding["message"]


@pytest.mark.django_db
def test_what_no_card_can_mend_is_the_hubs_fault(real_shapes, ada, monkeypatch):
    one = validator.Finding("x:f", "x:p", "MinCount", "", "Violation", "It lacks a size.", "", {})
    monkeypatch.setattr(validator, "validate", lambda *_args, **_named: [one])
    version = factories.submitted(ada)
    assert card_of(version).outcome == "errored"
    [finding] = card_of(version).report["files"][0]["findings"]
    assert (finding["code"], finding["field"], finding["line"]) == ("graph-shape", "", None)


@pytest.mark.django_db
def test_a_version_is_judged_once_however_often_it_is_told_of(ada, monkeypatch):
    version = factories.submitted(ada)
    told = []
    monkeypatch.setattr(card_check, "judge", lambda found: told.append(found) or ("passed", {}))
    subject = outbox.Subject("version", str(version.pk), version.model_id)
    card_check.on_submitted(subject)
    factories.work()
    card_check.on_submitted(subject)
    card_check.on_submitted(outbox.Subject("version", "0", None))
    assert told == []
    assert Event.objects.filter(verb="version.published").count() == 1


@pytest.mark.django_db
def test_a_version_is_no_ancestor_of_its_own(shapes, ada):
    factories.published(ada, card="---\nbase_model: ada/other@1\n---\n")
    card = "---\nlicense: mit\nbase_model: [mit/x, ada/net@1]\n---\n"
    version = factories.submitted(ada, factories.model(ada, "other"), card=card)
    version.refresh_from_db()
    assert version.state == Version.State.DRAFT
    [finding] = card_of(version).report["files"][0]["findings"]
    assert (finding["code"], finding["line"]) == ("lineage-circle", 3)
    assert finding["message"] == (
        "ada/other@1 would be derived from itself: it derives from ada/net@1 from ada/other@1. "
        "Correct base_model."
    )


@pytest.mark.django_db
def test_a_version_cannot_name_itself_as_its_base(shapes, ada):
    card = "---\nlicense: mit\nbase_model: ada/net@1\n---\n"
    version = factories.submitted(ada, card=card)
    [finding] = card_of(version).report["files"][0]["findings"]
    assert (finding["code"], finding["line"]) == ("lineage-circle", 3)


@pytest.mark.django_db
def test_a_circle_through_what_is_hidden_tells_nothing_of_it(ada, bob, settings):
    hidden = factories.published(
        bob,
        factories.model(bob, "secret", visibility="private"),
        card="---\nbase_model: ada/net@1\n---\n",
    )
    named = f"{settings.HUB_PUBLIC_URL}/models/bob/secret/v/1"
    version = factories.submitted(ada, card=f"---\nbase_model: {named}\n---\n")
    assert cycles.find_cycle(version) == []
    hidden.model.visibility = "public"
    hidden.model.save()
    assert cycles.find_cycle(version) == ["bob/secret@1"]


@pytest.mark.django_db
def test_a_delivery_made_apart_is_kept_from_others_and_comes_again(ada, monkeypatch):
    from django.db import connection

    seen = []

    def handler(_subject):
        seen.append(Delivery.objects.get(consumer="metadata.card").next_at - timezone.now())
        assert outbox.deliver() >= 0
        if len(seen) == 1:
            raise OSError("gone")

    monkeypatch.setitem(outbox._handlers, "metadata.card", handler)
    version = factories.submitted(ada)
    assert len(seen) == 1
    assert 0 < seen[0].total_seconds() <= outbox.APART_SECONDS
    left = Delivery.objects.get(consumer="metadata.card")
    assert (left.attempts, left.error) == (1, "OSError: gone")
    Delivery.objects.update(next_at=timezone.now())
    assert outbox.waits()
    outbox.deliver()
    assert len(seen) == 2
    assert not Delivery.objects.filter(consumer="metadata.card").exists()
    assert not connection.needs_rollback
    assert card_of(version).outcome == "pending"


@pytest.mark.django_db
def test_a_published_version_has_a_report_of_its_very_graph(shapes, ada):
    version = factories.published(ada)
    report = ShapeReport.objects.get(version=version)
    assert (report.profile, report.official, report.conforms) == ("mldcat-ap", False, False)
    assert report.count == len(report.findings) > 0
    trained = next(row for row in report.findings if row["path"].endswith("trainedOn"))
    assert trained["message"] == "it6:trainedOn is missing: at least 1 is required."
    assert (trained["field"], trained["where"], trained["times"]) == (
        "training_data",
        ["the version"],
        1,
    )
    assert reports.graph_of(version).sha256 == report.graph_sha256
    assert not reports.renew(version)
    ShapeReport.objects.all().delete()
    assert reports.renew_all() == 1


@pytest.mark.django_db
def test_what_is_not_public_has_no_report(shapes, ada):
    version = factories.published(ada, factories.model(ada, visibility="private"))
    assert not ShapeReport.objects.exists()
    assert reports.of_version(version) is None
    assert reports.renew_all() == 0


def test_every_code_is_on_the_page_of_findings():
    root = Path(__file__).parents[4]
    page = (root / "docs/findings.md").read_text()
    table = page.partition("## What the check of a card says")[2].partition("\n## ")[0]
    files = ("card_check", "reports")
    source = "".join((root / f"metadata/validation/{name}.py").read_text() for name in files)
    given = re.findall(r'"((?:card|graph|lineage|shapes|profile)-[a-z]+)"', source)
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == set(given)
