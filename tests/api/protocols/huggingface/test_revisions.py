"""Which commit a revision names, and to whom."""

from __future__ import annotations

import pytest

from hub.protocol import problems
from registry.models import Version
from registry.versions.services import refs, versions
from tests import factories, samples, shared
from tests.api.protocols.huggingface.conftest import body, refused

pytestmark = pytest.mark.django_db
MODEL = "/api/models/ada/net"


@shared.rows
def start():
    """ada/net with two published versions."""
    ada = factories.somebody("ada")
    first = factories.published(ada, contents={"model.onnx": samples.mlp(), "n.txt": b"1"})
    contents = {"model.onnx": samples.mlp(), "n.txt": b"2"}
    second = factories.published(
        ada, first.model, contents, label="1.4.0", message="Better\n\nmuch"
    )
    refs.put(ada, model=first.model, name="champion", kind="alias", number=1)
    refs.put(ada, model=first.model, name="release/1.0", kind="tag", number=1)
    return first, second


@pytest.fixture
def two(start, db):
    return shared.fresh(start)


def sha(caller, revision):
    return caller.get(f"{MODEL}/revision/{revision}").json()["sha"]


def test_every_way_to_name_a_version(api, two):
    first, second = two
    named = {
        first: ("1", "v1", "@v1", "@1", "@champion", "champion", "release/1.0", "release%2F1.0",
                "refs/tags/release/1.0", first.commit_id),
        second: ("main", "HEAD", "refs/heads/main", "refs%2Fheads%2Fmain", "v2", "@latest",
                 "latest", "1.4.0", second.commit_id),
    }  # fmt: skip
    for version, revisions in named.items():
        for revision in revisions:
            assert sha(api(), revision) == version.commit_id, revision
            found = api().get(f"/ada/net/resolve/{revision}/n.txt")
            assert body(found) == str(version.number).encode(), revision
            tree = api().get(f"{MODEL}/tree/{revision}").json()
            assert [entry["path"] for entry in tree] == ["README.md", "model.onnx", "n.txt"]


def test_what_names_nothing(api, ada, two):
    unknown = ["nope", "v3", "v0", "@nope", "0" * 40, "refs/pr/1", "release", "3", "v99999999999"]
    for caller in (api(), api(ada)):
        for revision in unknown:
            refused(caller.get(f"{MODEL}/revision/{revision}"), 404, "RevisionNotFound")
            refused(caller("HEAD", f"/ada/net/resolve/{revision}/x"), 404, "RevisionNotFound")


def test_a_branch_name_is_no_revision_with_a_path_behind(api, two):
    refused(api().get(f"{MODEL}/revision/main/n.txt"), 404, "RevisionNotFound")


def test_an_alias_moves_and_a_number_does_not(api, ada, two):
    first, second = two
    refs.put(ada, model=first.model, name="champion", kind="alias", number=2)
    assert sha(api(), "@champion") == second.commit_id
    assert sha(api(), "v1") == first.commit_id


def test_no_name_can_take_the_place_of_a_number(ada, two):
    with pytest.raises(problems.InvalidName, match="v3 already means"):
        refs.put(ada, model=two[0].model, name="v3", kind="tag", number=1)
    refs.put(ada, model=two[0].model, name="v1", kind="tag", number=1)


def test_its_writer_reads_what_is_not_published_yet_and_nobody_else_does(api, ada, bob, two):
    first, second = two
    contents = {"model.onnx": samples.mlp(), "n.txt": b"3"}
    third = factories.submitted(ada, first.model, contents)
    draft = factories.draft(ada, first.model)
    assert third.state == Version.State.SUBMITTED
    assert sha(api(ada), "main") == sha(api(ada), "v3") == third.commit_id
    assert body(api(ada).get("/ada/net/resolve/main/n.txt")) == b"3"
    refused(api(ada).get(f"{MODEL}/revision/v{draft.number}"), 404, "RevisionNotFound")
    for caller in (api(), api(bob)):
        assert sha(caller, "main") == second.commit_id
        assert body(caller.get("/ada/net/resolve/main/n.txt")) == b"2"
        for revision in ("v3", third.commit_id):
            refused(caller.get(f"{MODEL}/revision/{revision}"), 404, "RevisionNotFound")
            missing = caller.get(f"/ada/net/resolve/{revision}/n.txt")
            refused(missing, 404, "RevisionNotFound")
        assert len(caller.get(f"{MODEL}/commits/main").json()) == 2


def test_main_passes_over_what_was_yanked(api, ada, two):
    first, second = two
    versions.yank(ada, version=second, reason="Wrong labels.", breaks_dependents=True)
    assert sha(api(), "main") == first.commit_id
    assert sha(api(), "v2") == second.commit_id
    versions.yank(ada, version=first, reason="Wrong too.", breaks_dependents=True)
    empty = api().get(MODEL).json()
    assert len(empty["sha"]) == 40
    assert empty["siblings"] == []
    assert api().get(f"{MODEL}/tree/{empty['sha']}").json() == []


def test_a_model_without_versions_begins_with_an_empty_commit(api, ada, bob):
    factories.model(ada)
    info = api(ada).get(MODEL).json()
    assert api(ada).get(f"{MODEL}/revision/{info['sha']}").json()["sha"] == info["sha"]
    assert api(ada).get(f"{MODEL}/tree/main").json() == []
    commits = api(ada).get(f"{MODEL}/commits/main").json()
    assert [commit["id"] for commit in commits] == [info["sha"]]
    missing = api(ada)("HEAD", "/ada/net/resolve/main/config.json")
    refused(missing, 404, "EntryNotFound")
    assert missing["X-Repo-Commit"] == info["sha"]
    refused(api(bob).get(MODEL), 404, "RepoNotFound")


def test_refs(api, ada, two):
    first, second = two
    factories.submitted(ada, first.model)
    shown = api().get(f"{MODEL}/refs?include_prs=1").json()
    assert shown == {
        "branches": [
            {"name": "main", "ref": "refs/heads/main", "targetCommit": second.commit_id}
        ],
        "tags": [
            {"name": name, "ref": f"refs/tags/{name}", "targetCommit": version.commit_id}
            for name, version in (("release/1.0", first), ("v1", first), ("v2", second))
        ],
        "converts": [],
        "pullRequests": [],
    }  # fmt: skip
    assert "pullRequests" not in api().get(f"{MODEL}/refs").json()


def test_commits(api, two):
    first, second = two
    response = api().get(f"{MODEL}/commits/main?limit=1&expand[]=formatted")
    assert response["X-Total-Count"] == "2"
    (newest,) = response.json()
    assert newest["id"] == second.commit_id
    assert (newest["title"], newest["message"]) == ("Better", "much")
    assert newest["formatted"] == {"title": "Better", "message": "much"}
    assert newest["authors"] == [{"user": "ada", "avatar": ""}]
    assert newest["date"].endswith("Z")
    link = response["Link"]
    assert link.startswith("<http://testserver/api/models/ada/net/commits/main?limit=1&")
    assert link.endswith('>; rel="next"')
    rest = api().get(link[1 : link.index(">")].removeprefix("http://testserver"))
    assert [commit["id"] for commit in rest.json()] == [first.commit_id]
    assert "Link" not in rest
    assert len(api().get(f"{MODEL}/commits/v1").json()) == 1
