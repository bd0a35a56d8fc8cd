"""Gated models: what is told to everybody, and whom the files are for."""

from __future__ import annotations

import base64
import hashlib

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems
from registry.models import AccessRequest, Event, RegisteredModel
from registry.versions.services import access
from tests import factories, samples
from tests.api.protocols.huggingface.conftest import WEIGHTS, body, refused

pytestmark = pytest.mark.django_db
LARGE = hashlib.sha256(WEIGHTS).hexdigest()
SMALL = hashlib.sha256(samples.mlp()).hexdigest()
FILES = [
    ("GET", "/ada/net/resolve/main/model.onnx"),
    ("HEAD", "/ada/net/resolve/main/config.json"),
    ("HEAD", "/ada/net/resolve/main/not-there.json"),
    ("GET", "/ada/net/resolve/v1/weights/model.onnx_data"),
    ("GET", "/ada/net/resolve/{sha}/model.onnx"),
    ("GET", "/ada/net/resolve/main/onnx/model.onnx"),
    ("GET", "/ada/net/raw/main/weights/model.onnx_data"),
    ("HEAD", "/ada/net/raw/{sha}/config.json"),
    ("GET", "/api/models/ada/net/auth-check"),
]
TOLD = [
    "/api/models/ada/net",
    "/api/models/ada/net/revision/v1?blobs=true",
    "/api/models/ada/net/tree/main?recursive=true",
    "/api/models/ada/net/commits/main",
    "/api/models/ada/net/refs",
]
GATED = "/api/models/ada/net/user-access-request"


@pytest.fixture
def gated(api, ada, version):
    """ada/net behind a gate that she opens by hand."""
    api(ada).put("/api/models/ada/net/settings", {"gated": "manual"})
    return version


def names(response):
    assert response.status_code == 200, response.content
    return [row["user"]["user"] for row in response.json()]


@pytest.mark.usefixtures("lists")
def test_what_is_told_is_for_everybody(api, gated):
    for address in TOLD:
        assert api().get(address).status_code == 200, address
    assert api().get("/api/models/ada/net").json()["gated"] == "manual"
    assert api().get("models/ada/net").json()["gate"] == "manual"
    assert [row["gate"] for row in api().get("models").json()["items"]] == ["manual"]
    assert api().get("/api/models").json()[0]["gated"] == "manual"


def test_files_are_for_who_was_let_in(api, ada, bob, gated):
    api(bob).post("/api/models/ada/net/ask-access", {"message": "for a study"})
    for method, form in FILES:
        address = form.format(sha=gated.commit_id)
        refused(api()(method, address), 401, "GatedRepo")
        refused(api(bob)(method, address), 403, "GatedRepo")
    refused(api()("GET", FILES[0][1], Range="bytes=0-9"), 401, "GatedRepo")
    api(ada).post(f"{GATED}/handle", {"user": "bob", "status": "accepted"})
    for caller in (api(ada, ["read"]), api(bob, ["read"])):
        for method, address in FILES:
            response = caller(method, address.format(sha=gated.commit_id))
            assert response.status_code == (404 if "not-there" in address else 200), address
            assert "public" not in response.get("Cache-Control", "")


def test_no_other_way_leads_to_the_bytes(api, bob, gated):
    batch = {"operation": "download", "objects": [{"oid": LARGE, "size": len(WEIGHTS)}]}
    for caller, status in ((api(), 401), (api(bob), 403)):
        for address in (
            f"blobs/{SMALL}",
            f"blobs/{LARGE}",
            "models/ada/net/versions/1/files/model.onnx",
            "/models/ada/net/v/1/files/model.onnx",
        ):
            answer = caller.get(address)
            # Pages know sessions, and no tokens.
            assert answer.status_code == (401 if address.startswith("/models") else status)
            assert answer.json()["type"].endswith("/problems/access-needed")
        refused_ = caller.post("/ada/net.git/info/lfs/objects/batch", batch)
        assert refused_.status_code == status
        assert refused_["X-Error-Code"] == "GatedRepo"
    # Nor does claiming them for a model of one's own.
    factories.model(bob, "mine")
    theirs = api(bob)
    draft = theirs.post("models/bob/mine/versions", {}).json()["number"]
    path = f"models/bob/mine/versions/{draft}/files/model.onnx"
    assert theirs.put(path, {"blob": f"sha256:{SMALL}"}).status_code == 403


def test_bytes_that_an_open_model_has_too_are_no_secret(api, ada, gated):
    factories.version(ada, factories.model(ada, "open"))
    assert api().get(f"blobs/{SMALL}").status_code == 200
    assert api().get(f"blobs/{LARGE}").status_code == 401


