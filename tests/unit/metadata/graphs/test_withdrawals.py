"""Facts outlive things: what was withdrawn stays in filters and graphs, and is marked."""

from __future__ import annotations

import pytest

from metadata.graphs import withdrawals
from metadata.sparql import example_queries
from metadata.sparql.listing import prologue
from registry.community import interest
from registry.core import outbox
from registry.datasets import services
from registry.versions.services import versions
from tests import factories
from tests.unit.metadata.graphs.test_benchmark_graphs import store

HOME = "http://testserver"
CARD = "---\ndatasets: [faces]\nlicense: mit\n---\n# A model\n"
BASED = "---\nbase_model: ada/net@1\n---\n# Another\n"
pytestmark = pytest.mark.django_db
REASON = "Consent withdrawn."


def ask(query):
    text = query if "PREFIX" in query else prologue(query, HOME) + query
    rows = store().query(text, use_default_graph_as_union=True)
    names = [variable.value for variable in rows.variables]
    return [{name: row[name].value for name in names if row[name]} for row in rows]


@pytest.fixture
def faces(ada):
    return factories.dataset(ada, "faces", personal_data="yes")


@pytest.fixture
def net(ada, faces):
    return factories.published(ada, card=CARD)


@pytest.fixture
def tuned(ada, bob, net):
    return factories.published(bob, factories.model(bob, "tuned"), card=BASED)


@pytest.fixture
def withdrawn(ada, faces, net, tuned):
    services.withdraw(ada, dataset=faces, reason=REASON)
    factories.work()
    faces.refresh_from_db()
    return faces


@pytest.mark.usefixtures("lists")
def test_filters_keep_answering(api, ada, faces, net, tuned):
    factories.work()

    def found():
        return {row["ref"] for row in api().get("models?personal_data=yes").json()["items"]}

    before = found()
    assert before == {"ada/net"}
    services.withdraw(ada, dataset=faces, reason=REASON)
    factories.work()
    assert found() == before
    [item] = api().get("models?personal_data=yes").json()["items"]
    assert item["withdrawn_data"] is True
    [item] = api().get("models?withdrawn_data=yes").json()["items"]
    assert item["ref"] == "ada/net"
    assert "trained on withdrawn data" in api().get("/models?personal_data=yes").content.decode()
    services.restore(ada, dataset=faces)
    factories.work()
    assert api().get("models?withdrawn_data=yes").json()["items"] == []


def test_queries_keep_answering_and_say_withdrawn(withdrawn, graphs):
    through = ask("SELECT DISTINCT ?v WHERE {"
                  "?m dcat:hasCurrentVersion ?v . ?v prov:wasDerivedFrom* ?a ."
                  "?a it6:trainedOn ?d . ?d dpv:hasPersonalData ?p }")  # fmt: skip
    assert {row["v"] for row in through} == {
        f"{HOME}/models/ada/net/v/1",
        f"{HOME}/models/bob/tuned/v/1",
    }
    [status] = ask(f"SELECT ?s WHERE {{ <{HOME}/datasets/faces> adms:status ?s }}")
    assert status["s"].endswith("Withdrawn")
    ready = example_queries.find("depends-on-withdrawn-data", HOME)
    rows = ask(ready.query)
    assert {(row["model"].rpartition("/models/")[2], row["reason"]) for row in rows} == {
        ("ada/net/v/1", REASON),
        ("bob/tuned/v/1", REASON),
    }


def test_a_withdrawn_ancestor_stays_in_lineage(ada, bob, net, tuned, graphs):
    versions.withdraw(ada, version=net, reason="Asked for.", breaks_dependents=True)
    factories.work()
    rows = ask("SELECT ?a ?p WHERE { ?v prov:wasDerivedFrom ?a . ?a it6:trainedOn ?d ."
               "?d dpv:hasPersonalData ?p . ?a prov:wasInvalidatedBy ?x }")  # fmt: skip
    assert [row["a"] for row in rows] == [f"{HOME}/models/ada/net/v/1"]
    [source] = withdrawals.sources_of(bob, tuned)
    assert source.sentence == "derived from ada/net@1, which was withdrawn: Asked for."


@pytest.mark.usefixtures("lists")
def test_pages_say_so_along_the_lineage(withdrawn, net, tuned, bob, api, client):
    assert [row.sentence for row in withdrawals.sources_of(bob, net)] == [
        f"trained on faces, a data set that was withdrawn: {REASON}"
    ]
    [source] = withdrawals.sources_of(bob, tuned)
    data = f"faces, a data set that was withdrawn: {REASON}"
    assert source.sentence == f"derived from ada/net@1, which was trained on {data}"
    assert [row.ref for row in withdrawals.dependants_of(bob, withdrawn)] == [
        "bob/tuned@1",
        "ada/net@1",
    ]
    for path in ("/models/ada/net", "/models/bob/tuned", "/models/bob/tuned/v/1/lineage"):
        page = client.get(path).content.decode()
        assert "a data set that was withdrawn: Consent withdrawn." in page, path
    page = client.get("/datasets/faces").content.decode()
    assert "/models/bob/tuned/v/1" in page


@pytest.mark.capability("community")
@pytest.mark.usefixtures("lists")
def test_watchers_are_told(withdrawn, tuned, ada, client):
    interest.watch(ada, model=tuned.model)
    client.force_login(ada)
    page = client.get("/watching").content.decode()
    assert "depends on faces, which was withdrawn: Consent withdrawn." in page


def test_who_does_not_see_a_model_learns_nothing(withdrawn, tuned, ada, bob):
    type(tuned.model).objects.filter(pk=tuned.model_id).update(visibility="private")
    assert [row.ref for row in withdrawals.dependants_of(ada, withdrawn)] == ["ada/net@1"]
    assert len(withdrawals.dependants_of(bob, withdrawn)) == 2
    outbox.deliver()
