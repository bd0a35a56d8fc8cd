"""Collections over the API: what readers see, who changes them, and what hidden models show."""

from __future__ import annotations

import json

import pytest

from registry.community.collections import services
from registry.models import Collection, CollectionEntry, Membership, RegisteredModel
from registry.models.collections import MOST_ENTRIES
from registry.versions.services import registered_models
from tests import factories
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
PAGE = "collections/lab/small"
MODELS = f"{PAGE}/models"


@rows
def start():
    """Ada's public models a and b and her private one; Bob, a writer of the organisation lab."""
    ada, bob = factories.user("ada"), factories.user("bob")
    lab = factories.namespace(ada)
    Membership.objects.create(namespace=lab, user=bob, role="writer")
    for name in "ab":
        factories.version(ada, factories.model(ada, name))
    factories.model(ada, "secret", visibility="private")
    collection = services.create(ada, namespace=lab, slug="small", title="Small models")
    return ada, bob, collection


@pytest.fixture
def hub(start):
    return fresh(start)


def names(answer):
    assert answer.status_code == 200, answer.content
    return [entry["model"] for entry in answer.json()["entries"]]


def add(api, who, *models):
    for model in models:
        answer = api(who).post(MODELS, {"model": model})
        assert answer.status_code == 201, answer.content


def test_a_collection_is_made_filled_and_read_by_everybody(api, hub, settings):
    _, bob, _ = hub
    fields = {"namespace": "lab", "slug": "fast", "title": "Fast", "description": "Below 1 ms"}
    made = api(bob).post("collections", fields)
    assert made.status_code == 201, made.content
    assert made["Location"].endswith("/api/v1/collections/lab/fast")
    added = api(bob).post("collections/lab/fast/models", {"model": "ada/b", "note": "Best"})
    assert added.status_code == 201
    assert added.json() == {
        "model": "ada/b",
        "note": "Best",
        "summary": "It tells digits apart.",
        "added_at": added.json()["added_at"],
    }
    read = api().get("collections/LAB/Fast").json()
    assert {key: read[key] for key in fields} == fields
    assert (read["visibility"], read["model_count"]) == ("public", 1)
    assert read["entries"] == [added.json()]
    assert read["unavailable"] is None
    assert read["url"] == f"{settings.HUB_PUBLIC_URL}/collections/lab/fast"


def test_lists_are_narrowed_by_namespace_and_by_model(api, hub):
    ada, _, _ = hub
    add(api, ada, "ada/a")
    api(ada).post("collections", {"namespace": "ada", "slug": "own"})

    def collections(query="", who=None):
        answer = api(who).get(f"collections{query}")
        assert answer.status_code == 200, answer.content
        return [f"{row['namespace']}/{row['slug']}" for row in answer.json()["items"]]

    assert collections() == ["ada/own", "lab/small"]
    assert collections("?namespace=Lab") == ["lab/small"]
    assert collections("?model=ada/a") == ["lab/small"]
    assert collections("?model=ada/b") == []
    assert collections("?namespace=ada&model=ada/a") == []
    assert collections("?namespace=nobody") == []
    assert api().get("collections?model=ada/secret").status_code == 404
    assert api().get("collections?model=ada/none").status_code == 404
    assert api().get("collections?model=ada/a@1").status_code == 400
    page = api().get("collections?limit=1").json()
    assert [row["slug"] for row in page["items"]] == ["own"]
    following = api().get(page["next"].partition("/api/v1/")[2]).json()
    assert [row["slug"] for row in following["items"]] == ["small"]
    assert following["next"] is None


def test_notes_order_and_removal(api, hub):
    ada, bob, _ = hub
    add(api, ada, "ada/a", "ada/b")
    changed = api(bob).patch(f"{MODELS}/ada/a", {"note": "Small"})
    assert (changed.status_code, changed.json()["note"]) == (200, "Small")
    order = api(bob).put(f"{PAGE}/order", {"models": ["ada/b"]})
    assert names(order) == ["ada/b", "ada/a"]
    assert [row["note"] for row in order.json()["entries"]] == ["", "Small"]
    assert api(bob).delete(f"{MODELS}/ada/b").status_code == 204
    assert names(api().get(PAGE)) == ["ada/a"]
    assert api(bob).delete(f"{MODELS}/ada/b").status_code == 404
    assert api(bob).put(f"{PAGE}/order", {"models": ["ada/b"]}).status_code == 404
    assert api(bob).put(f"{PAGE}/order", {"models": ["ada/a", "ADA/a"]}).status_code == 400
    again = api(bob).post(MODELS, {"model": "ada/a"})
    assert (again.status_code, again.json()["type"].rpartition("/")[2]) == (409, "state-conflict")


