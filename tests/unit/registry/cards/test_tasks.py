"""A known task is one task, whatever blanks, underscores and capitals it is written with."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser

from hub.protocol.cards import Card
from hub.protocol.vocabularies import task_name
from metadata.models import NamedGraph
from registry.cards import cards
from registry.catalogue import search
from registry.catalogue.query import Query
from registry.core import outbox
from registry.models import RegisteredModel, SearchDocument
from tests import factories

CARD = "---\nlicense: mit\npipeline_tag: {}\n---\n# A model\n"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Image Classification", "image-classification"),
        (" image_classification ", "image-classification"),
        ("IMAGE-CLASSIFICATION", "image-classification"),
        ("Image  to 3D", "image-to-3d"),
        ("My Own Task", "My Own Task"),
        ("imageclassification", "imageclassification"),
        ("", ""),
    ],
)
def test_known_tasks_have_the_spelling_of_the_vocabulary(written, name):
    assert task_name(written) == name
    assert Card.read({"pipeline_tag": written}).task == name


def test_an_unknown_task_is_a_finding_and_a_spelling_is_none():
    assert not cards.check(CARD.format("Image_Classification")).findings
    (finding,) = cards.check(CARD.format("Guess Work")).findings
    assert (finding.severity, finding.pointer) == ("warning", "/pipeline_tag")
    assert "is not a known task" in finding.message


@pytest.mark.django_db
@pytest.mark.usefixtures("lists", "graphs")
def test_lists_and_graphs_have_one_task(ada, client):
    version = factories.published(ada, card=CARD.format("Image Classification"))
    outbox.deliver()
    assert RegisteredModel.objects.get(pk=version.model_id).task == "image-classification"
    for written in ("image-classification", "Image Classification"):
        rows = search.find(AnonymousUser(), Query.of(task=(written,))).items
        assert [row.title for row in rows] == ["ada/net"]
    graphs = NamedGraph.objects.filter(iri__contains="/models/ada/net")
    assert graphs.count() == 2
    for graph in graphs:
        assert "/tasks/image-classification>" in graph.nquads
        assert "tasks/image%20" not in graph.nquads
    # Graphs of earlier releases name the task in its author's spelling.
    entity = client.get("/tasks/Image%20Classification", headers={"Accept": "text/turtle"})
    assert b"/tasks/image-classification> a " in entity.content


@pytest.mark.django_db
@pytest.mark.usefixtures("lists")
def test_a_task_that_a_maintainer_sets_has_the_spelling_too(ada, client):
    client.force_login(ada)
    model = factories.model(ada)
    url = f"/api/v1/models/{model.ref}"
    answer = client.patch(
        url,
        {"task": "Text Classification"},
        content_type="application/json",
        headers={"If-Match": "*"},
    )
    assert answer.json()["task"] == "text-classification"


@pytest.mark.django_db
@pytest.mark.usefixtures("lists")
def test_tasks_of_earlier_releases_are_respelt(ada):
    version = factories.published(ada, card=CARD.format("image-classification"))
    outbox.deliver()
    other = factories.model(ada, "other")
    for kind in (RegisteredModel, SearchDocument):
        kind.objects.filter(pk=version.model_id).update(task="Image Classification")
    RegisteredModel.objects.filter(pk=other.pk).update(task="Own Task")
    import_module("registry.migrations.0006_task_spellings").respell(apps, None)
    for kind in (RegisteredModel, SearchDocument):
        assert kind.objects.get(pk=version.model_id).task == "image-classification"
    assert RegisteredModel.objects.get(pk=other.pk).task == "Own Task"
