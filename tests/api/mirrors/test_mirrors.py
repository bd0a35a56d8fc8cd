"""Mirrors over HTTP: who may add and see them, which sources, and what is never shown."""

from __future__ import annotations

import pytest

from hub.protocol import digests, manifests
from registry.models import Event, Mirror, MirroredVersion, Version
from registry.people.services import namespaces
from tests import factories, samples
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.capability("mirrors"), pytest.mark.django_db]

SOURCE = "https://hub.example.org"
SECRET = "hf_of_the_source"


@pytest.fixture(autouse=True)
def approved(settings):
    settings.HUB_MIRROR_SOURCES = [SOURCE]


def add(client, **fields):
    return client.post("mirrors", {"source": f"{SOURCE}/zoo/net", "into": "ada"} | fields)


def test_an_owner_adds_edits_and_removes_a_mirror(api, ada):
    client = api(ada)
    answer = add(client, token=SECRET)
    assert answer.status_code == 201
    body = answer.json()
    assert (body["source"], body["into"], body["scope"], body["protocol"], body["has_token"]) == (
        f"{SOURCE}/zoo/net", "ada", "model", "hub", True,
    )  # fmt: skip
    place = f"mirrors/{body['id']}"
    assert client.get("mirrors").json()["items"][0]["id"] == body["id"]
    assert client.patch(place, {"is_paused": True}).json()["is_paused"] is True
    problem(client.post(f"{place}/sync"), 409, "state-conflict")
    assert client.patch(place, {"token": "", "is_paused": False}).json()["has_token"] is False
    assert client.delete(place).status_code == 204
    problem(client.get(place), 404, "not-found")


def test_a_token_is_stored_sealed_and_named_nowhere(api, ada):
    answer = add(api(ada), token=SECRET)
    row = Mirror.objects.get()
    assert SECRET not in row.sealed_token
    assert SECRET not in answer.content.decode()
    assert SECRET not in api(ada).get(f"mirrors/{row.pk}").content.decode()
    assert not Event.objects.filter(data__icontains=SECRET).exists()


def test_a_mirror_is_not_there_for_others(api, ada, bob):
    row = add(api(ada)).json()["id"]
    space = Mirror.objects.get().namespace
    namespaces.set_member(ada, namespace=space, user=bob, role="maintainer")
    assert api(bob).get("mirrors").json()["items"] == []
    for call in (api(bob).get, api(bob).delete):
        problem(call(f"mirrors/{row}"), 404, "not-found")
    problem(add(api(bob), source=f"{SOURCE}/zoo/other"), 403, "not-allowed")
    problem(api().get("mirrors"), 401, "not-authenticated")
    problem(add(api()), 401, "not-authenticated")
    assert Mirror.objects.count() == 1


def test_only_administrators_name_a_source_that_is_not_approved(api, ada, admin):
    for url in ("http://127.0.0.1:6379/zoo/net", "https://other.example.org/zoo/net"):
        problem(add(api(ada), source=url), 403, "not-allowed")
    assert add(api(admin), source="https://other.example.org/zoo/net").status_code == 201


@pytest.mark.parametrize(
    "url",
    ["", "hub.example.org/zoo/net", "file:///etc/passwd", "https://user@hub.example.org/zoo/net",
     "https://hub.example.org", "https://hub.example.org/a/b/c", "https://hub.example.org/a/..%2Fb",
     "https://[::1", "https://hub.example.org:99999/zoo", "https://hub.exämple.org/zoo/net"],
)  # fmt: skip
def test_an_address_that_is_no_source_is_refused(api, ada, admin, url):
    answer = add(api(admin), source=url)
    assert answer.status_code in (400, 422), answer.content
    assert not Mirror.objects.exists()


def test_a_hub_does_not_mirror_itself_or_twice(api, ada, admin, settings):
    problem(add(api(admin), source=f"{settings.HUB_PUBLIC_URL}/zoo/net"), 400, "invalid-request")
    assert add(api(ada)).status_code == 201
    problem(add(api(ada)), 409, "name-taken")
    problem(add(api(ada), pull_through=True, source=f"{SOURCE}/zoo/x"), 400, "invalid-request")


def record(contents, number=3, **fields):
    entries = [(path, digests.hash_bytes(body), len(body)) for path, body in contents.items()]
    return {
        "number": number,
        "state": "published",
        "commit_id": "a" * 40,
        "message": "From afar",
        "manifest_sha256": f"sha256:{manifests.digest(entries)}",
        "files": [
            {"path": path, "size": size, "sha256": f"sha256:{sha256}"}
            for path, sha256, size in entries
        ],
    } | fields


def bring(client, version):
    return client.post(
        "mirrors/import",
        {"into": "ada", "name": "net", "url": SOURCE, "ref": "zoo/net", "version": version},
    )


def test_an_import_asks_for_bytes_and_keeps_the_number(api, ada):
    content = samples.mlp()
    version = record({"model.onnx": content})
    digest = version["files"][0]["sha256"]
    assert bring(api(ada), version).json() == {
        "ref": "ada/net@3", "state": None, "missing": [digest], "problem": "",
    }  # fmt: skip
    assert not Version.objects.exists()
    factories.blob(ada, content)
    assert bring(api(ada), version).json()["state"] == "checking"
    row = MirroredVersion.objects.get()
    assert (row.version.number, row.version.state, row.version.message) == (
        3, "submitted", "From afar",
    )  # fmt: skip
    assert (row.url, row.ref, row.commit_id) == (SOURCE, "zoo/net", "a" * 40)
    assert bring(api(ada), version).json()["state"] == "checking"
    other = record({"model.onnx": content, "notes.txt": b"other"})
    answer = bring(api(ada), other).json()
    assert answer["state"] == "conflict"
    assert Version.objects.get().manifest_sha256 == version["manifest_sha256"][7:]
    assert MirroredVersion.objects.get().version == Version.objects.get()


def test_a_number_of_a_deleted_draft_stays_free(api, ada):
    of = factories.model(ada)
    factories.draft(ada, of)
    api(ada).delete("models/ada/net/versions/1")
    content = samples.mlp()
    factories.blob(ada, content)
    problem(bring(api(ada), record({"model.onnx": content}, number=1)), 409, "state-conflict")
    assert not Version.objects.exists()


@pytest.mark.parametrize(
    "broken",
    [None, [], {"number": 0}, {"state": "draft"}, {"files": None}, {"commit_id": "x"},
     {"manifest_sha256": f"sha256:{'0' * 64}"}, {"message": 5}, {"message": "x" * 501},
        {"message": "a\0b"},
        {"message": "\ud800"},
        {"number": 1_000_001},
        {"number": True},

     {"files": [{"path": "../x", "size": 1, "sha256": f"sha256:{'0' * 64}"}]},
     {"statements": "x"}],
)  # fmt: skip
def test_a_malformed_record_is_refused(api, ada, broken):
    whole = record({"model.onnx": samples.mlp()})
    version = whole | broken if isinstance(broken, dict) else broken
    assert bring(api(ada), version).status_code in (400, 422)
    assert not Version.objects.exists()


def test_strangers_import_nothing(api, ada, bob):
    problem(bring(api(bob), record({"model.onnx": samples.mlp()})), 403, "not-allowed")
    problem(bring(api(), record({"model.onnx": samples.mlp()})), 401, "not-authenticated")
