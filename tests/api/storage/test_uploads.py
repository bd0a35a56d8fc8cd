"""Resumable uploads: any cut, any mistake, and the bytes are right or not there at all."""

from __future__ import annotations

import fcntl
import hashlib
import io
import time

import pytest
from django.db import connection

from hub.protocol import problems
from registry.models import Blob, Upload
from registry.storage.files import store
from registry.storage.services import uploads
from registry.storage.services.hashes import Hashes
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
CONTENT = b"0123456789" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def create(client, length=10_000, **metadata):
    pairs = [f"{key} {factories.base64_text(value)}" for key, value in metadata.items()]
    response = client(
        "POST",
        "uploads",
        Tus_Resumable="1.0.0",
        Upload_Length=str(length),
        Upload_Metadata=",".join(pairs),
    )
    return response, response.get("Location", "").removeprefix("http://testserver")


def patch(client, url, offset, content):
    return client(
        "PATCH",
        url,
        content,
        content_type="application/offset+octet-stream",
        Tus_Resumable="1.0.0",
        Upload_Offset=str(offset),
    )


def test_in_steps(api, ada):
    client = api(ada)
    made, url = create(client, sha256=SHA256)
    assert made.status_code == 201
    assert made["Upload-Offset"] == "0"
    assert patch(client, url, 0, CONTENT[:4000])["Upload-Offset"] == "4000"
    head = client("HEAD", url, Tus_Resumable="1.0.0")
    assert (head["Upload-Offset"], head["Upload-Length"]) == ("4000", "10000")
    last = patch(client, url, 4000, CONTENT[4000:])
    assert (last.status_code, last["Hub-Blob"]) == (204, f"sha256:{SHA256}")
    assert store().path(SHA256).read_bytes() == CONTENT
    assert client.get(url).json()["blob"] == f"sha256:{SHA256}"
    assert list(store().root.glob("staging/*")) == []


def test_a_wrong_offset_writes_nothing_and_says_where_to_go_on(api, ada):
    client = api(ada)
    _, url = create(client)
    patch(client, url, 0, CONTENT[:10])
    for offset in (0, 9, 11):
        document = problem(patch(client, url, offset, b"x"), 409, "upload-offset")
        assert document["offset"] == 10
    assert client("HEAD", url, Tus_Resumable="1.0.0")["Upload-Offset"] == "10"


def test_one_request_at_a_time_writes_to_an_upload(api, ada):
    client = api(ada)
    _, url = create(client)
    path = store().root / "staging" / str(Upload.objects.get().uuid)
    with path.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        problem(patch(client, url, 0, CONTENT), 409, "upload-offset")
    assert path.read_bytes() == b""
    assert patch(client, url, 0, CONTENT).status_code == 204


def test_the_room_that_must_stay_free_is_left(api, ada, settings):
    client = api(ada)
    _, url = create(client)
    settings.HUB_LIMITS_FREE_BYTES = 2**62
    problem(patch(client, url, 0, CONTENT), 507, "storage-full")
    settings.HUB_LIMITS_FREE_BYTES = 0
    assert client("HEAD", url, Tus_Resumable="1.0.0")["Upload-Offset"] == "0"
    assert patch(client, url, 0, CONTENT).status_code == 204


def test_a_wrong_claim_leaves_nothing(api, ada):
    client = api(ada)
    _, url = create(client, sha256="0" * 64)
    document = problem(patch(client, url, 0, CONTENT), 422, "digest-mismatch")
    assert document["computed"] == f"sha256:{SHA256}"
    assert not Blob.objects.exists()
    assert list(store().names()) == list(store().root.glob("staging/*")) == []
    problem(patch(client, url, 0, CONTENT), 410, "upload-gone")


def test_more_bytes_than_announced(api, ada):
    client = api(ada)
    _, url = create(client, length=5)
    problem(patch(client, url, 0, b"123456"), 413, "too-large")
    assert client("HEAD", url, Tus_Resumable="1.0.0")["Upload-Offset"] == "0"


def test_an_empty_file(api, ada):
    made, _ = create(api(ada), length=0)
    assert made["Hub-Blob"] == f"sha256:{hashlib.sha256(b'').hexdigest()}"


def test_too_large_is_said_before_any_byte(api, ada, settings):
    settings.HUB_LIMITS_FILE_BYTES = 100
    made, _ = create(api(ada), length=101)
    problem(made, 413, "too-large")
    assert not Upload.objects.exists()


def test_only_its_owner_knows_an_upload(api, ada, bob):
    _, url = create(api(ada))
    for client, status in ((api(bob), 404), (api(), 401)):
        assert client.get(url).status_code == status
        assert patch(client, url, 0, b"x").status_code == status
        assert client("DELETE", url, Tus_Resumable="1.0.0").status_code == status
    assert patch(api(ada, ["read"]), url, 0, b"x").status_code == 403


def test_termination(api, ada):
    client = api(ada)
    _, url = create(client)
    patch(client, url, 0, b"x")
    with_commit = client("DELETE", url, Tus_Resumable="1.0.0")
    assert with_commit.status_code == 204
    assert not Upload.objects.exists()


