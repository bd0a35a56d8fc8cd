"""Repositories without a published version: listed for clients, and squashed on request."""

from __future__ import annotations

import pytest

from registry.core import outbox
from registry.models import Commit, Event
from registry.versions.services import access
from tests import factories, samples
from tests.api.protocols.huggingface.conftest import refused
from tests.api.protocols.huggingface.test_writing import added, commit, made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
SQUASH = "/api/models/ada/net/super-squash/main"


def listed(caller, query=""):
    outbox.deliver()
    return sorted(row["id"] for row in caller.get(f"/api/models{query}").json())


def history(caller):
    rows = caller.get("/api/models/ada/net/commits/main").json()
    return [row["title"] for row in rows]


def test_a_repository_with_a_card_alone_is_listed_for_clients(api, ada, bob, writer, net):
    assert listed(api()) == []
    assert listed(writer) == ["ada/net"]  # members see what is empty
    made(commit(writer, added("README.md", b"---\nlicense: mit\n---\n")))
    for caller in (api(), api(bob), writer):
        assert listed(caller) == listed(caller, "?author=ada") == ["ada/net"]
        assert listed(caller, "?search=net&sort=downloads") == ["ada/net"]
        assert listed(caller, "?search=other") == []
    # The hub's own lists begin with the first published version.
    assert api().get("models").json()["items"] == []


def test_of_private_and_deleted_repositories_nothing_is_listed(api, ada, bob, writer, net):
    made(commit(writer, added("README.md", b"x")))
    writer.put("/api/models/ada/net/settings", {"private": True})
    assert (listed(api()), listed(api(bob)), listed(writer)) == ([], [], ["ada/net"])
    access.grant(ada, model=net, username="bob")
    writer.put("/api/models/ada/net/settings", {"private": False})
    assert listed(api(bob)) == ["ada/net"]  # once, though it is shared too
    writer.delete("models/ada/net")
    assert listed(api()) == listed(writer) == []


def test_commits_before_a_publication_become_one(api, writer, net):
    for number in range(3):
        made(commit(writer, added(f"{number}.txt", b"x"), summary=f"Number {number}"))
    assert history(api())[:3] == ["Number 2", "Number 1", "Number 0"]
    tree = api().get("/api/models/ada/net/tree/main").json()
    assert writer.post(SQUASH, {"message": "All"}).status_code == 200
    assert history(api())[0] == "All"
    assert not {"Number 0", "Number 1", "Number 2"} & set(history(api()))
    assert api().get("/api/models/ada/net/tree/main").json() == tree
    assert Commit.objects.count() == 1
    assert Event.objects.filter(verb="branch.squashed").count() == 1
    made(commit(writer, added("more.txt", b"y"), summary="More"))
    assert history(api())[:2] == ["More", "All"]


def test_what_cannot_be_squashed_is_refused_in_words(api, bob, writer, net):
    refused(writer.post(SQUASH, {}), 400)
    assert writer.post(SQUASH.replace("main", "none"), {}).status_code == 404
    made(commit(writer, added("a.txt", b"x")))
    assert api(bob).post(SQUASH, {}).status_code == 403
    writer.post("/api/models/ada/net/tag/main", {"tag": "one"})
    answer = writer.post(SQUASH, {})
    refused(answer, 400)
    assert "one names a commit" in answer["X-Error-Message"]
    writer.delete("/api/models/ada/net/tag/one")
    made(commit(writer, added("model.onnx", samples.mlp())))
    for _ in range(2):  # being checked, and published
        answer = writer.post(SQUASH, {})
        refused(answer, 400)
        assert "permanent" in answer["X-Error-Message"]
        factories.work()