def test_an_edit_names_what_it_saw(api, hub):
    ada, _, _ = hub
    etag = api(ada).get(PAGE)["ETag"]
    assert api(ada).patch(PAGE, {"title": "New"}).status_code == 428
    edited = api(ada).patch(PAGE, {"title": "New"}, If_Match=etag)
    assert (edited.status_code, edited.json()["title"]) == (200, "New")
    late = api(ada).patch(PAGE, {"title": "Late"}, If_Match=etag)
    assert late.status_code == 412
    assert api().get(PAGE).json()["title"] == "New"
    assert api().get(PAGE, If_None_Match=api().get(PAGE)["ETag"]).status_code == 304


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "collections", {"namespace": "lab", "slug": "more"}),
        ("patch", PAGE, {"title": "Changed"}),
        ("delete", PAGE, None),
        ("post", MODELS, {"model": "ada/b"}),
        ("patch", f"{MODELS}/ada/a", {"note": "Changed"}),
        ("delete", f"{MODELS}/ada/a", None),
        ("put", f"{PAGE}/order", {"models": ["ada/a"]}),
        ("delete", f"{PAGE}/unavailable", None),
    ],
)
def test_guests_strangers_readers_and_narrow_tokens_change_nothing(api, hub, method, path, body):
    ada, bob, collection = hub
    add(api, ada, "ada/a")
    carl, dora = factories.user("carl"), factories.user("dora")
    Membership.objects.create(namespace=collection.namespace, user=dora, role="reader")
    before = [list(Collection.objects.values()), list(CollectionEntry.objects.values())]
    callers = [
        (api(), 401),
        (api(carl), 403),
        (api(dora), 403),
        (api(ada, scopes=["read"]), 403),
        (api(ada, namespace="ada"), 403),
        *([(api(bob), 403)] if (method, path) == ("delete", PAGE) else []),
    ]
    for caller, status in callers:
        headers = {"If-Match": "*"} if path == PAGE and method == "patch" else {}
        arguments = [path] if body is None else [path, body]
        answer = getattr(caller, method)(*arguments, **headers)
        assert answer.status_code == status, answer.content
    assert [list(Collection.objects.values()), list(CollectionEntry.objects.values())] == before


def test_a_model_that_one_does_not_see_is_nowhere(api, hub):
    ada, bob, _ = hub
    add(api, ada, "ada/a")
    list_before = api().get("collections").content
    read_before = api().get(PAGE)
    assert api(ada).post(MODELS, {"model": "ada/secret", "note": "Unreleased"}).status_code == 201
    read = api().get(PAGE)
    assert (read.content, read["ETag"]) == (read_before.content, read_before["ETag"])
    assert api().get("collections").content == list_before
    for who in (None, bob):
        for path in (PAGE, "collections"):
            answer = api(who).get(path)
            assert b"secret" not in answer.content
            assert b"Unreleased" not in answer.content
        assert api(who).get(PAGE).json()["model_count"] == 1
        assert api(who).get("collections").json()["items"][0]["model_count"] == 1
    assert names(api(ada).get(PAGE)) == ["ada/a", "ada/secret"]
    assert names(api(ada, namespace="lab").get(PAGE)) == ["ada/a"]
    assert api(ada).get(PAGE).json()["unavailable"] == 0
    assert api(bob).get(PAGE).json()["unavailable"] == 1
    # What is there and hidden answers as what is not there.
    for method, body in (("delete", None), ("patch", {"note": ""})):
        arguments = [] if body is None else [body]
        there = getattr(api(bob), method)(f"{MODELS}/ada/secret", *arguments)
        missing = getattr(api(bob), method)(f"{MODELS}/ada/absent", *arguments)
        assert there.status_code == missing.status_code == 404
        assert there.json()["detail"] == missing.json()["detail"].replace("absent", "secret")
    for model in ("ada/secret", "ada/absent"):
        assert api(bob).post(MODELS, {"model": model}).status_code == 404
        assert api(bob).put(f"{PAGE}/order", {"models": [model]}).status_code == 404
    assert api(bob).delete(f"{PAGE}/unavailable").status_code == 204
    assert names(api(ada).get(PAGE)) == ["ada/a"]


