"""Saved comparisons: whose they are, who can open them, and what a link shows to others."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from registry.community.comparisons import selectors, services
from registry.models import ComparedReference, SavedComparison
from tests import factories, shared

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
API = "/api/v1/saved-comparisons"


@shared.rows
def start():
    """Ada's models a and b, her private one, and Bob."""
    ada, bob = factories.user("ada"), factories.user("bob")
    for name in ("a", "b"):
        factories.version(ada, factories.model(ada, name))
    factories.model(ada, "secret", visibility="private")
    return ada, bob


@pytest.fixture
def people(start):
    return shared.fresh(start)


def send(client, method, path="", user=None, **body):
    client.logout()
    if user:
        client.force_login(user)
    answer = client.generic(
        method, f"{API}{path}", client.json_encoder().encode(body) if body else "",
        content_type="application/json",
    )  # fmt: skip
    return answer.status_code, answer.json() if answer.content else {}


def test_a_comparison_is_saved_read_changed_and_deleted(client, people):
    ada, _ = people
    status, saved = send(client, "POST", user=ada, references=["ada/a@1", "ada/b", "ada/a@1"])
    assert status == 201
    assert saved["title"] == "a@1, b"
    assert (saved["references"], saved["sharing"]) == (["ada/a@1", "ada/b"], "private")
    place = f"/{saved['uuid']}"
    status, changed = send(
        client, "PATCH", place, ada, title="Two", sharing="link", references=["ada/b", "ada/a"]
    )
    assert status == 200
    assert (changed["title"], changed["references"]) == ("Two", ["ada/b", "ada/a"])
    assert send(client, "GET", user=ada)[1]["items"] == [changed]
    assert send(client, "GET")[0] == 401
    assert send(client, "DELETE", place, ada)[0] == 204
    assert not SavedComparison.objects.exists()


def test_a_title_that_the_hub_makes_names_no_private_model(client, people):
    ada, bob = people
    references = ["ada/a", "ada/secret"]
    _, saved = send(client, "POST", user=ada, references=references, sharing="link")
    assert saved["title"] == "a"
    _, seen = send(client, "GET", f"/{saved['uuid']}", bob)
    assert "secret" not in str(seen)


def test_a_private_comparison_is_like_a_missing_one_and_a_link_hides_private_models(client, people):
    ada, bob = people
    row = services.create(ada, references=["ada/a", "ada/secret", "ada/b"])
    place = f"/{row.pk}"
    assert send(client, "GET", place)[0] == send(client, "GET", place, bob)[0] == 404
    assert send(client, "PATCH", place, bob, sharing="link")[0] == 404
    services.edit(ada, comparison=row, sharing="link", title="Three")
    for user in (None, bob):
        status, answer = send(client, "GET", place, user)
        assert (status, answer["references"], answer["unavailable"]) == (200, ["ada/a", "ada/b"], 1)
    assert send(client, "GET", user=bob)[1]["items"] == []
    assert send(client, "PATCH", place, bob, title="Mine")[0] == 403
    assert send(client, "DELETE", place, bob)[0] == 403
    row.refresh_from_db()
    assert row.title == "Three"
    assert len(send(client, "GET", place, ada)[1]["references"]) == 3


@pytest.mark.parametrize(
    ("references", "pointer"),
    [
        (["ada/a"], "/references"),
        (["ada/a", "ada/a"], "/references"),
        (["ada/a", "not a reference"], "/references/1"),
        (["ada/a", "ada/missing"], "/references/1"),
        (["ada/a", *(f"ada/a@{number}" for number in range(1, 7))], "/references"),
    ],
)
def test_what_is_not_two_to_six_models_is_refused_and_nothing_is_saved(
    client, people, references, pointer
):
    status, answer = send(client, "POST", user=people[0], references=references)
    assert status in (400, 422)
    assert answer["errors"][0]["pointer"] == pointer
    assert not SavedComparison.objects.exists()


def test_a_private_model_of_others_is_not_told_from_a_missing_one(client, people):
    _, bob = people
    answers = [
        send(client, "POST", user=bob, references=["ada/a", f"ada/{name}"])[1]
        for name in ("secret", "missing")
    ]
    details = [answer["errors"][0]["detail"] for answer in answers]
    assert details[0].replace("secret", "missing") == details[1]


def test_a_user_has_a_bounded_number(people, monkeypatch):
    ada, _ = people
    monkeypatch.setattr(services, "MOST_OF_USER", 1)
    services.create(ada, references=["ada/a", "ada/b"])
    with pytest.raises(services.problems.StateConflict, match="maximum"):
        services.create(ada, references=["ada/a", "ada/b"])


def test_the_link_of_a_closed_account_leads_nowhere(client, people):
    ada, _ = people
    row = services.create(ada, references=["ada/a", "ada/b"], sharing="link")
    type(ada).objects.filter(pk=ada.pk).update(is_active=False)
    assert send(client, "GET", f"/{row.pk}")[0] == 404


def test_the_database_itself_holds_a_comparison_to_its_size_and_words(people):
    ada, _ = people
    row = services.create(ada, references=["ada/a", "ada/b"])
    for values in (
        {"position": 6, "reference": "ada/a@1"},
        {"position": 1, "reference": "ada/a@1"},
        {"position": 2, "reference": "ada/a"},
        {"position": 2, "reference": ""},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            ComparedReference.objects.create(comparison=row, **values)
    for values in ({"sharing": "all"}, {"title": ""}):
        with pytest.raises(IntegrityError), transaction.atomic():
            SavedComparison.objects.filter(pk=row.pk).update(**values)
    assert selectors.references(ada, row) == ["ada/a", "ada/b"]


def test_the_pages_save_share_rename_and_delete(client, people):
    ada, bob = people
    client.force_login(ada)
    page = client.get("/compare?m=ada/a&m=ada/b").content.decode()
    assert "Save comparison" in page
    saved = client.post("/compare/saved", {"m": ["ada/a", "ada/b"], "title": "Pair"}, follow=True)
    html = saved.content.decode()
    row = SavedComparison.objects.get()
    assert saved.redirect_chain[-1][0] == f"/compare/{row.pk}"
    assert "<h1>Pair</h1>" in html
    assert "Only you can open it" in html
    client.post(f"/compare/{row.pk}/change", {"sharing": "link"})
    client.post(f"/compare/{row.pk}/change", {"title": "A pair"})
    assert "A pair" in client.get("/compare/saved").content.decode()
    client.force_login(bob)
    theirs = client.get(f"/compare/{row.pk}").content.decode()
    assert "<h1>A pair</h1>" in theirs
    assert "Make private" not in theirs
    assert client.post(f"/compare/{row.pk}/delete").status_code == 403
    client.force_login(ada)
    client.post(f"/compare/{row.pk}/delete")
    assert not SavedComparison.objects.exists()
    refused = client.post("/compare/saved", {"m": ["ada/a"]})
    assert refused["Location"] == "/compare?m=ada/a"
    assert "2 to 6 different models" in client.get(refused["Location"]).content.decode()