def test_an_automatic_gate_lets_in_who_asks(api, ada, bob, gated):
    api(ada).put("/api/models/ada/net/settings", {"gated": "auto"})
    refused(api(bob).get(FILES[0][1]), 403, "GatedRepo")
    told = api(bob).post("/api/models/ada/net/ask-access", {}).json()
    assert told["status"] == "accepted"
    assert body(api(bob).get(FILES[0][1])) == samples.mlp()
    assert AccessRequest.objects.get().decided_by is None


def test_requests_are_listed_accepted_cancelled_and_rejected(api, ada, bob, gated):
    owner = api(ada)
    api(bob).post("/api/models/ada/net/ask-access", {"message": "for a study"})
    requests = owner.get(f"{GATED}/pending").json()
    assert requests[0]["user"] == {"user": "bob", "fullname": "bob"}
    assert requests[0]["fields"] == {"message": "for a study"}
    assert requests[0]["timestamp"].endswith("Z")
    owner.post(f"{GATED}/handle", {"user": "bob", "status": "accepted"})
    assert names(owner.get(f"{GATED}/accepted")) == ["bob"]
    assert names(owner.get(f"{GATED}/pending")) == []
    owner.post(f"{GATED}/handle", {"user": "bob", "status": "pending"})
    assert names(owner.get(f"{GATED}/pending")) == ["bob"]
    refused(api(bob).get(FILES[0][1]), 403, "GatedRepo")
    owner.post(
        f"{GATED}/handle", {"user": "bob", "status": "rejected", "rejectionReason": "unknown"}
    )
    assert names(owner.get(f"{GATED}/rejected")) == ["bob"]
    assert AccessRequest.objects.get().reason == "unknown"
    assert api(bob).post("/api/models/ada/net/ask-access", {}).status_code == 409
    owner.post(f"{GATED}/grant", {"user": "bob"})
    assert api(bob).get("/api/models/ada/net/auth-check").status_code == 200
    verbs = Event.objects.filter(verb__startswith="access.").order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == [
        "access.asked", "access.accepted", "access.cancelled", "access.rejected", "access.granted",
    ]  # fmt: skip


def test_a_refusal_cannot_be_taken_back_by_who_got_it(api, ada, bob, gated):
    api(bob).post("/api/models/ada/net/ask-access", {})
    api(ada).post(f"{GATED}/handle", {"user": "bob", "status": "rejected"})
    with pytest.raises(problems.StateConflict):
        access.withdraw(bob, model=gated.model)
    with pytest.raises(problems.StateConflict):
        access.ask(bob, model=gated.model)
    assert AccessRequest.objects.get().status == "rejected"


def test_a_request_can_be_named_by_its_id(api, ada, bob, gated):
    api(bob).post("/api/models/ada/net/ask-access", {})
    asked = api(ada).get(f"{GATED}/pending").json()[0]["requestId"]
    for wrong in ({"requestId": "0" * 24}, {"user": "nobody"}):
        answer = api(ada).post(f"{GATED}/handle", wrong | {"status": "accepted"})
        assert answer.status_code == 404
    answer = api(ada).post(f"{GATED}/handle", {"requestId": asked, "status": "accepted"})
    assert answer.json()["status"] == "accepted"


def test_pages_of_requests_go_on(api, ada, gated):
    for number in range(3):
        somebody = factories.user(f"reader{number}")
        api(somebody).post("/api/models/ada/net/ask-access", {})
    first = api(ada).get(f"{GATED}/pending?limit=2")
    assert names(first) == ["reader0", "reader1"]
    following = first["Link"].partition(">")[0].removeprefix("<http://testserver")
    assert names(api(ada).get(following)) == ["reader2"]


def test_nobody_else_sees_or_answers_requests(api, ada, bob, gated):
    api(bob).post("/api/models/ada/net/ask-access", {})
    for caller, status in ((api(), 401), (api(bob), 403), (api(ada, ["read"]), 403)):
        assert caller.get(f"{GATED}/pending").status_code == status
        for verb in ("handle", "grant"):
            told = {"user": "bob", "status": "accepted"}
            assert caller.post(f"{GATED}/{verb}", told).status_code == status
        assert caller.put("/api/models/ada/net/settings", {"gated": False}).status_code == status
    assert api().post("/api/models/ada/net/ask-access", {}).status_code == 401
    assert AccessRequest.objects.get().status == "pending"


