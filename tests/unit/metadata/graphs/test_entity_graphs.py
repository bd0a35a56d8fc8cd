"""Each agent, licence, data set and metric has one graph, and no triple stands in two graphs."""

from __future__ import annotations

import collections
from datetime import timedelta

import pyoxigraph
import pytest
from django.utils import timezone

from metadata import nightly
from metadata.models import Comparison, GraphReference, NamedGraph
from metadata.store import entities, maintenance
from metadata.validation import reports
from registry.core import outbox
from registry.datasets import services
from registry.models import Namespace
from registry.people.services import namespaces
from registry.versions.services import registered_models
from tests import factories, proven, shared

HOME = "http://testserver"
AGENT = f"{HOME}/agents/ada/metadata"
MIT = f"{HOME}/licences/mit/metadata"
ACCURACY = f"{HOME}/metrics/accuracy/metadata"
CARD = """---
license: mit
datasets: [stones]
model-index:
- results:
  - dataset: {type: stones, name: Stones}
    metrics: [{type: accuracy, value: 0.9}]
---
A small model that tells stones apart.
"""
SUM = """
PREFIX dcat: <http://www.w3.org/ns/dcat#> PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
SELECT (SUM(?bytes) AS ?sum) WHERE {
  ?version dcterms:publisher ?who ; dcat:distribution ?file . ?who foaf:name ?name .
  ?file dcat:byteSize ?bytes }
"""


def filled():
    rows = NamedGraph.objects.exclude(nquads="")
    return dict(rows.values_list("iri", "nquads"))


def ask(query):
    store = pyoxigraph.Store()
    for text in filled().values():
        store.extend(pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS))
    return list(store.query(query, use_default_graph_as_union=True))


def twice():
    """Every triple that stands in more than one graph."""
    found = collections.Counter(
        line.rpartition(" <")[0] for text in filled().values() for line in text.splitlines()
    )
    return [triple for triple, count in found.items() if count > 1]


@shared.rows
def start():
    """Several models of one publisher under one licence, with results, and data sets of theirs."""
    ada, bob = factories.somebody("ada"), factories.somebody("bob")
    space = factories.namespace(ada)
    namespaces.edit(ada, namespace=space, display_name="The Laboratory")
    factories.dataset(ada, "stones", license="llama3")
    factories.dataset(ada, "pebbles", license="llama3")
    made = [
        factories.published(ada, factories.model(ada, name, slug=slug), card=CARD)
        for slug, name in (("ada", "one"), ("ada", "two"), ("lab", "three"), ("lab", "four"))
    ]
    made.append(factories.published(ada, made[0].model, card=CARD))
    factories.published(bob, factories.model(bob, "five"), card=CARD.replace("mit", "llama3"))
    proven.conformance(made[0], [proven.measure("bundled", "failed", blames="runtime")])
    outbox.deliver()
    return made


@pytest.fixture
def catalogue(start, db):
    return shared.fresh(start)


def test_no_triple_stands_in_two_graphs(catalogue):
    assert len(filled()) > 15
    assert twice() == []


def test_a_sum_beside_the_publishers_name_counts_each_file_once(catalogue):
    from registry.models import File

    files = File.objects.filter(derived=False, version__state="published")
    wanted = sum(files.values_list("blob__size", flat=True))
    (row,) = ask(SUM)
    assert int(row["sum"].value) == wanted


def test_an_agent_has_one_name_and_one_graph(catalogue):
    lab = filled()[f"{HOME}/agents/lab/metadata"]
    assert 'name> "The Laboratory"' in lab
    assert lab.count("foaf/0.1/name>") == 1
    assert "prov#Organization" in lab
    for iri, text in filled().items():
        if "/agents/" not in iri:
            assert 'foaf/0.1/name> "The Laboratory"' not in text


