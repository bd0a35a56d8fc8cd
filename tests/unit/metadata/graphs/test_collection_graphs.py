"""Graphs of collections: public ones alone, and in them public models alone."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from metadata.models import NamedGraph
from registry.community.collections import services
from registry.core import outbox
from registry.models import Namespace
from registry.people.services import namespaces
from registry.versions.services import registered_models
from tests import factories, shared

pytestmark = pytest.mark.capability("community")

HOME = "http://testserver"
SMALL = f"{HOME}/collections/ada/small"
SCHEMA = "https://schema.org/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def text(iri=SMALL):
    row = NamedGraph.objects.filter(iri=f"{iri}/metadata").first()
    return row.nquads if row else ""


def part(name):
    return f"<{SMALL}> <{SCHEMA}hasPart> <{HOME}/models/ada/{name}>"


@shared.rows
def start():
    """A collection with a public model, a private one and another public one."""
    ada = factories.somebody("ada")
    for name in ("a", "b"):
        factories.version(ada, factories.model(ada, name))
    space = Namespace.objects.get(slug="ada")
    made = services.create(ada, namespace=space, slug="small", title="Small models")
    secret = factories.model(ada, "secret", visibility="private")
    a, b = (space.models.get(name=name) for name in "ab")
    for model, note in ((b, "Best"), (secret, "Unreleased"), (a, "")):
        services.add(ada, collection=made, model=model, note=note)
    return made


@pytest.fixture
def small(start, db):
    return shared.fresh(start)


def test_a_public_collection_lists_its_public_models_in_order(ada, small):
    graph = text()
    assert f"<{SMALL}> <{TYPE}> <{SCHEMA}Collection>" in graph
    assert f'<{SMALL}> <{SCHEMA}name> "Small models"' in graph
    assert part("a") in graph
    assert part("b") in graph
    for place, name in ((1, "b"), (2, "a")):
        assert f"<{SMALL}#{place}> <{SCHEMA}item> <{HOME}/models/ada/{name}>" in graph
    assert f'<{SMALL}#1> <{SCHEMA}description> "Best"' in graph
    assert f"<{SMALL}#3>" not in graph
    assert "secret" not in graph
    assert "Unreleased" not in graph
    assert f"<{HOME}/agents/ada>" in text(f"{HOME}/agents/ada")
    call_command("rebuild_graphs", "--check")


def test_a_private_collection_has_no_graph(ada, small):
    services.edit(ada, collection=small, visibility="private")
    outbox.deliver()
    assert text() == ""
    assert not NamedGraph.objects.filter(nquads__contains="/collections/").exists()
    call_command("rebuild_graphs", "--check")
    services.edit(ada, collection=small, visibility="public")
    outbox.deliver()
    assert part("a") in text()


def test_a_model_that_is_hidden_leaves_the_graph_before_the_outbox_is_swept(
    ada, small, django_capture_on_commit_callbacks
):
    a = small.namespace.models.get(name="a")
    with django_capture_on_commit_callbacks(execute=True):
        registered_models.edit(ada, model=a, visibility="private")
    assert part("a") not in text()
    assert f"<{SMALL}#2>" not in text()
    registered_models.edit(ada, model=a, visibility="public")
    outbox.deliver()
    assert f"<{SMALL}#2> <{SCHEMA}item> <{HOME}/models/ada/a>" in text()
    call_command("rebuild_graphs", "--check")


@pytest.mark.usefixtures("lists")
def test_moved_deleted_and_newly_published_models_are_followed(ada, small):
    a, b = (small.namespace.models.get(name=name) for name in "ab")
    registered_models.move(ada, model=a, namespace=small.namespace, name="renamed")
    registered_models.delete(ada, model=b)
    new = factories.model(ada, "new")
    services.add(ada, collection=small, model=new)
    outbox.deliver()
    assert (part("renamed") in text(), part("a") in text(), part("b") in text()) == (
        True, False, False,
    )  # fmt: skip
    assert part("new") not in text()
    factories.published(ada, new)
    outbox.deliver()
    assert part("new") in text()
    call_command("rebuild_graphs", "--check")


def test_a_deleted_collection_leaves_its_graph_to_a_new_one_of_its_name(ada, small):
    services.delete(ada, collection=small)
    outbox.deliver()
    assert text() == ""
    call_command("rebuild_graphs", "--check")
    again = services.create(ada, namespace=small.namespace, slug="small", title="Again")
    services.delete(ada, collection=again)
    services.create(ada, namespace=small.namespace, slug="small", title="Third")
    outbox.deliver()
    assert '"Third"' in text()
    call_command("rebuild_graphs", "--check")


def test_rebuilding_makes_and_empties_what_it_should(ada, small):
    before = text()
    NamedGraph.objects.filter(iri=f"{SMALL}/metadata").delete()
    call_command("rebuild_graphs")
    assert text() == before
    namespaces.edit(ada, namespace=small.namespace, display_name="Ada")
    outbox.deliver()
    call_command("rebuild_graphs", "--check")


def test_the_graph_is_at_the_address_of_the_page(ada, small):
    page = Client().get("/collections/ada/small", headers={"Accept": "text/turtle"})
    assert page["Content-Type"] == "text/turtle; charset=utf-8"
    assert page["Content-Location"] == "/collections/ada/small.ttl"
    triples = Client().get("/collections/ada/small.nt")
    assert f"{part('a')} ." in triples.content.decode()
    services.edit(ada, collection=small, visibility="private")
    for address in ("small.ttl", "small.nt", "small.jsonld", "small.rdf"):
        assert Client().get(f"/collections/ada/{address}").status_code == 404
    browser = Client()
    browser.force_login(ada)
    assert "secret" not in browser.get("/collections/ada/small.nt").content.decode()