def test_a_bound_token_carries_no_leave_from_elsewhere(api, ada, bob, gated):
    api(ada).post(f"{GATED}/grant", {"user": "bob"})
    assert api(bob).get("/api/models/ada/net/auth-check").status_code == 200
    refused(api(bob, namespace="bob").get(FILES[0][1]), 403, "GatedRepo")


def test_a_hidden_gated_model_is_hidden(api, ada, bob, gated):
    api(ada).put("/api/models/ada/net/settings", {"visibility": "private"})
    refused(api().get(FILES[0][1]), 401, "RepoNotFound")
    refused(api(bob).get(FILES[0][1]), 404, "RepoNotFound")
    assert api(bob).get(f"blobs/{SMALL}").status_code == 404
    refused(api(bob).post("/api/models/ada/net/ask-access", {}), 404, "RepoNotFound")


def test_leave_goes_along_with_a_move_and_waits_while_a_gate_is_open(api, ada, bob, gated):
    api(ada).post(f"{GATED}/grant", {"user": "bob"})
    api(ada).post("/api/repos/move", {"fromRepo": "ada/net", "toRepo": "ada/lattice"})
    address = "/ada/lattice/resolve/main/model.onnx"
    assert api(bob).get(address).status_code == 200
    api(ada).put("/api/models/ada/lattice/settings", {"gated": False})
    assert api().get(address).status_code == 200
    assert api(bob).post("/api/models/ada/lattice/ask-access", {}).status_code == 409
    api(ada).put("/api/models/ada/lattice/settings", {"gated": "manual"})
    assert api().get(address).status_code == 401
    assert api(bob).get(address).status_code == 200


@pytest.mark.usefixtures("lists")
def test_lists_are_filtered_by_gates(api, ada, gated):
    factories.version(ada, factories.model(ada, "open"))
    found = {
        asked: sorted(row["id"] for row in api().get(f"/api/models{asked}").json())
        for asked in ("", "?gated=true", "?gated=True", "?gated=false")
    }
    assert found == {
        "": ["ada/net", "ada/open"],
        "?gated=true": ["ada/net"],
        "?gated=True": ["ada/net"],
        "?gated=false": ["ada/open"],
    }


def test_an_upload_of_ones_own_is_no_gate(api, ada, gated):
    """Who writes reads what they wrote, whatever the gate."""
    sent = {"path": "more.txt", "content": base64.b64encode(b"more").decode(), "encoding": "base64"}
    lines = '{"key":"header","value":{"summary":"more"}}\n' + (
        '{"key":"file","value":' + factories.json_text(sent) + "}"
    )
    made = api(ada).post(
        "/api/models/ada/net/commit/main", lines, content_type="application/x-ndjson"
    )
    oid = made.json()["commitOid"]
    assert body(api(ada).get(f"/ada/net/resolve/{oid}/more.txt")) == b"more"


def test_the_hubs_own_api_asks_and_decides(api, ada, bob, gated):
    asked = api(bob).post("models/ada/net/access", {"message": "please"})
    assert asked.json()["request"]["status"] == "pending"
    assert api().get("models/ada/net/access").json() == {
        "gate": "manual", "may_download": False, "request": None, "terms": "", "terms_sha256": "",
    }  # fmt: skip
    requests = api(ada).get("models/ada/net/access/requests?status=pending").json()["items"]
    assert [(row["user"], row["message"]) for row in requests] == [("bob", "please")]
    put = api(ada).put("models/ada/net/access/requests/bob", {"status": "accepted"})
    assert (put.status_code, put.json()["decided_by"]) == (200, "ada")
    assert api(bob).get("models/ada/net/access").json()["may_download"] is True
    assert api(bob).get("models/ada/net/versions/1/files/model.onnx").status_code == 200
    assert api(bob).delete("models/ada/net/access").status_code == 204
    assert api(bob).get("models/ada/net/versions/1/files/model.onnx").status_code == 403
    assert api(ada).put(
        "models/ada/net/access/requests/bob", {"status": "accepted"}
    ).status_code == 200  # fmt: skip
    assert api(bob).get("models/ada/net/versions/1/files/model.onnx").status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "perhaps"},
        {"status": "accepted"},
        {"status": "pending", "decided_at": timezone.now()},
        {"status": "rejected", "decided_at": timezone.now()},
    ],
)
def test_the_database_keeps_requests_whole(bob, gated, wrong):
    with pytest.raises(IntegrityError), transaction.atomic():
        AccessRequest.objects.create(model=gated.model, user=bob, asked_at=timezone.now(), **wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        RegisteredModel.objects.update(gate="shut")
