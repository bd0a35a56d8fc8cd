"""Moves by the hub's own API and pages, and what graphs tell of them."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client

from metadata.models import NamedGraph
from metadata.store import maintenance
from registry.core import outbox
from registry.models import Event, Mention, RegisteredModel, RetiredName
from tests import factories, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def test_a_model_gets_another_name(api, ada, version):
    moved = api(ada).post("models/ada/net/move", {"name": "lattice"})
    assert moved.status_code == 200, moved.content
    assert moved.json()["ref"] == "ada/lattice"
    assert moved["Location"].endswith("/api/v1/models/ada/lattice")
    event = Event.objects.get(verb="model.moved")
    assert event.data == {"old": "ada/net", "new": "ada/lattice"}
    former = RetiredName.objects.get()
    assert (former.name, former.spelt, former.moved_to_id) == ("ada/net", "ada/net", event.model_id)


def test_the_api_leads_on(api, ada, version):
    api(ada).post("models/ada/net/move", {"name": "lattice"})
    for old, new in (
        ("models/ada/net", "models/ada/lattice"),
        ("models/ada/net/versions/1", "models/ada/lattice/versions/1"),
        ("models/ada/net/versions/1/files/model.onnx",
         "models/ada/lattice/versions/1/files/model.onnx"),
        ("resolve?ref=ada/net@1", "resolve?ref=ada%2Flattice%401"),
    ):  # fmt: skip
        led = api().get(old)
        assert (led.status_code, led["Location"]) == (307, f"/api/v1/{new}")
        assert api().get(led["Location"]).status_code == 200


def test_a_longer_name_is_not_taken_for_an_old_one(api, ada, version):
    factories.version(ada, factories.model(ada, "net-2"))
    api(ada).post("models/ada/net/move", {"name": "lattice"})
    assert api().get("models/ada/net-2").status_code == 200
    assert api().get("models/ada/net-3").status_code == 404


def test_pages_lead_on_and_so_do_iris(ada, api, version, graphs):
    api(ada).post("models/ada/net/move", {"name": "lattice"})
    browser = Client(headers={"Accept": "text/html"})
    for path in ("", "/v/1", "/v/1/files", "/versions", "/linkset"):
        led = browser.get(f"/models/ada/net{path}")
        assert (led.status_code, led["Location"]) == (302, f"/models/ada/lattice{path}")
    led = Client(headers={"Accept": "text/turtle"}).get("/models/ada/net")
    assert led["Location"] == "/models/ada/lattice"
    assert browser.get("/models/ada/net.ttl")["Location"] == "/models/ada/lattice.ttl"
    assert browser.get("/models/ada/lattice").status_code == 200


def test_graphs_follow_and_tell_what_they_replace(ada, api, version, graphs):
    home = settings.HUB_PUBLIC_URL
    outbox.deliver()
    old = set(NamedGraph.objects.filter(iri__contains="/ada/net/").values_list("iri", flat=True))
    assert len(old) == 2
    api(ada).post("models/ada/net/move", {"name": "Lattice"})
    outbox.deliver()
    assert set(NamedGraph.objects.filter(iri__in=old).values_list("nquads", flat=True)) == {""}
    told = NamedGraph.objects.get(iri=f"{home}/models/ada/Lattice/metadata").nquads
    replaces = "<http://purl.org/dc/terms/replaces>"
    assert f"<{home}/models/ada/Lattice> {replaces} <{home}/models/ada/net>" in told
    assert f"<{home}/models/ada/Lattice/v/1> {replaces} <{home}/models/ada/net/v/1>" in told
    assert list(maintenance.differences()) == []


def test_an_old_iri_becomes_the_next_models(ada, api, version, graphs):
    api(ada).post("models/ada/net/move", {"name": "lattice"})
    # Before anybody was told of the move, the name is given again.
    successor = factories.published(ada, factories.model(ada, "net"))
    outbox.deliver()
    home = settings.HUB_PUBLIC_URL
    graph = NamedGraph.objects.get(iri=f"{home}/models/ada/net/v/1/metadata")
    assert graph.version_id == successor.pk
    assert graph.nquads
    assert (
        "replaces" not in NamedGraph.objects.get(iri=f"{home}/models/ada/lattice/metadata").nquads
    )
    assert list(maintenance.differences()) == []


def test_a_card_goes_on_meaning_the_model_that_it_named(ada, api, version, graphs):
    card = factories.CARD.replace("license:", "base_model: ada/net\nlicense:")
    heir = factories.published(ada, factories.model(ada, "heir"), card=card)
    assert Mention.objects.filter(version=heir, name="ada/net").exists()
    api(ada).post("models/ada/net/move", {"name": "lattice"})
    outbox.deliver()
    home = settings.HUB_PUBLIC_URL
    told = NamedGraph.objects.get(version=heir).nquads
    assert f"<{home}/models/ada/lattice/v/1>" in told
    assert f"<{home}/models/ada/net/v/1>" not in told
    assert list(maintenance.differences()) == []


def test_a_move_takes_who_may_see_it_along(ada, bob, api):
    lab = factories.namespace(ada)
    factories.published(ada, factories.model(ada, "secret", visibility="private"))
    assert api(ada).post(
        "models/ada/secret/move", {"namespace": lab.slug, "name": "secret"}
    ).status_code == 200  # fmt: skip
    outbox.deliver()
    bound = api(ada, namespace="ada")
    assert bound.get("models/ada/secret").status_code == 404
    assert bound.get("models").json()["items"] == []
    assert api(ada, namespace="lab").get("models").json()["items"][0]["ref"] == "lab/secret"
    assert api(bob).get("models/ada/secret").status_code == 404


def test_case_alone_may_change(ada, api, version, graphs):
    assert api(ada).post("models/ada/net/move", {"name": "Net"}).json()["ref"] == "ada/Net"
    outbox.deliver()
    assert not RetiredName.objects.exists()
    assert RegisteredModel.objects.get().ref == "ada/Net"
    assert list(maintenance.differences()) == []


def test_only_a_living_model_can_be_where_a_name_leads(ada, api, version):
    api(ada).post("models/ada/net/move", {"name": "lattice"})
    api(ada).delete("models/ada/lattice")
    assert set(RetiredName.objects.values_list("name", "moved_to")) == {
        ("ada/net", None), ("ada/lattice", None),
    }  # fmt: skip
    assert api(ada).get("models/ada/net").status_code == 404
