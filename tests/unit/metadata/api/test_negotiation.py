"""Models and versions as RDF over HTTP, to those who may read them."""

from __future__ import annotations

import pyoxigraph
import pytest
import rdflib
from django.test import Client
from rdflib import DCTERMS, Literal, URIRef

from metadata.models import NamedGraph
from metadata.store import negotiation
from registry.core import outbox
from registry.versions.services import versions
from tests import factories, shared

PAGE = "/models/ada/net/v/1"
VERSION = URIRef(f"http://testserver{PAGE}")
READERS = {"ttl": "turtle", "nt": "nt", "jsonld": "json-ld", "rdf": "xml"}


def read(content, reader):
    """By rdflib; its reader of JSON-LD warns of itself, so that one is read by another."""
    graph = rdflib.Graph()
    if reader != "json-ld":
        return graph.parse(data=content, format=reader)
    form = pyoxigraph.RdfFormat.JSON_LD
    lines = pyoxigraph.serialize(
        pyoxigraph.parse(content, format=form), format=pyoxigraph.RdfFormat.N_QUADS
    )
    return graph.parse(data=lines, format="nt")


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def test_every_format_has_the_same_triples(published, client):
    assert set(READERS) == set(negotiation.FORMATS)
    found = []
    for ending, reader in READERS.items():
        answer = client.get(f"{PAGE}.{ending}")
        assert answer.status_code == 200
        assert answer["Content-Type"] == negotiation.FORMATS[ending].media_type
        found.append(read(answer.content, reader))
    assert {len(graph) for graph in found} == {
        len(NamedGraph.objects.get(version=published).nquads.splitlines())
    }
    for graph in found:
        assert (VERSION, DCTERMS.identifier, Literal("ada/net@1")) in graph


def test_a_model_has_its_own_graph(published, client):
    graph = rdflib.Graph().parse(data=client.get("/models/ada/net.ttl").content, format="turtle")
    model = URIRef("http://testserver/models/ada/net")
    assert (model, DCTERMS.identifier, Literal("ada/net")) in graph


def test_an_unchanged_graph_costs_a_304(published, client):
    tag = client.get(f"{PAGE}.rdf")["ETag"]
    assert client.get(f"{PAGE}.rdf", headers={"If-None-Match": tag}).status_code == 304


def test_a_private_version_is_for_its_readers_alone(ada, bob):
    factories.published(ada, factories.model(ada, visibility="private"))
    for path in (f"{PAGE}.ttl", "/models/ada/net.ttl"):
        for reader in (None, bob):
            other = Client()
            if reader:
                other.force_login(reader)
            answer = other.get(path)
            missing = other.get(path.replace("net", "none"))
            assert answer.status_code == missing.status_code == 404
        mine = Client()
        mine.force_login(ada)
        answer = mine.get(path)
        assert answer.status_code == 200
        assert "private" in answer["Cache-Control"]
    assert not NamedGraph.objects.filter(nquads__contains="ada/net").exists()


def test_a_withdrawn_version_is_gone(ada, published, client):
    versions.withdraw(ada, version=published, reason="Wrong data.")
    outbox.deliver()
    assert client.get(f"{PAGE}.ttl").status_code == 410
    assert "text/turtle" not in client.get(PAGE).content.decode()


def test_pages_name_their_graphs(published, client):
    page = client.get(PAGE).content.decode()
    for ending, found in negotiation.FORMATS.items():
        kind = found.media_type.partition(";")[0]
        assert f'<link rel="alternate" type="{kind}" href="{PAGE}.{ending}">' in page


def test_a_model_whose_name_has_an_ending_keeps_its_page(ada, client):
    factories.published(ada, factories.model(ada, "net.ttl"))
    assert client.get("/models/ada/net.ttl")["Content-Type"].startswith("text/html")
    answer = client.get("/models/ada/net.ttl.ttl")
    assert answer["Content-Type"].startswith("text/turtle")
    assert client.get("/models/ada/net.nt").status_code == 404
