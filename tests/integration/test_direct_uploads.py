"""Content that clients send to the bucket: nothing else than what was claimed becomes a blob."""

from __future__ import annotations

import io
import subprocess
import time
import uuid
from hashlib import sha256

import pytest

from hub.client.hub import Hub as Client
from hub.client.transport import Transport
from hub.protocol import problems
from registry.models import Blob, Upload
from registry.storage import files
from registry.storage.services import uploads
from tests import ceph, samples
from tests.faults.conftest import Hub
from tests.integration.conftest import bucket_of
from tests.stores import CONTENT, LENGTH, SHA256

OTHER = CONTENT[:-1] + b"D"


def put(url, content, digest=SHA256):
    """Send content to a signed address; returns the status, also of a refusal before the end."""
    header = ["-H", f"X-Amz-Content-SHA256: {digest}"] if digest else []
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-T", "-", *header]
    # Without this, curl sends what it reads from a pipe in chunks.
    words += ["-H", f"Content-Length: {len(content)}", "-H", "Transfer-Encoding:", url]
    done = subprocess.run(words, input=content, capture_output=True, check=False, timeout=60)
    return int(done.stdout)


@pytest.fixture
def bucket(cluster, settings, tmp_path):
    """The bucket in which the services of this test store."""
    found = bucket_of(uuid.uuid4().hex)
    settings.HUB_STORAGE_URL = f"s3://{ceph.BUCKET}/{found.prefix}"
    settings.HUB_STORAGE_CACHE = tmp_path / "cache"
    settings.HUB_STORAGE_DIRECT_UPLOADS = True
    files.store_at.cache_clear()
    yield found
    files.store_at.cache_clear()


def keys(bucket):
    return [row.key for row in bucket.objects("")]


def test_a_gateway_that_checks_is_seen_and_the_trial_leaves_nothing(bucket):
    assert bucket.checks_content("trial/content")
    assert keys(bucket) == []


def test_a_gateway_that_checks_nothing_is_not_used(bucket, monkeypatch):
    from registry.storage.s3 import bucket as module

    class Careless(module.URLLib3Session):
        """Takes whatever comes: as a gateway that knows no signed digests."""

        def send(self, request):
            answer = super().send(request)
            answer.status_code = 200
            return answer

    monkeypatch.setattr(module, "URLLib3Session", Careless)
    assert not bucket.checks_content("trial/content")
    assert files.store().upload_url("upload", SHA256, LENGTH) is None


@pytest.mark.django_db
def test_only_the_claimed_content_becomes_a_blob(bucket, ada):
    upload = uploads.create(ada, length=LENGTH, claimed=SHA256)
    url = uploads.direct_url(upload)
    assert put(url, OTHER) == 400
    assert put(url, OTHER, sha256(OTHER).hexdigest()) == 403
    assert put(url, OTHER, "UNSIGNED-PAYLOAD") == 403
    assert put(url, CONTENT, None) == 403
    assert put(url, CONTENT + b"more") == 403
    assert put(url.replace("checked-", "content-"), CONTENT) == 403
    assert uploads.refresh(upload).offset == 0
    with pytest.raises(problems.UploadOffset):
        uploads.append(ada, upload=upload, offset=LENGTH, stream=io.BytesIO())
    assert not Blob.objects.exists()
    assert put(url, CONTENT) == 200
    stored = uploads.append(ada, upload=upload, offset=LENGTH, stream=io.BytesIO())
    assert (stored.state, stored.blob_id) == (Upload.State.STORED, SHA256)
    assert keys(bucket) == [f"sha256/{SHA256[:2]}/{SHA256[2:4]}/{SHA256}"]
    assert files.store().read(SHA256, LENGTH) == CONTENT


