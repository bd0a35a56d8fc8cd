"""Models that got another name: what the old one answers, and to whom."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories, samples
from tests.api.protocols.huggingface.conftest import body, refused

pytestmark = pytest.mark.django_db
READS = [
    ("GET", "/api/models/ada/{name}"),
    ("GET", "/api/models/ada/{name}/revision/v1?blobs=true"),
    ("GET", "/api/models/ada/{name}/tree/main/weights?recursive=true"),
    ("POST", "/api/models/ada/{name}/paths-info/main"),
    ("GET", "/api/models/ada/{name}/commits/main"),
    ("GET", "/api/models/ada/{name}/refs"),
    ("HEAD", "/ada/{name}/resolve/main/config.json"),
    ("GET", "/ada/{name}/raw/main/config.json"),
]


def move(writer, old, new):
    return writer.post("/api/repos/move", {"fromRepo": old, "toRepo": new, "type": "model"})


@pytest.mark.usefixtures("lists")
def test_every_read_of_the_old_name_leads_to_the_new_one(api, ada, version):
    assert move(api(ada), "ada/net", "ada/lattice").status_code == 200
    for method, address in READS:
        data = {"paths": []} if method == "POST" else None
        led = api()(method, address.format(name="NET"), data)
        assert led.status_code == 307, address
        assert led["Location"] == address.format(name="lattice")
        assert led["Access-Control-Allow-Origin"] == "*"
        assert "max-age" not in led["Cache-Control"]
        assert api()(method, led["Location"], data).status_code == 200
    assert api().get("/api/models/ada/lattice").json()["id"] == "ada/lattice"
    assert [model["id"] for model in api().get("/api/models").json()] == ["ada/lattice"]


def test_what_a_move_leaves_as_it_is(api, ada, version):
    writer = api(ada)
    writer.put("models/ada/net/refs/champion", {"kind": "alias", "version": 1})
    before = writer.get("/api/models/ada/net").json()
    move(writer, "ada/net", "ada/lattice")
    after = writer.get("/api/models/ada/lattice").json()
    same = ("_id", "sha", "downloads", "createdAt", "lastModified", "tags", "siblings")
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    for revision in (before["sha"], "v1", "@champion", "main"):
        response = api().get(f"/ada/lattice/resolve/{revision}/model.onnx")
        assert body(response) == samples.mlp()
        assert response["X-Repo-Commit"] == before["sha"]


def test_a_commit_to_the_old_name_keeps_method_and_body(api, ada, version):
    writer = api(ada)
    move(writer, "ada/net", "ada/lattice")
    led = writer.post("/api/models/ada/net/commit/main", "{}", content_type="application/x-ndjson")
    assert (led.status_code, led["Location"]) == (307, "/api/models/ada/lattice/commit/main")
    assert writer.put("/api/models/ada/net/settings", {}).status_code == 307


def test_names_in_turn_all_lead_to_the_last(api, ada, version):
    writer = api(ada)
    lab = factories.namespace(ada)
    move(writer, "ada/net", "ada/second")
    move(writer, "ada/second", f"{lab.slug}/third")
    for old in ("net", "second"):
        led = api().get(f"/api/models/ada/{old}")
        assert led["Location"] == "/api/models/lab/third"
    assert move(writer, "lab/third", "ada/net").status_code == 200
    assert api().get("/api/models/ada/net").json()["author"] == "ada"
    assert api().get("/api/models/lab/third")["Location"] == "/api/models/ada/net"


def test_a_new_model_takes_a_name_that_led_elsewhere(api, ada, version):
    writer = api(ada)
    move(writer, "ada/net", "ada/lattice")
    assert writer.post("/api/repos/create", {"name": "net"}).status_code == 200
    assert writer.get("/api/models/ada/net").json()["sha"] != version.commit_id
    assert writer.get("/api/models/ada/net/revision/v1").status_code == 404
    assert move(writer, "ada/lattice", "ada/net").status_code == 409


def test_a_hidden_models_old_name_is_no_name_at_the_same_cost(api, ada, bob):
    factories.version(ada, factories.model(ada, "hidden", visibility="private"))
    move(api(ada), "ada/hidden", "ada/deeper")
    assert api(ada).get("/api/models/ada/hidden").status_code == 307
    for caller, status in ((api(), 401), (api(bob), 404)):
        caller.get("/api/models/ada/missing")  # the token's use is noted once
        counts = []
        for name in ("hidden", "deeper", "missing"):
            with CaptureQueriesContext(connection) as asked:
                response = caller.get(f"/ada/{name}/resolve/main/model.onnx")
            refused(response, status, "RepoNotFound")
            assert "Location" not in response
            counts.append(len(asked))
        assert len(set(counts)) == 1


def test_who_may_move_and_where(api, ada, bob, version):
    assert move(api(bob), "ada/net", "bob/net").status_code == 403
    assert move(api(ada), "ada/net", "bob/net").status_code == 403
    assert move(api(ada, ["read"]), "ada/net", "ada/other").status_code == 403
    assert move(api(), "ada/net", "ada/other").status_code == 401
    refused(move(api(ada), "ada/net", "ada/..bad"), 400)
    assert api().get("/api/models/ada/net").status_code == 200


@pytest.mark.usefixtures("lists")
def test_a_deleted_models_names_lead_nowhere_for_ever(api, ada, version):
    writer = api(ada)
    move(writer, "ada/net", "ada/lattice")
    writer("DELETE", "/api/repos/delete", {"name": "lattice"})
    refused(api(ada).get("/api/models/ada/net"), 404, "RepoNotFound")
    for name in ("net", "lattice"):
        refused(writer.post("/api/repos/create", {"name": name}), 400)


def test_a_bare_name_leads_through_the_old_name(api, admin):
    factories.version(admin, factories.model(admin, "net", slug="zoo"))
    move(api(admin), "zoo/net", "zoo/lattice")
    led = api().get("/net/resolve/main/model.onnx")
    led = api().get(led["Location"])
    assert led["Location"] == "/zoo/lattice/resolve/main/model.onnx"


def test_bytes_that_a_namespace_has_no_room_for_stay(api, ada, version):
    lab = factories.namespace(ada)
    lab.quota_bytes = 10
    lab.save()
    refused(move(api(ada), "ada/net", "lab/net"), 413)
    assert api().get("/api/models/ada/net").status_code == 200