def test_a_crash_between_rename_and_row_is_healed_by_asking(api, ada):
    client = api(ada)
    _, url = create(client, sha256=SHA256)
    upload = Upload.objects.get()
    (store().root / "staging" / str(upload.uuid)).write_bytes(CONTENT)
    Upload.objects.update(offset=len(CONTENT))  # as is written before the rename
    store().prepare(str(upload.uuid), SHA256)
    store().commit(str(upload.uuid), SHA256)
    head = client("HEAD", url, Tus_Resumable="1.0.0")
    assert (head["Upload-Offset"], head["Hub-Blob"]) == ("10000", f"sha256:{SHA256}")
    assert Blob.objects.get().size == len(CONTENT)


def test_a_hash_of_bytes_that_another_process_replaced_is_not_used(ada, monkeypatch):
    half = len(CONTENT) // 2
    upload = uploads.create(ada, length=len(CONTENT), claimed=SHA256)
    uploads.append(ada, upload=upload, offset=0, stream=io.BytesIO(CONTENT[:half]))
    with monkeypatch.context() as other_process:
        other_process.setattr(uploads, "_hashes", Hashes())
        uploads.receive(ada, upload=upload, stream=io.BytesIO(bytes(half)))
    with pytest.raises(problems.DigestMismatch):
        uploads.append(ada, upload=upload, offset=half, stream=io.BytesIO(CONTENT[half:]))
    assert not Blob.objects.exists()
    assert list(store().names()) == []


def test_a_claim_alone_gives_no_right_to_anothers_bytes(api, ada, bob):
    api(ada).upload(CONTENT)
    client = api(bob)
    _, url = create(client, sha256=SHA256)
    (
        store().root / "staging" / str(Upload.objects.get(owner=bob).uuid)
    ).unlink()  # however it came to be lost
    head = client("HEAD", url, Tus_Resumable="1.0.0")
    assert head.status_code == 410
    assert "Hub-Blob" not in head


def test_a_refused_upload_stays_refused_when_its_bytes_are_gone(api, ada, bob, monkeypatch):
    api(ada).upload(CONTENT)
    client = api(bob)
    _, url = create(client, sha256=SHA256)
    seen = []
    discard = type(store()).discard

    def look(self, name):
        discard(self, name)
        seen.append(client("HEAD", url, Tus_Resumable="1.0.0"))

    monkeypatch.setattr(type(store()), "discard", look)
    refused = patch(client, url, 0, b"x" * len(CONTENT))
    assert refused.status_code in (409, 422)
    assert [answer.get("Hub-Blob") for answer in seen] == [None]
    assert Upload.objects.get(owner=bob).state == Upload.State.REFUSED


def test_a_crash_before_the_rename_is_healed_by_asking(api, ada):
    client = api(ada)
    _, url = create(client)
    upload = Upload.objects.get()
    (store().root / "staging" / str(upload.uuid)).write_bytes(CONTENT)
    assert client("HEAD", url, Tus_Resumable="1.0.0")["Hub-Blob"] == f"sha256:{SHA256}"


def test_a_staged_file_that_is_gone(api, ada):
    client = api(ada)
    _, url = create(client)
    store().discard(str(Upload.objects.get().uuid))
    assert client.get(url).status_code == 410


def test_options_and_protocol_version(api, ada):
    options = api(ada)("OPTIONS", "uploads")
    assert options["Tus-Extension"] == "creation,expiration,termination"
    answer = api(ada)("POST", "uploads", Upload_Length="1")
    problem(answer, 412, "precondition-failed")


@pytest.mark.parametrize("length", ["", "-1", "x", "1" * 30, "1.5"])
def test_lengths_that_are_none(api, ada, length):
    answer = api(ada)("POST", "uploads", Tus_Resumable="1.0.0", Upload_Length=length)
    problem(answer, 400, "invalid-request")


def test_no_row_is_locked_while_storage_takes_bytes(ada, monkeypatch):
    calls = []
    for name in ("begin", "stage", "prepare", "prepare_all", "hash_staged"):
        inner = getattr(store(), name)

        def watched(*values, name=name, inner=inner):
            calls.append((name, len(connection.savepoint_ids)))
            return inner(*values)

        monkeypatch.setattr(store(), name, watched)
    model = factories.model(ada)
    outside = len(connection.savepoint_ids)  # the test itself is in a transaction
    upload = uploads.create(ada, length=3)
    assert uploads.append(ada, upload=upload, offset=0, stream=io.BytesIO(b"abc")).blob
    assert uploads.take(ada, model=model, content=b"small").size == 5
    assert calls == [(name, outside) for name in ("begin", "prepare", "stage", "prepare_all")]


def test_an_upload_that_does_not_fit_leaves_nothing_in_staging(ada, settings):
    settings.HUB_LIMITS_OPEN_UPLOADS = 0
    with pytest.raises(problems.QuotaExceeded):
        uploads.create(ada, length=3)
    assert list(store().staged_before(time.time() + 60)) == []
