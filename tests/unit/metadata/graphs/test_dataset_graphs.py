"""Graphs follow the data sets that cards name, and the models that they are based on."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from hub.protocol.cards import Card
from metadata.models import NamedGraph
from metadata.sparql import example_queries
from metadata.store import maintenance
from registry.cards import mentions, resolution
from registry.core import outbox
from registry.datasets import services
from registry.models import Mention, RegisteredModel
from registry.versions.services import registered_models, versions
from tests import factories

HOME = "http://testserver"
STONES = f"{HOME}/datasets/stones"
LEARNED = f"<{HOME}/models/ada/net/v/1> <https://w3id.org/fair4ml#trainedOn>"
CARD = "---\ndatasets: [https://doi.org/10.1234/Stones]\n---\n# A model\n"
BASED = "---\nbase_model: ada/Base\n---\n# A model\n"


def text(iri):
    row = NamedGraph.objects.filter(iri=f"{iri}/metadata").first()
    return row.nquads if row else ""


def net():
    return text(f"{HOME}/models/ada/net/v/1")


@pytest.fixture
def stones(ada):
    made = factories.dataset(ada, "stones", iri="doi:10.1234/stones", personal_data="yes")
    outbox.deliver()
    return made


def test_an_entry_keeps_its_claims_when_it_is_withdrawn(ada, stones):
    assert f"<{STONES}> <https://w3id.org/dpv#hasPersonalData>" in text(STONES)
    services.edit(ada, dataset=stones, personal_data="no")
    outbox.deliver()
    assert "hasPersonalData" not in text(STONES)
    call_command("rebuild_graphs", "--check")
    services.edit(ada, dataset=stones, personal_data="yes", license="cc-by-4.0", description="Who")
    services.withdraw(ada, dataset=stones, reason="Consent withdrawn.")
    outbox.deliver()
    tombstone = text(STONES)
    for statement in (
        "<https://w3id.org/dpv#hasPersonalData> <https://w3id.org/dpv#PersonalData>",
        "<http://purl.org/dc/terms/license> <http://spdx.org/licenses/CC-BY-4.0>",
        "<http://www.w3.org/ns/adms#status> <http://purl.org/adms/status/Withdrawn>",
        f"<http://www.w3.org/ns/prov#wasInvalidatedBy> <{STONES}#withdrawal>",
        f"<http://www.w3.org/ns/prov#wasAssociatedWith> <{HOME}/agents/ada>",
        '<http://www.w3.org/2004/02/skos/core#changeNote> "Consent withdrawn."',
        '<http://purl.org/dc/terms/title> "stones"',
    ):
        assert statement in tombstone, statement
    for gone in ("dcat#dataset>", "description", "distribution", "deprecated"):
        assert gone not in tombstone
    call_command("rebuild_graphs", "--check")
    services.restore(ada, dataset=stones)
    services.withdraw(ada, dataset=stones, reason="The title names a person.", hide_title=True)
    services.edit(ada, dataset=stones, title="A person")
    outbox.deliver()
    assert "A person" not in text(STONES)
    services.restore(ada, dataset=stones)
    outbox.deliver()
    assert "adms" not in text(STONES)
    call_command("rebuild_graphs", "--check")


def test_versions_point_at_an_entry_from_when_it_is_there(ada):
    factories.published(ada, card=CARD)
    assert f"<{STONES}>" not in net()
    made = factories.dataset(ada, "stones", iri="https://doi.org/10.1234/stones")
    outbox.deliver()
    assert f"{LEARNED} <{STONES}>" in net()
    assert "#data-" not in net()
    services.withdraw(ada, dataset=made, reason="Not ours.")
    outbox.deliver()
    assert f"{LEARNED} <{STONES}>" in net()
    call_command("rebuild_graphs", "--check")


def test_a_base_without_a_number_is_the_version_that_was_there(ada):
    base = factories.model(ada, "base")
    first = factories.published(ada, base)
    factories.published(ada, card=BASED)
    factories.published(ada, base)
    outbox.deliver()
    derived = f"<http://www.w3.org/ns/prov#wasDerivedFrom> <{HOME}/models/ada/base/v/1>"
    assert derived in net()
    call_command("rebuild_graphs", "--check")
    versions.withdraw(ada, version=first, reason="Wrong data.", breaks_dependents=True)
    outbox.deliver()
    assert derived in net()
    call_command("rebuild_graphs", "--check")


def test_a_base_with_a_number_is_an_address_while_it_answers(ada, client):
    address = f"{HOME}/models/ada/base/v/2"
    card = f"---\nbase_model: [ada/base@1, ada/base@7, {address}, {HOME}/models/x/y]\n---\n# A\n"
    factories.published(ada, card=card)
    base = f"<{HOME}/models/ada/base/v/"
    assert base not in net()
    assert f"<{HOME}/models/x/y" not in net()
    assert '/source> "ada/base@1" ' in net()
    model = factories.published(ada, factories.model(ada, "base")).model
    outbox.deliver()
    assert f"{base}1>" in net()
    assert '/source> "ada/base@1" ' not in net()
    factories.published(ada, model)
    outbox.deliver()
    assert f"{base}2>" in net()
    call_command("rebuild_graphs", "--check")
    for number, status in ((1, 200), (2, 200), (7, 404)):
        assert (f"{base}{number}>" in net()) is (status == 200)
        assert client.get(f"/models/ada/base/v/{number}").status_code == status
    registered_models.edit(ada, model=model, visibility="private")
    outbox.deliver()
    assert base not in net()
    assert '/source> "ada/base@1" ' in net()


def test_a_base_that_is_hidden_is_a_name_again(ada):
    base = factories.published(ada, factories.model(ada, "base")).model
    factories.published(ada, card=BASED)
    assert "models/ada/base" in net()
    registered_models.edit(ada, model=base, visibility="private")
    outbox.deliver()
    assert "models/ada/base" not in net()
    assert '"ada/Base"' in net()


def test_a_rebuild_brings_an_older_releases_graphs_up_to_date(ada, stones):
    factories.published(ada, card=CARD)
    NamedGraph.objects.exclude(nquads="").update(nquads="<a:a> <a:b> <a:c> <a:g> .\n")
    NamedGraph.objects.filter(iri=f"{STONES}/metadata").delete()
    call_command("rebuild_graphs")
    call_command("rebuild_graphs", "--check")
    assert f"{LEARNED} <{STONES}>" in net()


def test_many_versions_are_told_anew_in_batches(ada, monkeypatch):
    model = factories.published(ada).model
    factories.published(ada, model)
    monkeypatch.setattr(maintenance, "BATCH", 1)
    RegisteredModel.objects.filter(pk=model.pk).update(license="mit")
    assert maintenance.refresh_model(model.pk, with_versions=True)
    assert not maintenance.refresh_model(model.pk, with_versions=True)
    call_command("rebuild_graphs", "--check")


def test_mentions_are_of_the_card_that_was_submitted(ada):
    card = (
        "---\nbase_model: [Zoo/Base@2, gpt2]\ndatasets: MNIST\n"
        "model-index: [{results: [{dataset: {type: 'doi:10.1234/X', name: x}}]}]\n---\n"
    )
    version = factories.draft(ada, card=card)
    assert not Mention.objects.exists()
    versions.submit(ada, version=version)
    assert set(Mention.objects.values_list("kind", "name")) == {
        ("model", "zoo/base"),
        ("model", "gpt2"),
        ("dataset", "mnist"),
        ("dataset", "https://doi.org/10.1234/x"),
        ("dataset", "x"),
    }


@pytest.mark.parametrize("shape", [None, 3, "x", [1], {"a": 2}, [[None]], [{"results": 3}]])
def test_cards_of_any_shape_name_what_they_name(shape):
    for field in (
        "datasets", "training_data", "validated_on", "tested_on",
        "model-index", "eval_results", "base_model",
    ):  # fmt: skip
        card = Card.read({field: shape})
        mentions.datasets_in(card)
        mentions.models_in(card)


def test_entries_are_found_by_name_and_by_iri(ada, stones):
    model = factories.model(ada)
    written = ["Stones", "x", "", "http://dx.doi.org/10.1234/STONES", f"{HOME}/datasets/Stones"]
    meant = resolution.datasets_of(model, written)
    assert meant == dict.fromkeys([mentions.key(one) for one in written if len(one) > 1], stones)
    assert resolution.datasets_of(model, []) == {}


def test_questions_are_about_what_is_public(ada, stones):
    assert example_queries.about(HOME)["V"] == f"{HOME}/models/zoo/digits-cnn/v/1"
    private = factories.model(ada, "hidden", visibility="private")
    factories.published(ada, private, card=CARD)
    assert "hidden" not in str(example_queries.about(HOME))
    factories.published(ada, card=CARD)
    assert example_queries.about(HOME) == {
        "V": f"{HOME}/models/ada/net/v/1",
        "D": STONES,
        "C": f"{HOME}/devices/none",
    }
    found = example_queries.find("everything-about-a-version", HOME)
    assert f"GRAPH <{HOME}/models/ada/net/v/1/metadata>" in found.query
    assert example_queries.find("nothing", HOME) is None


def test_a_data_set_is_rdf_at_its_address(ada, stones):
    client = Client()
    answer = client.get("/datasets/stones.ttl")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/turtle")
    assert b"hasPersonalData" in answer.content
    asked = client.get("/datasets/stones", headers={"Accept": "application/n-triples"})
    assert asked["Content-Type"] == "application/n-triples"
    services.withdraw(ada, dataset=stones, reason="Not ours.")
    assert client.get("/datasets/stones.ttl").status_code == 410
    assert client.get("/datasets/none.ttl").status_code == 404


def test_a_graph_has_versions_and_the_files_and_splits_of_the_newest(ada, stones):
    split = {
        "name": "hold out",
        "task": "regression",
        "reader": "csv",
        "files": ["rows/a b.csv"],
        "inputs": [{"name": "x", "columns": ["weight"]}],
        "target": {"column": "kind"},
    }
    factories.dataset_version(ada, stones, {"old.csv": b"old"}, message="First")
    newest = factories.dataset_version(ada, stones, {"rows/a b.csv": b"rows"}, splits=[split])
    outbox.deliver()
    graph = text(STONES)
    dcat, spdx = "http://www.w3.org/ns/dcat#", "http://spdx.org/rdf/terms#"
    file = f"{STONES}#v2-file-rows/a%20b.csv"
    address = f"{HOME}/api/v1/datasets/stones/versions/2/files/rows/a%20b.csv"
    for line in (
        f"<{STONES}> <{dcat}hasVersion> <{STONES}#v1>",
        f"<{STONES}> <{dcat}hasCurrentVersion> <{STONES}#v2>",
        f"<{STONES}> <{dcat}distribution> <{file}>",
        f'<{STONES}#v2> <{dcat}version> "2"',
        f'<{STONES}#v2> <http://purl.org/dc/terms/identifier> "sha256:{newest.sha256}"',
        f"<{STONES}#v2-split-hold%20out> <{dcat}distribution> <{file}>",
        f"<{file}> <{dcat}downloadURL> <{address}>",
        f'<{file}> <{dcat}byteSize> "4"^^',
        f'<{STONES}#v2-sha256-rows/a%20b.csv> <{spdx}checksumValue> "{newest.files.get().blob_id}"',
    ):
        assert line in graph, line
    assert "old.csv" not in graph
    assert b"".join(Client().get(address).streaming_content) == b"rows"
    call_command("rebuild_graphs", "--check")