def test_a_private_collection_answers_as_one_that_is_not_there(api, hub):
    ada, bob, _ = hub
    add(api, ada, "ada/a")
    api(ada).patch(PAGE, {"visibility": "private"}, If_Match="*")
    carl = factories.user("carl")
    for who in (None, carl):
        hidden, missing = api(who).get(PAGE), api(who).get("collections/lab/other")
        assert hidden.status_code == missing.status_code == 404
        assert hidden.json()["detail"] == missing.json()["detail"].replace("other", "small")
        for query in ("", "?namespace=lab", "?model=ada/a"):
            assert api(who).get(f"collections{query}").json()["items"] == []
        assert api(who).post(MODELS, {"model": "ada/b"}).status_code == 404
    assert names(api(bob).get(PAGE)) == ["ada/a"]
    assert api(ada, namespace="ada").get(PAGE).status_code == 404


def test_the_limit_is_the_writers_alone(api, hub):
    _, bob, collection = hub
    secret = RegisteredModel.objects.get(name="secret")
    models = RegisteredModel.objects.bulk_create(
        RegisteredModel(namespace=secret.namespace, name=f"m{place}", visibility="private")
        for place in range(MOST_ENTRIES)
    )
    CollectionEntry.objects.bulk_create(
        CollectionEntry(collection=collection, model=model, position=place)
        for place, model in enumerate(models)
    )
    refused = api(bob).post(MODELS, {"model": "ada/a"})
    assert refused.status_code == 409
    assert "at most 200 models" in refused.json()["detail"]
    assert (names(api(bob).get(PAGE)), api(bob).get(PAGE).json()["unavailable"]) == ([], 200)
    assert (names(api().get(PAGE)), api().get(PAGE).json()["unavailable"]) == ([], None)
    carl = factories.user("carl")
    assert api(carl).post(MODELS, {"model": "ada/a"}).status_code == 403
    api(bob).delete(f"{PAGE}/unavailable")
    assert api(bob).post(MODELS, {"model": "ada/a"}).status_code == 201


def test_former_names_of_models_are_followed(api, hub):
    ada, *_ = hub
    model = RegisteredModel.objects.get(name="a")
    registered_models.move(ada, model=model, namespace=model.namespace, name="renamed")
    add(api, ada, "ada/a")
    assert names(api().get(PAGE)) == ["ada/renamed"]
    assert api(ada).patch(f"{MODELS}/ada/a", {"note": "Old"}).json()["model"] == "ada/renamed"
    assert api().get("collections?model=ada/a").json()["items"][0]["slug"] == "small"
    assert api(ada).delete(f"{MODELS}/ada/a").status_code == 204


@pytest.mark.parametrize(
    ("fields", "status", "pointer"),
    [
        ({"slug": "Small"}, 422, "/slug"),
        ({"slug": "a.atom"}, 422, "/slug"),
        ({"slug": "small"}, 409, "/slug"),
        ({"slug": "x", "title": " "}, 400, "/title"),
        ({"slug": "x", "title": "x" * 121}, 400, "/title"),
        ({"slug": "x", "description": "x" * 2001}, 400, "/description"),
        ({"slug": "x", "visibility": "secret"}, 400, "/visibility"),
        ({"slug": "x", "colour": "red"}, 400, "/colour"),
        ({}, 400, "/slug"),
    ],
)
def test_what_is_wrong_is_named(api, hub, fields, status, pointer):
    answer = api(hub[0]).post("collections", {"namespace": "lab", **fields})
    assert answer.status_code == status, answer.content
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert Collection.objects.count() == 1


@pytest.mark.parametrize("model", ["ada/a@1", "a b", "ada/a:int8", ""])
def test_only_whole_models_are_added(api, hub, model):
    answer = api(hub[0]).post(MODELS, {"model": model})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/model"
    assert not CollectionEntry.objects.exists()


def test_texts_are_kept_as_they_are_written(api, hub):
    text = "<b>bold</b>\n\N{SNOWMAN} & more"
    answer = api(hub[0]).post(MODELS, {"model": "ada/a", "note": text})
    assert json.loads(answer.content)["note"] == text
