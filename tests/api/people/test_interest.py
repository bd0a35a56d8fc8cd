"""Likes and watches: one for each user and model, and nothing of models that one may not see."""

from __future__ import annotations

import pytest

from registry.models import AccessToken, Like, RegisteredModel, Watch
from tests import factories
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
LIKE, WATCH = "models/ada/net/like", "models/ada/net/watch"


@rows
def start():
    ada = factories.user("ada")
    return ada, factories.model(ada), factories.version(ada, factories.model(ada, "other"))


@pytest.fixture
def ada(start):
    RegisteredModel.objects.filter(name="net").update(opened_at=start[2].published_at)
    return fresh(start[0])


def test_a_like_counts_once_and_can_be_taken_back(api, ada, bob):
    for _ in range(2):
        answer = api(bob).put(LIKE)
        assert (answer.status_code, answer.json()) == (200, {"likes": 1, "liked": True})
    assert api(ada).put(LIKE).json() == {"likes": 2, "liked": True}
    assert api().get(LIKE).json() == {"likes": 2, "liked": False}
    for _ in range(2):
        assert api(bob).delete(LIKE).status_code == 204
    assert api(bob).get(LIKE).json() == {"likes": 1, "liked": False}


def test_watched_models_are_listed_for_their_watcher_alone(api, ada, bob):
    for _ in range(2):
        assert api(bob).put(WATCH).status_code == 204
    assert api(bob).put("models/ada/other/watch").status_code == 204
    assert [row["model"] for row in api(bob).get("watching").json()["items"]] == [
        "ada/other", "ada/net",
    ]  # fmt: skip
    assert api(ada).get("watching").json()["items"] == []
    assert api(bob).delete(WATCH).status_code == 204
    assert [row["model"] for row in api(bob).get("watching").json()["items"]] == ["ada/other"]


def test_guests_and_narrow_tokens_neither_like_nor_watch(api, ada, bob):
    for path in (LIKE, WATCH):
        for method in ("put", "delete"):
            assert getattr(api(), method)(path).status_code == 401
            assert getattr(api(bob, scopes=["read"]), method)(path).status_code == 403
    assert api().get("watching").status_code == 401
    assert not Like.objects.exists()
    assert not Watch.objects.exists()
    assert AccessToken.objects.exists()


def test_a_private_model_shows_neither_likes_nor_watches(api, ada, bob):
    api(bob).put(LIKE)
    api(bob).put(WATCH)
    RegisteredModel.objects.filter(name="net").update(visibility="private")
    for path in (LIKE, WATCH):
        for method in ("put", "delete"):
            assert getattr(api(bob), method)(path).status_code == 404
    assert api(bob).get(LIKE).status_code == 404
    assert api(bob).get("watching").json()["items"] == []
    assert api(ada).get(LIKE).json() == {"likes": 1, "liked": False}
