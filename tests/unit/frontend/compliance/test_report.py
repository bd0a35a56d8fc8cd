"""The compliance report: facts with their basis, or unknown."""

from __future__ import annotations

import json

import pytest

from frontend.pages.compliance import report
from metadata.graphs import withdrawals
from registry.datasets import services
from registry.versions.services import versions
from tests import factories, timed

pytestmark = [pytest.mark.capability("compliance"), pytest.mark.django_db]

BASE = "---\ndatasets: [faces]\nlicense: cc-by-nc-4.0\n---\n# Base\n"
CARD = """---
base_model: ada/base@1
license: mit
intended_use: Sorting digits of forms.
limitations: Handwriting of adults alone.
risks:
  - title: Wrong digits
    description: A form is misread.
    severity: low
    mitigation: A person reads the form again.
  - title: Bias
datasets: [elsewhere]
hardware: 1 GPU
---
# A model
"""
PLACE = "/models/ada/net/v/1/compliance"


@pytest.fixture
def faces(ada):
    return factories.dataset(
        ada, "faces", personal_data="yes", legal_basis="Consent", license="cc-by-4.0"
    )


@pytest.fixture
def net(ada, faces):
    factories.published(ada, factories.model(ada, "base"), card=BASE)
    return factories.published(ada, factories.model(ada, "net"), card=CARD)


def facts(of, heading):
    [section] = [section for section in of.sections if section.heading == heading]
    return {fact.name: (fact.value, str(fact.basis)) for fact in section.facts}


def test_every_heading_has_facts_or_is_unknown(ada, net):
    of = report.read(ada, net)
    assert facts(of, "Intended purpose") == {
        "Intended use": ("Sorting digits of forms.", "declared by the publisher")
    }
    assert facts(of, "Distribution and licences")["Conflict with an ancestor"][0] == (
        "ada/base@1 is under cc-by-nc-4.0 (non-commercial)"
    )
    data = facts(of, "Data and data governance")
    assert data["Training data"][0] == "elsewhere: personal data unknown"
    assert data["Training data of ada/base@1"][0].startswith("faces: yes, personal data, licence")
    risks = facts(of, "Risk management")
    assert risks["Wrong digits"][0].endswith("mitigation: A person reads the form again.")
    assert risks["Bias"][0].endswith("mitigation: unknown")
    assert facts(of, "Computational resources")["Hardware of training"][0] == "1 GPU"
    assert facts(of, "Authenticity and signatures")["SHA-256 of the manifest"][0] == (
        net.manifest_sha256
    )
    for heading in ("Human oversight", "EU declaration of conformity", "Energy"):
        assert heading in of.unknown


def test_a_data_set_stands_once_with_what_card_and_entry_say(ada, faces):
    card = "---\ndatasets: [faces]\ntraining_data:\n- name: faces\n  personal_data: 'no'\n---\n"
    version = factories.published(ada, factories.model(ada, "twice"), card=card)
    [section] = [
        section
        for section in report.read(ada, version).sections
        if section.heading == "Data and data governance"
    ]
    values = [fact.value for fact in section.facts]
    assert values[0].startswith("faces: yes, personal data, by the card no personal data, licence")
    plain = "---\ndatasets: [faces]\ntraining_data: [faces]\n---\n"
    version = factories.published(ada, factories.model(ada, "plain"), card=plain)
    assert len(facts(report.read(ada, version), "Data and data governance")) == 1


def test_what_was_withdrawn_is_stated(ada, net, faces):
    services.withdraw(ada, dataset=faces, reason="Consent withdrawn.")
    of = report.read(ada, net)
    assert (
        "withdrawn: Consent withdrawn."
        in (facts(of, "Data and data governance")["Training data of ada/base@1"][0])
    )
    [source] = withdrawals.sources_of(ada, net)
    assert facts(of, "Lineage and third-party models")["Withdrawn"][0].startswith(source.sentence)


def test_only_results_of_trusted_machines_count(ada, bob, net):
    estimated = {"power": timed.STATED}
    timed.benchmark(net, 1.0, **estimated)
    [(name, (value, basis))] = facts(report.read(bob, net), "Energy").items()
    assert name.startswith("Energy of one inference on Example CPU")
    assert "estimated" in value
    assert basis == "measured by the hub"


def test_a_page_and_a_document_for_whoever_sees_the_version(net, bob, client):
    page = client.get(PLACE).content.decode()
    for words in ("Annex IV, 1 (a)", "Sorting digits of forms.", "unknown", "Human oversight"):
        assert words in page
    document = json.loads(client.get(f"{PLACE}.json").content)
    assert document["version"] == "ada/net@1"
    assert "Human oversight" in document["unknown"]
    assert all(section["is_known"] == bool(section["facts"]) for section in document["sections"])
    type(net.model).objects.filter(pk=net.model_id).update(visibility="private")
    assert client.get(PLACE).status_code == 404
    assert client.get(f"{PLACE}.json").status_code == 404


def test_of_a_withdrawn_version_its_claims_remain(ada, net, client):
    versions.withdraw(ada, version=net, reason="Asked for.")
    net.refresh_from_db()
    of = report.read(ada, net)
    assert facts(of, "General description")["Reason"][0] == "Asked for."
    assert facts(of, "Distribution and licences")["Licence"][0] == "MIT"
    assert "Intended purpose" in of.unknown
    assert client.get(PLACE).status_code == 200