@pytest.mark.django_db
def test_an_address_that_is_used_again_changes_no_blob_and_its_bytes_are_removed(bucket, ada):
    upload = uploads.create(ada, length=LENGTH, claimed=SHA256)
    url = uploads.direct_url(upload)
    assert put(url, CONTENT) == 200
    uploads.refresh(upload)
    before = files.store().find(SHA256)
    assert put(url, OTHER) == 400
    assert put(url, CONTENT) == 200
    assert files.store().find(SHA256) == before
    assert len(keys(bucket)) == 2
    Upload.objects.update(expires_at=upload.created_at)
    uploads.expire()
    assert len(keys(bucket)) == 1


@pytest.mark.django_db
def test_the_length_is_signed_so_that_no_more_is_stored_than_was_reserved(bucket, ada, settings):
    short = uploads.create(ada, length=LENGTH - 1, claimed=SHA256)
    assert put(uploads.direct_url(short), CONTENT) == 403
    settings.HUB_LIMITS_FILE_BYTES = LENGTH - 1
    with pytest.raises(problems.TooLarge):
        uploads.create(ada, length=LENGTH, claimed=SHA256)
    assert [key for key in keys(bucket) if "checked" in key] == []


@pytest.mark.django_db
def test_content_that_nobody_finished_is_finished_by_a_read_or_removed(bucket, ada):
    first, second = (uploads.create(ada, length=LENGTH, claimed=SHA256) for _ in range(2))
    for upload in (first, second):
        assert put(uploads.direct_url(upload), CONTENT) == 200
    assert uploads.refresh(first).state == Upload.State.STORED
    Upload.objects.filter(pk=second.pk).update(expires_at=second.created_at)
    uploads.expire()
    assert len(keys(bucket)) == 1


@pytest.mark.django_db
def test_no_address_is_given_without_a_digest_or_outside_the_sizes(bucket, ada, settings):
    assert uploads.direct_url(uploads.create(ada, length=LENGTH)) is None
    assert uploads.direct_url(uploads.create(ada, length=100, claimed=SHA256)) is None
    assert files.store().upload_url("upload", SHA256, 5 * 2**30 + 1) is None
    settings.HUB_STORAGE_DIRECT_UPLOADS = False
    files.store_at.cache_clear()
    assert uploads.direct_url(uploads.create(ada, length=LENGTH, claimed=SHA256)) is None


def test_an_address_expires(bucket):
    url = bucket.sign_upload("short", SHA256, LENGTH, 1)
    time.sleep(2.5)
    assert put(url, CONTENT) == 403


@pytest.mark.parametrize("is_reachable", [True, False])
def test_a_push_sends_a_large_file_to_the_bucket(cluster, tmp_path, monkeypatch, is_reachable):
    sent = {}

    def opened(self, method, address, headers, body, silence_seconds=None, original=Transport.open):
        to_bucket = "X-Amz-Signature" in address
        if to_bucket:
            assert "Authorization" not in headers
        if to_bucket or "Upload-Offset" in headers:
            sent.setdefault(to_bucket, []).append(int(headers["Content-Length"]))
        if to_bucket and not is_reachable:
            address = address.replace(f":{cluster.port}/", ":9/")
        return original(self, method, address, headers, body, silence_seconds)

    monkeypatch.setattr(Transport, "open", opened)
    storage = {
        "HUB_STORAGE_URL": f"s3://{ceph.BUCKET}/{uuid.uuid4().hex}",
        "HUB_STORAGE_DIRECT_UPLOADS": "true",
    }
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(samples.mlp())
    (folder / "weights.bin").write_bytes(CONTENT)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A model\n")
    hub = Hub(tmp_path / "home", **cluster.environment, **storage)
    try:
        client = Client(hub.address, token=hub.token, cache=tmp_path / "cache")
        client.push("admin/net", folder, publish=False, wait=False)
    finally:
        hub.stop()
    assert sent[True] == [LENGTH]
    through_hub = sum(sent.get(False, []))
    assert through_hub == 0 if is_reachable else through_hub == LENGTH
