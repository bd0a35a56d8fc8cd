"""Likes as clients of the Hub protocol give, list and take back their own."""

from __future__ import annotations

import pytest

from registry.models import RegisteredModel
from tests.api.protocols.huggingface.conftest import refused

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
LIKE, LIKES = "/api/models/ada/net/like", "/api/users/bob/likes"


def names(caller):
    answer = caller.get(LIKES)
    assert answer.status_code == 200, answer.content
    return [row["repo"] for row in answer.json()]


def test_a_user_likes_lists_and_takes_back(api, bob, version):
    caller = api(bob, ["write"])
    for _ in range(2):
        assert caller.post(LIKE, {}).status_code == 200
    assert names(caller) == [{"name": "ada/net", "type": "model"}]
    assert api().get("models/ada/net/like").json()["likes"] == 1
    assert caller.delete(LIKE).status_code == 200
    assert names(caller) == []


def test_likes_of_others_and_of_hidden_models_are_not_listed(api, ada, bob, version):
    api(bob).post(LIKE, {})
    refused(api(ada).get(LIKES), 400)
    refused(api(ada).get("/api/users/nobody/likes"), 400)
    refused(api().get(LIKES), 401)
    refused(api(bob).get("/api/models/ada/net/likers"), 400)
    RegisteredModel.objects.update(visibility="private")
    assert names(api(bob)) == []
    refused(api(bob).delete(LIKE), 404, "RepoNotFound")
    refused(api(bob, ["read"]).post(LIKE, {}), 404, "RepoNotFound")