def test_an_edited_namespace_is_told_anew_at_once(catalogue, ada):
    space = Namespace.objects.get(slug="lab")
    namespaces.edit(ada, namespace=space, display_name="Another Name")
    outbox.deliver()
    assert "Another Name" in filled()[f"{HOME}/agents/lab/metadata"]
    assert list(maintenance.differences()) == []


def test_known_only_through_private_models_means_no_graph(ada):
    private = factories.model(ada, visibility="private", license="secret-licence-of-ada")
    factories.published(ada, private, card=CARD.replace("mit", "secret-licence-of-ada"))
    outbox.deliver()
    maintenance.rebuild()
    assert AGENT not in filled()
    assert not any("secret" in text or "agents/ada" in text for text in filled().values())
    registered_models.edit(ada, model=private, visibility="public")
    outbox.deliver()
    assert AGENT in filled()
    assert f"{HOME}/licences/secret-licence-of-ada/metadata" in filled()
    registered_models.edit(ada, model=private, visibility="private")
    outbox.deliver()
    assert not any("secret" in text or "agents/ada" in text for text in filled().values())
    assert not GraphReference.objects.filter(iri__contains="agents/ada").exists()


def test_a_card_that_names_an_agents_address_publishes_no_graph_of_it(ada, bob):
    """Bob publishes nothing; another's card must not make the hub tell of him."""
    card = CARD.replace(
        "license: mit", f"license: mit\ncreators: [{{name: B, url: '{HOME}/agents/bob'}}]"
    )
    factories.published(ada, card=card)
    outbox.deliver()
    assert f"{HOME}/agents/bob/metadata" not in filled()
    assert AGENT in filled()


@pytest.mark.usefixtures("lists")
def test_what_nothing_public_names_any_more_has_no_graph(catalogue, ada):
    assert {AGENT, MIT, ACCURACY, f"{HOME}/licences/llama3/metadata"} <= set(filled())
    for version in catalogue:
        registered_models.delete(ada, model=version.model, tombstone=False)
    outbox.deliver()
    assert MIT not in filled()
    assert f"{HOME}/agents/lab/metadata" not in filled()
    # Ada still publishes data sets, and Bob a model.
    assert {AGENT, ACCURACY, f"{HOME}/licences/llama3/metadata"} <= set(filled())
    assert list(maintenance.differences()) == []


def test_a_withdrawn_data_set_keeps_its_publisher(ada):
    entry = factories.dataset(ada, license="llama3")
    outbox.deliver()
    assert AGENT in filled()
    services.withdraw(ada, dataset=entry, reason="Wrong.")
    outbox.deliver()
    assert AGENT in filled()
    assert list(maintenance.differences()) == []


def test_rows_of_before_are_written_anew_once(catalogue):
    """A hub that is upgraded holds graphs of the older form and no references."""
    right = filled()
    GraphReference.objects.all().delete()
    NamedGraph.objects.filter(iri__regex="/(agents|licences|metrics)/").delete()
    for row in NamedGraph.objects.filter(iri__contains="/models/ada/", version=None):
        row.nquads += f'<{HOME}/agents/ada> <http://xmlns.com/foaf/0.1/name> "ada" <{row.iri}> .\n'
        row.save()
    later = timezone.now() + timedelta(days=300)
    Comparison.objects.create(
        pk=1, started_at=later, finished_at=later, ok=True, detail="", address=HOME, form=0
    )
    assert "comparison" in nightly.due()
    assert nightly.compare()[0]
    assert filled() == right
    assert twice() == []


def test_the_address_of_a_thing_gives_its_graph(catalogue):
    assert entities.find("agents", "lab").nquads == filled()[f"{HOME}/agents/lab/metadata"]
    assert entities.find("metrics", "accuracy").nquads == filled()[ACCURACY]
    assert "Recall" in entities.find("metrics", "recall").nquads


def test_a_report_sees_the_things_that_a_graph_names(catalogue):
    context = reports.graph_of(catalogue[0]).context
    for graph in (AGENT, MIT, ACCURACY):
        assert filled()[graph] in context
