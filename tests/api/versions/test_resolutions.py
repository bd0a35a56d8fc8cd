"""The lookup before each load: a copy that is still right costs two questions to the database."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.models import Variant
from registry.versions.services import registered_models, versions
from tests import factories, samples, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    """ada/net with one published version."""
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def tag(client, ref="ada/net"):
    answer = client.get(f"resolve?ref={ref}")
    assert answer.status_code == 200
    again = client.get(f"resolve?ref={ref}", if_none_match=answer["ETag"])
    assert (again.status_code, again["ETag"], again.content) == (304, answer["ETag"], b"")
    return answer["ETag"]


def test_an_unchanged_answer_costs_two_questions(api, ada, published):
    client = api()
    known = tag(client)
    with CaptureQueriesContext(connection) as asked:
        assert client.get("resolve?ref=ada/net", if_none_match=known).status_code == 304
    assert len(asked) == 2


def test_whatever_changes_the_answer_changes_the_tag(api, ada, published):
    client = api()
    tags = [tag(client)]
    second = factories.published(ada, published.model, {"model.onnx": samples.mlp(hidden=9)})
    tags.append(tag(client))
    versions.yank(ada, version=second, reason="wrong labels")
    assert tag(client) == tags[0]
    versions.restore(ada, version=second)
    assert tag(client) == tags[1]
    Variant.objects.filter(version=second).update(precision="fp16")
    tags.append(tag(client))
    Variant.objects.filter(version=second).update(name="other")
    tags.append(tag(client))
    assert len(set(tags)) == 4


def test_options_and_other_references_have_tags_of_their_own(api, ada, published):
    client = api()
    opset = Variant.objects.get().opset
    assert len({tag(client), tag(client, f"ada/net&opset={opset}")}) == 2
    tag(client, "ada/net@1")


def test_a_tag_opens_nothing(api, ada, published):
    known = tag(api(ada))
    registered_models.edit(ada, model=published.model, visibility="private")
    assert api().get("resolve?ref=ada/net", if_none_match=known).status_code == 404
    bob = api(factories.somebody("bob"))
    assert bob.get("resolve?ref=ada/net", if_none_match=known).status_code == 404
    assert tag(api(ada)) == known
    elsewhere = api(ada, namespace=factories.namespace(ada, "team").slug)
    assert elsewhere.get("resolve?ref=ada/net", if_none_match=known).status_code == 404
    versions.yank(ada, version=published, reason="wrong labels")
    assert api(ada).get("resolve?ref=ada/net", if_none_match=known).status_code == 404
