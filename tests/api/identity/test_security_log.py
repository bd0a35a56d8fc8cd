"""The security log over HTTP: what is in it, who may read it, and which downloads it has."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from registry.core import events, usage
from registry.identity.models import SecurityEvent
from registry.models import AccessToken, RegisteredModel
from registry.versions.services import registered_models
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = [
    pytest.mark.capability("identity"),
    pytest.mark.django_db,
    pytest.mark.usefixtures("lists"),
]


@pytest.fixture(autouse=True)
def _no_notes():
    usage.notes.clear()
    yield
    usage.notes.clear()


def kept(**conditions):
    """What the table has once the notes are written."""
    usage.notes.flush()
    return SecurityEvent.objects.filter(**conditions).order_by("pk")


@pytest.fixture
def private(ada):
    version = factories.published(ada)
    registered_models.edit(ada, model=version.model, visibility="private")
    return version


PLACES = {
    "rest": "/api/v1/models/ada/net/versions/1/files/model.onnx",
    "resolve": "/ada/net/resolve/main/model.onnx",
    "raw": "/ada/net/raw/main/README.md",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_download_of_a_private_file_is_a_line_before_it_is_a_row(
    api, ada, private, place, capsys, caplog
):
    caplog.set_level("INFO")
    client = api(ada)
    answer = client.get(place, X_Request_Id="trial-7")
    assert answer.status_code == 200
    # No byte of the answer has been read, and nothing is written yet.
    [line] = [
        record.msg
        for record in caplog.records
        if isinstance(record.msg, dict) and record.msg["event"] == "download"
    ]
    path = place.rsplit("/", 1)[-1]
    assert (line["user"], line["address"], line["path"]) == ("ada", "127.0.0.1", path)
    assert line["request_id"] == "trial-7"
    assert not SecurityEvent.objects.filter(kind="download").exists()
    row = kept(kind="download").get()
    token = AccessToken.objects.get()
    assert (row.actor, row.address, row.token) == (ada, "127.0.0.1", str(token))
    assert (row.subject_kind, row.subject_id) == ("version", str(private.pk))
    assert (row.model, row.data, row.request_id) == (private.model, {"path": path}, "trial-7")


def pkt(text):
    return f"{len(text) + 5:04x}{text}\n"


@pytest.mark.parametrize("way", ["blob", "git", "oci", "onnx_hub"])
def test_every_way_to_the_bytes_is_a_download(api, ada, private, way):
    client, sha256 = api(ada), private.files.get(path="model.onnx").blob_id
    if way == "git":
        body = (
            pkt("command=fetch") + "0001" + pkt(f"want {private.commit_id}") + pkt("done") + "0000"
        )
        answer = client(
            "POST", "/ada/net.git/git-upload-pack", body, Git_Protocol="version=2",
            content_type="application/x-git-upload-pack-request",
        )  # fmt: skip
        subject = ("model", str(private.model_id), {})
    else:
        address, subject = {
            "blob": (f"/api/v1/blobs/{sha256}", ("blob", "", {"sha256": sha256})),
            "oci": (
                f"/v2/ada/net/blobs/sha256:{sha256}",
                ("version", str(private.pk), {"path": "model.onnx"}),
            ),
            "onnx_hub": (
                "/onnx-hub/media/zoo/models/main/ada/net@1/model.onnx",
                ("version", str(private.pk), {"path": "model.onnx"}),
            ),
        }[way]
        answer = client.get(address)
    assert answer.status_code == 200, answer.content
    rows = [(row.subject_kind, row.subject_id, row.data) for row in kept(kind="download")]
    assert rows == [subject]


@pytest.mark.parametrize("span", ["bytes=1-", "bytes=-5", "bytes=0-9"])
def test_parts_are_downloads_and_a_minute_of_them_is_one_entry(api, ada, private, span):
    client = api(ada)
    for _ in range(3):
        assert client.get(PLACES["rest"], Range=span).status_code == 206
    assert client("HEAD", PLACES["rest"]).status_code == 200
    assert kept(kind="download").count() == 1
    factories.token(ada)
    assert api(ada).get(PLACES["rest"], Range=span).status_code == 206  # another token
    assert kept(kind="download").count() == 2


def test_a_gated_file_has_an_entry_and_a_public_one_has_none(api, ada):
    version = factories.published(ada)
    client = api(ada)
    sha256 = version.files.get(path="model.onnx").blob_id
    for place in (*PLACES.values(), f"blobs/{sha256}"):
        assert client.get(place).status_code == 200
    assert not kept(kind="download").exists()
    RegisteredModel.objects.update(gate=RegisteredModel.Gate.MANUAL)
    assert client.get(PLACES["rest"]).status_code == 200
    assert client.get(f"blobs/{sha256}").status_code == 200
    assert kept(kind="download").count() == 2


def test_git_lfs_names_who_got_the_address(api, ada, private):
    file = private.files.get(path="model.onnx")
    body = {
        "operation": "download",
        "objects": [{"oid": file.blob_id, "size": file.blob.size}],
    }
    answer = api(ada).post(
        "/ada/net.git/info/lfs/objects/batch",
        json.dumps(body).encode(),
        content_type="application/vnd.git-lfs+json",
    )
    assert answer.status_code == 200, answer.content
    href = answer.json()["objects"][0]["actions"]["download"]["href"]
    assert api().get("/api/lfs/" + href.partition("/api/lfs/")[2]).status_code == 200
    row = kept(kind="download").get()
    assert (row.actor, row.model, row.data) == (ada, private.model, {"sha256": file.blob_id})


def test_sign_ins_are_entries_and_no_name_of_no_account_is(client, ada):
    password = "a long enough password"
    for name, secret in (("ada", "wrong"), ("a password here", "x"), ("ada", password)):
        client.post("/login", {"username": name, "password": secret}, REMOTE_ADDR="192.0.2.4")
    rows = [(row.kind, row.actor, row.address) for row in kept()]
    assert rows == [
        ("sign_in_failed", ada, "192.0.2.4"),
        ("sign_in_failed", None, "192.0.2.4"),
        ("sign_in", ada, "192.0.2.4"),
    ]
    assert "password here" not in str(list(SecurityEvent.objects.values()))


def test_a_token_is_an_entry_when_it_is_made_used_first_revoked_and_refused(api, ada):
    made = api(ada).post("tokens", {"name": "laptop", "scopes": ["read"]}).json()
    usage.notes.flush()
    bearer = {"Authorization": f"Bearer {made['token']}"}
    for _ in range(2):
        api().get("whoami", **bearer)
    assert api(ada).delete(f"tokens/{made['id']}").status_code == 204
    assert api().get("whoami", **bearer).status_code == 401
    rows = kept(kind__startswith="token")
    of = [(row.kind, row.actor) for row in rows if "test" not in row.token or "." in row.kind]
    assert of == [
        ("token.created", ada),
        ("token.revoked", ada),
        ("token_first_used", ada),
        ("token_refused", None),
    ]
    assert made["token"] not in str(list(SecurityEvent.objects.values()))


def test_who_deleted_this_when_and_from_where(api, ada, admin, client):
    version = factories.published(ada)
    owner = api(ada)
    owner.http.defaults["REMOTE_ADDR"] = "192.0.2.9"
    answer = owner.delete("models/ada/net")
    assert answer.status_code == 204
    subject = f"registeredmodel/{version.model_id}"
    [row] = api(admin).get(f"security-events?subject={subject}&kind=model.deleted").json()["items"]
    assert (row["actor"], row["address"], row["model"]) == ("ada", "192.0.2.9", "ada/net")
    assert row["request_id"] == answer["X-Request-Id"]
    client.force_login(admin)
    page = client.get(f"/administration/security-log?subject={subject}").content.decode()
    assert "What users did to it" in page
    assert page.count("192.0.2.9") == 2  # of the event and of the entry
    request = answer["X-Request-Id"]
    address = f"/administration/security-log?request_id={request}"
    assert page.count(f'<a href="{address}"><code>{request}</code></a>') == 2
    assert page.count('<a href="/administration/accounts/ada">ada</a>') == page.count(">ada<") > 1
    assert "model.deleted" in client.get(address).content.decode()


def test_what_jobs_record_later_hides_no_deletion(api, ada, admin, client):
    version = factories.published(ada)
    assert api(ada).delete("models/ada/net").status_code == 204
    for _ in range(30):
        events.record("conformance.added", version, actor=None, model=version.model)
    client.force_login(admin)
    address = "/administration/security-log?model=ada/net"
    page = client.get(address).content.decode()
    assert "model.deleted" in page
    assert "conformance.added</th>" not in page
    none = client.get(f"{address}&kind=model.moved").content.decode()
    assert "What users did to it" not in none


def test_only_administrators_read_it(api, ada, admin, client):
    problem(api().get("security-events"), 401, "not-authenticated")
    for reader in (api(ada), api(admin, ["publish"]), api(admin, namespace="zoo")):
        problem(reader.get("security-events"), 403, "not-allowed")
        problem(reader.get("security-events?actor=nobody"), 403, "not-allowed")
    assert client.get("/administration/security-log").status_code == 302
    client.force_login(ada)
    assert client.get("/administration/security-log").status_code == 403
    assert client.get("/administration/security-log?kind=nothing").status_code == 403


def test_filters_and_pages(api, admin, client):
    for number in range(60):
        client.post(
            "/login", {"username": f"n{number}", "password": "x"}, REMOTE_ADDR=f"192.0.2.{number}"
        )
    usage.notes.flush()
    reader = api(admin)
    assert len(reader.get("security-events?address=192.0.2.7").json()["items"]) == 1
    problem(reader.get("security-events?kind=nothing"), 400, "invalid-request")
    client.force_login(admin)
    first = client.get("/administration/security-log?kind=sign_in_failed")
    assert first.content.decode().count('<th scope="row">sign_in_failed') == 50
    second = client.get(first.context["next"])
    assert second.content.decode().count('<th scope="row">sign_in_failed') == 10
    wrong = client.get("/administration/security-log?actor=nobody-here")
    assert "nobody-here not found" in wrong.content.decode()


def test_what_a_user_may_not_do_is_logged_once_a_minute(api, ada, bob):
    factories.published(ada)
    for _ in range(3):
        assert api(bob).delete("models/ada/net").status_code == 403
    browser = Client(REMOTE_ADDR="192.0.2.7")
    browser.force_login(bob)
    assert browser.get("/administration").status_code == 403
    assert api().get("users").status_code == 401
    by_token, by_session = kept(kind="access_refused")
    assert by_token.actor == by_session.actor == bob
    assert by_token.token.startswith("hf_")
    assert by_token.data == {"method": "DELETE", "path": "/api/v1/models/ada/net"}
    assert (by_session.address, by_session.token) == ("192.0.2.7", "")
    assert by_session.data == {"method": "GET", "path": "/administration"}
