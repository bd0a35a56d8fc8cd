"""Tags of any commit, and who may make and delete them."""

from __future__ import annotations

import pytest

from registry.models import Membership, Ref, Version
from registry.versions.services import versions
from tests import factories, samples
from tests.api.protocols.huggingface.conftest import refused
from tests.api.protocols.huggingface.test_writing import added, commit, deleted, made, paths

ONNX = samples.mlp()
TAG = "/api/models/ada/net/tag"


def tags(caller):
    rows = caller.get("/api/models/ada/net/refs").json()["tags"]
    return {ref["name"]: ref["targetCommit"] for ref in rows}


def test_a_tag_never_moves(writer, net):
    made(commit(writer, added("model.onnx", ONNX)))
    assert writer.post(f"{TAG}/main", {"tag": "one"}).status_code == 201
    made(commit(writer, added("a.txt", b"a")))
    assert paths(writer, "one") == ["model.onnx"]
    assert Version.objects.count() == 2
    refused(writer.post(f"{TAG}/main", {"tag": "one"}), 409)
    refused(writer.post(f"{TAG}/main", {"tag": "v7"}), 400)
    assert writer.delete(f"{TAG}/one").status_code == 200
    refused(writer.delete(f"{TAG}/one"), 404, "RevisionNotFound")


def test_a_tag_of_what_is_checked_names_the_version_once_it_is_published(writer, api, net):
    oid = made(commit(writer, added("model.onnx", ONNX)))
    writer.post(f"{TAG}/{oid}", {"tag": "one"})
    assert tags(writer) == {"one": oid}
    refused(api().get("/api/models/ada/net/refs"), 401, "RepoNotFound")
    factories.work()
    assert tags(api()) == {"one": oid, "v1": oid}
    ref = Ref.objects.get(name="one")
    assert (ref.version, ref.commit) == (Version.objects.get(), None)
    assert api().get("/api/v1/resolve?ref=ada/net@one").json()["ref"] == "ada/net@1"


def test_the_tag_of_a_commit_that_did_not_pass_stays_with_it(writer, api, net):
    oid = made(commit(writer, added("model.onnx", ONNX)))
    writer.post(f"{TAG}/main", {"tag": "one"})
    factories.work("failed")
    assert tags(writer) == {"one": oid}
    later = made(commit(writer, added("model.onnx", samples.mlp(hidden=3))))
    factories.work()
    assert tags(writer) == {"one": oid, "v1": later}
    assert paths(writer, "one") == ["model.onnx"]
    refused(api().get("/api/models/ada/net/revision/one"), 404, "RevisionNotFound")
    assert tags(api()) == {"v1": later}


@pytest.mark.usefixtures("lists")
def test_a_draft_commit_and_an_amended_one_are_tagged(writer, api, ada, net):
    first = made(commit(writer, added("a.txt", b"a")))
    assert writer.post(f"{TAG}/main", {"tag": "open", "message": "x"}).status_code == 201
    second = made(commit(writer, added("model.onnx", ONNX)))
    third = made(commit(writer, added("b.txt", b"b")))
    factories.work()
    assert writer.post(f"{TAG}/{second}", {"tag": "amended"}).status_code == 201
    assert writer.post(f"{TAG}/{third}", {"tag": "done"}).status_code == 201
    numbered = {"done": third, "v1": third}
    assert tags(writer) == {"open": first, "amended": second} | numbered
    assert tags(api()) == {"open": first} | numbered
    assert paths(api(), "open") == ["a.txt"]
    assert paths(writer, "refs/tags/amended") == ["a.txt", "model.onnx"]
    # The hub's own references name versions, and these tags name none.
    assert writer.get("/api/v1/resolve?ref=ada/net@amended").status_code == 404
    assert {ref["name"] for ref in writer.get("/api/v1/models/ada/net").json()["refs"]} == {
        "done",
        "main",
    }


def test_the_tag_of_a_submission_without_a_commit_goes_if_it_does_not_pass(writer, ada, net):
    version = factories.submitted(ada, net)
    assert writer.post(f"{TAG}/{version.commit_id}", {"tag": "one"}).status_code == 201
    factories.work("failed")
    assert not Ref.objects.filter(name="one").exists()


def test_the_tags_of_a_draft_go_with_it(writer, ada, net):
    made(commit(writer, added("a.txt", b"a")))
    writer.post(f"{TAG}/main", {"tag": "one"})
    versions.delete_draft(ada, version=Version.objects.get())
    assert not Ref.objects.exists()
    refused(writer.post(f"{TAG}/main", {"tag": "one"}), 400)


@pytest.fixture
def member(api, bob, net):
    """A writer of ada/net beside ada, with a token of scope write."""
    Membership.objects.create(namespace=net.namespace, user=bob, role="writer")
    return api(bob, ["write"])


def test_a_writer_with_a_token_to_write_tags_and_deletes_their_own(writer, api, ada, member):
    made(commit(writer, added("model.onnx", ONNX)))
    factories.work()
    made(commit(writer, added("a.txt", b"a")))
    assert member.get("/api/whoami-v2").json()["auth"]["accessToken"]["role"] == "write"
    assert member.post(f"{TAG}/v1", {"tag": "mine"}).status_code == 201
    assert member.delete(f"{TAG}/mine").status_code == 200
    # A deleted tag is retired: it names the same commit again, or nothing.
    refused(member.post(f"{TAG}/main", {"tag": "mine"}), 409)
    assert member.post(f"{TAG}/v1", {"tag": "mine"}).status_code == 201
    writer.post(f"{TAG}/v1", {"tag": "hers"})
    refused(member.delete(f"{TAG}/hers"), 403)
    refused(api(ada, ["read"]).post(f"{TAG}/v1", {"tag": "no"}), 403)
    assert set(tags(writer)) == {"hers", "mine", "v1"}
    assert writer.delete(f"{TAG}/mine").status_code == 200  # a maintainer deletes any
    alias = {"kind": "alias", "version": 1}
    assert member.put("/api/v1/models/ada/net/refs/champion", alias).status_code == 403
    assert member.delete("/api/v1/models/ada/net/refs/none").status_code == 403


def test_readers_tag_nothing(writer, api, bob, net):
    made(commit(writer, added("a.txt", b"a")))
    refused(api(bob).post(f"{TAG}/main", {"tag": "one"}), 403)
    Membership.objects.create(namespace=net.namespace, user=bob, role="reader")
    refused(api(bob).post(f"{TAG}/main", {"tag": "one"}), 403)
    refused(api().post(f"{TAG}/main", {"tag": "one"}), 401)
    assert not Ref.objects.exists()


def test_a_tag_is_read_by_git_names_of_other_things_too(writer, net):
    made(commit(writer, added("a.txt", b"a")))
    first = made(commit(writer, deleted("a.txt"), added("b.txt", b"b")))
    for taken in ("main", "HEAD", "latest", "12", first):
        answer = writer.post(f"{TAG}/main", {"tag": taken})
        assert answer.status_code in (400, 409), taken
    assert writer.post(f"{TAG}/main", {"tag": "deep/one"}).status_code == 201
    assert paths(writer, "deep%2Fone") == ["b.txt"]
    writer.post("/api/models/ada/net/branch/next", {"startingPoint": "deep/one"})
    assert paths(writer, "next") == ["b.txt"]
    refused(writer.post("/api/models/ada/net/branch/deep%2Fone", {}), 409)
