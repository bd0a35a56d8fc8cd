"""Aliases over HTTP: where they pointed when, who moved them, and what a version's end breaks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.models import Event, Membership, Ref, Version
from registry.versions.services import refs, versions
from tests import factories, samples, shared
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
NET = "models/ada/net"
ALIAS = f"{NET}/refs/champion"


@shared.rows
def start():
    """ada/net with three published versions."""
    ada = factories.somebody("ada")
    first = factories.version(ada)
    for hidden in (9, 10):
        factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=hidden)})
    return first


@pytest.fixture
def first(start, db):
    return shared.fresh(start)


def move(client, number, **fields):
    return client.put(ALIAS, {"kind": "alias", "version": number, **fields})


def day(monkeypatch, month, day):
    at = datetime(2026, month, day, 12, tzinfo=UTC)
    monkeypatch.setattr(Event._meta.get_field("at"), "default", lambda: at)
    monkeypatch.setattr(Event._meta.get_field("at"), "_get_default", lambda: at)


def test_the_history_names_who_moved_an_alias_when_and_why(api, ada, bob, first, monkeypatch):
    Membership.objects.create(namespace=first.model.namespace, user=bob, role="maintainer")
    day(monkeypatch, 4, 20)
    assert move(api(ada), 1).status_code == 201
    day(monkeypatch, 5, 3)
    assert move(api(bob), 2, message="  Better on\nnew data. ").status_code == 200
    day(monkeypatch, 5, 10)
    assert api(ada).delete(ALIAS).status_code == 204
    day(monkeypatch, 6, 1)
    assert move(api(ada), 3).status_code == 201
    rows = api().get(f"{NET}/alias-history?alias=champion").json()["items"]
    keys = ("number", "previous", "moved_by", "message", "until")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        (3, None, "ada", "", None),
        (2, 1, "bob", "Better on new data.", "2026-05-10T12:00:00Z"),
        (1, None, "ada", "", "2026-05-03T12:00:00Z"),
    ]
    for at, numbers in {
        "2026-04-19": [],
        "2026-04-20": [1],
        "2026-05-02": [1],
        "2026-05-03": [2, 1],
        "2026-05-03T11:59:59Z": [1],
        "2026-05-03T12:00:00Z": [2],
        "2026-05-20": [],
        "2027-01-01": [3],
    }.items():
        items = api().get(f"{NET}/alias-history?alias=champion&at={at}").json()["items"]
        assert [row["number"] for row in items] == numbers, at


def test_pages_of_a_history_know_the_moves_beside_them(api, ada, first):
    client = api(ada)
    for number in (1, 2, 3):
        move(client, number)
    pages, address = [], f"{NET}/alias-history?limit=1"
    while address:
        page = client.get(address).json()
        pages += page["items"]
        address = (page["next"] or "").removeprefix("http://testserver/api/v1/")
    assert [(row["number"], row["previous"]) for row in pages] == [(3, 2), (2, 1), (1, None)]
    assert [row["until"] for row in pages] == [None, pages[0]["at"], pages[1]["at"]]


def test_a_move_to_the_same_version_is_no_move(api, ada, first):
    assert move(api(ada), 1).status_code == 201
    assert move(api(ada), 1, message="again").status_code == 200
    assert Event.objects.filter(verb="alias.moved").count() == 1


def test_what_was_never_an_alias_and_what_is_no_day_is_said(api, first):
    problem(api().get(f"{NET}/alias-history?alias=none"), 404, "not-found")
    for at in ("yesterday", "2026-13-01", "9999-12-31", "2026-05-03T25:00"):
        problem(api().get(f"{NET}/alias-history?at={at}"), 400, "invalid-request")


def test_histories_of_hidden_models_look_like_missing_ones(api, ada, bob, first):
    move(api(ada), 1)
    first.model.visibility = "private"
    first.model.save()
    for path in ("refs", "alias-history", "versions/1/dependents"):
        problem(api(bob).get(f"{NET}/{path}"), 404, "not-found")


def test_refs_are_listed_with_their_last_moves(api, ada, first):
    move(api(ada), 1)
    move(api(ada), 2, message="Better.")
    refs.put(ada, model=first.model, name="1.0", kind="tag", number=1)
    with CaptureQueriesContext(connection) as queries:
        rows = api().get(f"{NET}/refs").json()["items"]
    assert [(row["kind"], row["name"], row["number"]) for row in rows] == [
        ("alias", "champion", 2),
        ("branch", "main", 3),
        ("tag", "1.0", 1),
    ]
    assert [(row["moved_by"], row["message"], row["state"]) for row in rows] == [
        ("ada", "Better.", "published"),
        (None, "", "published"),
        (None, "", "published"),
    ]
    assert len(queries) == 3
    tags = api().get(f"{NET}/refs?kind=tag").json()["items"]
    assert [row["name"] for row in tags] == ["1.0"]


def test_versions_show_their_aliases_tags_and_branches(api, ada, first):
    move(api(ada), 2)
    refs.put(ada, model=first.model, name="1.0", kind="tag", number=2)
    rows = api().get(f"{NET}/versions").json()["items"]
    assert [(row["aliases"], row["tags"], row["branches"]) for row in rows] == [
        ([], [], ["main"]),
        (["champion"], ["1.0"], []),
        ([], [], []),
    ]
    assert api().get(f"{NET}/versions/2").json()["aliases"] == ["champion"]


def test_an_alias_moves_onto_a_yanked_version_by_permission_alone(api, ada, first):
    versions.yank(ada, version=first, reason="Wrong labels")
    document = problem(move(api(ada), 1), 409, "state-conflict")
    assert "ada/net@1 is yanked: Wrong labels." in document["detail"]
    assert "allow_yanked" in document["detail"]
    assert not Ref.objects.filter(kind="alias").exists()
    assert move(api(ada), 1, allow_yanked=True).status_code == 201


@pytest.mark.parametrize("act", ["yank", "withdraw"])
def test_an_end_names_what_depends_on_the_version(api, ada, bob, first, act):
    move(api(ada), 1)
    refs.put(ada, model=first.model, name="1.0", kind="tag", number=1)
    card = factories.CARD.replace("---\n", "---\nbase_model: ada/net@1\n", 1)
    for name, visibility in (("child", "public"), ("secret", "private")):
        of = factories.model(bob, name, visibility=visibility)
        factories.version(bob, of, card=card)
    names = [
        {"kind": "alias", "name": "champion"},
        {"kind": "tag", "name": "1.0"},
        {"kind": "descendant", "name": "bob/child@1"},
    ]
    client = api(ada)
    assert client.get(f"{NET}/versions/1/dependents").json()["items"] == names
    body = {"reason": "Wrong labels"}
    document = problem(client.post(f"{NET}/versions/1/{act}", body), 409, "state-conflict")
    assert "alias champion, tag 1.0, descendant bob/child@1." in document["detail"]
    assert document["dependents"] == names
    assert Version.objects.get(pk=first.pk).state == "published"
    answer = client.post(f"{NET}/versions/1/{act}", {**body, "breaks_dependents": True})
    assert answer.json()["state"] == {"yank": "yanked", "withdraw": "withdrawn"}[act]


def test_private_dependents_of_others_do_not_even_ask(api, ada, bob, first):
    card = factories.CARD.replace("---\n", "---\nbase_model: ada/net@1\n", 1)
    factories.version(bob, factories.model(bob, "secret", visibility="private"), card=card)
    assert api(ada).get(f"{NET}/versions/1/dependents").json()["items"] == []
    answer = api(ada).post(f"{NET}/versions/1/withdraw", {"reason": "Wrong"})
    assert answer.json()["state"] == "withdrawn"


def test_dependents_are_for_those_who_may_yank(api, bob, first):
    problem(api().get(f"{NET}/versions/1/dependents"), 401, "not-authenticated")
    problem(api(bob).get(f"{NET}/versions/1/dependents"), 403, "not-allowed")


@pytest.mark.parametrize("word", ["2", "v2"])
def test_a_number_is_read_in_every_form(api, ada, first, word):
    assert api().get(f"resolve?ref=ada/net@{word}").json()["number"] == 2
    problem(api(ada).post(f"{NET}/versions", {"label": "v2"}), 422, "invalid-name")
    assert api(ada).post(f"{NET}/versions", {"label": "v4"}).json()["number"] == 4
