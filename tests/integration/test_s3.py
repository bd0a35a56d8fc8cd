"""Storage in an S3 bucket, with a real gateway: Ceph's."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import uuid
from datetime import timedelta
from hashlib import sha256

import pytest
from django.utils import timezone

from hub.client.hub import Hub as Client
from hub.protocol import digests, problems
from registry.models import Blob, Upload
from registry.storage import collector, files, verification
from registry.storage.services import blobs, uploads
from tests import ceph, samples
from tests.faults.conftest import Hub
from tests.integration.conftest import bucket_of
from tests.stores import CONTENT, LENGTH, SHA256, SMALL, STEP, StoreContract, finish, keep, write


def store_of(bucket, root, cache_bytes=2**30, *, redirects=False):
    from registry.storage.s3.storage import S3Store

    return S3Store(bucket, root, cache_bytes=cache_bytes, redirects=redirects)


@pytest.fixture
def bucket(cluster):
    return bucket_of(uuid.uuid4().hex)


@pytest.fixture
def small_parts(monkeypatch):
    from registry.storage.s3 import staging, storage

    monkeypatch.setattr(staging, "PART_BYTES", 5 * STEP)
    monkeypatch.setattr(storage, "STAGE_BYTES", 5 * STEP)


@pytest.fixture
def store(bucket, tmp_path, small_parts):
    return store_of(bucket, tmp_path / "cache")


class TestBucket(StoreContract):
    """What a folder does."""


def test_nothing_else_lies_in_the_bucket_than_the_blob(store, bucket):
    store.begin("upload", LENGTH)
    write(store, "upload", 0, 9 * STEP)
    write(store, "upload", 9 * STEP, LENGTH)
    finish(store, "upload")
    keep(store, CONTENT)
    assert [row.key.rpartition("/")[2] for row in bucket.objects("")] == [SHA256]
    assert list(bucket.unfinished("")) == []


def test_a_blob_larger_than_one_copy(bucket, tmp_path, small_parts):
    bucket = bucket_of(bucket.prefix, copy_bytes=STEP, copy_part_bytes=5 * STEP)
    store = store_of(bucket, tmp_path)
    keep(store, CONTENT)
    assert store.read(SHA256, LENGTH) == CONTENT
    assert list(bucket.unfinished("")) == []


def test_bytes_that_another_machine_replaced_are_not_kept(bucket, tmp_path, small_parts):
    """The hash of the first machine is of its own parts: those of the second are others."""
    first, second = (store_of(bucket, tmp_path / name) for name in ("first", "second"))
    first.begin("upload", LENGTH)
    write(first, "upload", 0, 5 * STEP)
    with first.writer("upload") as mine, second.writer("upload") as other:
        mine.write(CONTENT[5 * STEP : 10 * STEP])
        mine._senders.wait()
        other.write(bytes(5 * STEP))
        other._senders.wait()
        mine.write(CONTENT[10 * STEP :])
        with pytest.raises(problems.UploadOffset):
            mine.sync()


def test_what_a_machine_sealed_stays_what_it_hashed(bucket, tmp_path, small_parts):
    first, second = (store_of(bucket, tmp_path / name) for name in ("first", "second"))
    first.begin("upload", LENGTH)
    write(first, "upload", 0, LENGTH)
    with first.writer("upload") as mine:
        sealed = mine.seal()
        assert first.hash_staged(sealed) == SHA256
        second.discard("upload")
        second.begin("upload", LENGTH)
        with second.writer("upload") as other:
            other.write(bytes(LENGTH))
            other.sync()
        with pytest.raises(FileNotFoundError):
            first.prepare(sealed, SHA256)
    assert not first.find(SHA256)


def test_a_part_that_fails_is_not_skipped(store, bucket, monkeypatch):
    store.begin("upload", LENGTH)
    put_part = bucket.put_part

    def failing(key, upload, number, body):
        if number == 2:
            raise problems.Unavailable("The gateway does not respond.")
        return put_part(key, upload, number, body)

    with store.writer("upload") as staged, monkeypatch.context() as patch:
        patch.setattr(bucket, "put_part", failing)
        staged.write(CONTENT)
        for _ in range(2):
            with pytest.raises(problems.Unavailable):
                staged.sync()
    assert store.staged_size("upload") == 5 * STEP
    write(store, "upload", 5 * STEP, LENGTH)
    assert finish(store, "upload") == SHA256


def test_an_upload_whose_parts_the_bucket_has_removed_starts_again(store, bucket):
    store.begin("upload", LENGTH)
    write(store, "upload", 0, 10 * STEP)
    for key, upload, _ in list(bucket.unfinished("")):
        bucket.abort(key, upload)
    assert store.staged_size("upload") == 0
    write(store, "upload", 0, LENGTH)
    assert finish(store, "upload") == SHA256


def test_a_signed_address_has_type_and_name(bucket, tmp_path):
    digest = keep(store_of(bucket, tmp_path), SMALL)
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": "attachment; filename*=UTF-8''a%20b.onnx",
        "ETag": '"of the hub"',
    }
    assert store_of(bucket, tmp_path).download_url(digest, headers) is None
    url = store_of(bucket, tmp_path, redirects=True).download_url(digest, headers)
    request = urllib.request.Request(url, headers={"Range": "bytes=2-6"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        assert (answer.status, answer.read()) == (206, SMALL[2:7])
        for name in ("Content-Type", "Content-Disposition"):
            assert answer.headers[name] == headers[name]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(url.replace("Signature=", "Signature=0"), timeout=30)  # noqa: S310


@pytest.fixture
def requests_of():
    """The requests that a bucket sends from now on."""

    def record(bucket):
        requests = []
        bucket._client.meta.events.register(
            "before-send.s3", lambda request, **_: requests.append(request)
        )
        return requests

    return record


def test_a_gateway_verifies_the_hash_of_a_part_where_tls_does_not_protect_it(bucket, requests_of):
    requests = requests_of(bucket)
    bucket.put("object", SMALL)
    assert requests[-1].headers["X-Amz-Content-SHA256"].decode() == sha256(SMALL).hexdigest()

    def damage(request, **_):
        request.body = b"b small blob"

    bucket._client.meta.events.register("before-send.s3", damage)
    with pytest.raises(problems.Unavailable):
        bucket.put("damaged", SMALL)
    bucket._client.meta.events.unregister("before-send.s3", damage)
    assert [row.key for row in bucket.objects("")] == ["object"]


def test_a_blob_in_a_bucket_over_tls(cluster, tmp_path, small_parts, monkeypatch, requests_of):
    for name, value in cluster.tls_environment.items():
        monkeypatch.setenv(name, value)
    bucket = bucket_of(uuid.uuid4().hex)
    requests = requests_of(bucket)
    store = store_of(bucket, tmp_path)
    store.begin("upload", LENGTH)
    write(store, "upload", 0, 9 * STEP)
    write(store, "upload", 9 * STEP, LENGTH)
    assert finish(store, "upload") == SHA256
    assert store.read(SHA256, LENGTH) == CONTENT
    assert {request.url.partition(":")[0] for request in requests} == {"https"}
    sent = {request.headers["X-Amz-Content-SHA256"] for request in requests if request.body}
    assert b"UNSIGNED-PAYLOAD" in sent


# Processes and gateways that end

WRITE = """
import sys, os
from tests.integration.test_s3 import bucket_of, store_of
from tests.stores import CONTENT, STEP
from registry.storage.s3 import staging
from pathlib import Path
staging.PART_BYTES = 5 * STEP
store = store_of(bucket_of(sys.argv[1]), Path(sys.argv[2]))
store.begin("upload", len(CONTENT))
with store.writer("upload") as staged:
    staged.write(CONTENT[: 6 * STEP])
    print("synced", staged.sync(), flush=True)
    staged.write(CONTENT[6 * STEP : int(sys.argv[3])])
    if sys.argv[4] == "sealed":
        staged.seal()
    print("written", flush=True)
    input()
"""


@pytest.mark.parametrize(
    ("end", "step"),
    [(6 * STEP + 5, "written"), (11 * STEP, "written"), (LENGTH, "sealed")],
    ids=["in a tail", "in a part", "sealed"],
)
def test_what_was_synced_survives_the_process(store, bucket, tmp_path, end, step):
    writer = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{WRITE}",
         bucket.prefix, str(tmp_path / "cache"), str(end), step],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert writer.stdout.readline() == f"synced {6 * STEP}\n"
    assert writer.stdout.readline() == "written\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    size = store.staged_size("upload")
    assert 6 * STEP <= size <= end
    if size < LENGTH:
        write(store, "upload", size, LENGTH)
    assert finish(store, "upload") == SHA256


def test_a_gateway_that_ends_while_bytes_are_read_and_comes_back(store, cluster):
    keep(store, CONTENT)
    reader = store.open(SHA256)
    head = reader.read(STEP)
    cluster.kill_gateway()
    try:
        with pytest.raises(problems.Unavailable) as caught:
            reader.read()
        assert caught.value.extensions["retry_after"] > 0
        with pytest.raises(problems.Unavailable):
            store.find(SHA256)
        with pytest.raises(problems.Unavailable):
            store.check()
    finally:
        cluster.start_gateway()
    position = reader.tell()
    rest = reader.read()
    assert (head + CONTENT[STEP:position] + rest) == CONTENT


def test_a_gateway_that_ends_while_bytes_are_written_and_comes_back(store, cluster):
    store.begin("upload", LENGTH)
    write(store, "upload", 0, 6 * STEP)
    cluster.kill_gateway()
    try:
        with (
            pytest.raises(problems.Unavailable),
            store.writer("upload") as staged,
        ):
            staged.write(CONTENT[6 * STEP :])
        with pytest.raises(problems.Unavailable):
            store.stage(io.BytesIO(CONTENT))
    finally:
        cluster.start_gateway()
    assert store.staged_size("upload") == 6 * STEP
    write(store, "upload", 6 * STEP, LENGTH)
    assert finish(store, "upload") == SHA256


# Rows and bytes


@pytest.fixture
def in_bucket(bucket, settings, tmp_path):
    """The hub of this process keeps its storage in a bucket."""
    settings.HUB_STORAGE_URL = f"s3://{bucket.name}/{bucket.prefix}"
    settings.HUB_STORAGE_CACHE = tmp_path / "cache"
    yield bucket
    files.store_at.cache_clear()


@pytest.mark.django_db
def test_what_nothing_needs_is_collected(in_bucket, ada):
    upload = uploads.create(ada, length=LENGTH, claimed=SHA256)
    uploads.append(ada, upload=upload, offset=0, stream=io.BytesIO(CONTENT))
    kept = blobs.write(SMALL)
    Upload.objects.create(
        owner=ada, length=kept.size, offset=kept.size, state="stored", blob=kept,
        expires_at=timezone.now(),
    )  # fmt: skip
    uploads.abandon(ada, upload=upload)
    Blob.objects.update(touched_at=timezone.now() - timedelta(days=2))
    assert collector.collect() == 1
    assert [row.key.rpartition("/")[2] for row in in_bucket.objects("")] == [kept.pk]
    assert list(verification.verify()) == []
    # Without its row the other is an orphan, which goes after a day.
    Upload.objects.all().delete()
    Blob.objects.all().delete()
    assert list(verification.verify()) == [(kept.pk, "lies in storage without a row (an orphan)")]
    assert collector.collect_orphans([kept.pk[:2]]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blobs, "GRACE", timedelta(seconds=-5))
        assert collector.collect_orphans([kept.pk[:2]]) == 1
    assert list(in_bucket.objects("")) == []


@pytest.mark.django_db
def test_damaged_and_lost_objects_are_reported_and_mended(in_bucket, ada):
    damaged, short, lost = (blobs.write(f"blob {number}".encode()).pk for number in range(3))
    for sha256_, content in ((damaged, b"other!"), (short, b"")):
        in_bucket.put(f"sha256/{sha256_[:2]}/{sha256_[2:4]}/{sha256_}", content)
    in_bucket.delete([f"sha256/{lost[:2]}/{lost[2:4]}/{lost}"])
    problems_of = dict(verification.verify())
    assert problems_of.keys() == {damaged, short, lost}
    assert "missing" in problems_of[lost]
    for number in range(3):
        blobs.write(f"blob {number}".encode())
    assert list(verification.verify()) == []
    assert not verification.unsound()


@pytest.mark.django_db
def test_a_wrong_claim_leaves_nothing(in_bucket, ada):
    upload = uploads.create(ada, length=len(SMALL), claimed=SHA256)
    with pytest.raises(problems.DigestMismatch):
        uploads.append(ada, upload=upload, offset=0, stream=io.BytesIO(SMALL))
    assert list(in_bucket.objects("")) == []
    assert not Blob.objects.exists()


# Whole hubs


@pytest.fixture(scope="module")
def hub(cluster, tmp_path_factory):
    """`hub serve` with its storage in the bucket."""
    home = tmp_path_factory.mktemp("hub") / "home"
    made = Hub(home, HUB_STORAGE_URL=f"s3://{ceph.BUCKET}/a%20hub", **cluster.environment)
    yield made
    made.stop()


def push(hub, folder, name, content, **options):
    """Push a model and publish it; returns the client that did."""
    (folder / name).mkdir()
    (folder / name / "model.onnx").write_bytes(content)
    client = Client(hub.address, token=hub.token, cache=folder / "cache")
    client.push(f"zoo/{name}", folder / name, progress=False, **options)
    return client


def blobs_on_disk(home):
    return [path for path in home.rglob("*") if path.is_file() and digests.is_hex(path.name)]


def test_a_model_is_published_checked_and_loaded(hub, tmp_path):
    content = samples.unlike_others(samples.mlp())
    client = push(hub, tmp_path, "whole", content)
    _, _, versions = hub.call("GET", "models/zoo/whole/versions")
    assert [(row["number"], row["state"]) for row in versions["items"]] == [(1, "published")]
    assert client.load("zoo/whole", progress=False).SerializeToString() == content
    digest = sha256(content).hexdigest()
    kept = {path.parent for path in blobs_on_disk(hub.home)}
    assert kept <= {hub.home / "storage-cache" / "blobs"}
    stored = [row.key for row in bucket_of("a hub").objects("sha256/")]
    assert f"sha256/{digest[:2]}/{digest[2:4]}/{digest}" in stored


def test_ranges_tags_and_heads_are_those_of_a_folder(hub, tmp_path):
    content = samples.unlike_others(samples.mlp())
    push(hub, tmp_path, "ranges", content)
    path = "models/zoo/ranges/versions/1/files/model.onnx"
    tag = f'"{sha256(content).hexdigest()}"'
    status, headers, body = hub.call("HEAD", path)
    assert (status, headers["ETag"], headers["Content-Length"]) == (200, tag, str(len(content)))
    status, headers, body = hub.call("GET", path, Range="bytes=10-19")
    assert (status, headers["ETag"], body) == (206, tag, content[10:20])
    status, headers, body = hub.call("GET", path, Range="bytes=-5")
    assert (status, body) == (206, content[-5:])
    assert hub.call("GET", path, If_None_Match=tag)[0] == 304
    assert hub.call("GET", path, Range=f"bytes={len(content)}-")[0] == 416
    status, headers, body = hub.call("GET", path)
    assert (status, body) == (200, content)


def test_downloads_are_redirected_where_that_is_set(cluster, tmp_path):
    environment = cluster.environment | {"HUB_STORAGE_REDIRECT": "true"}
    hub = Hub(tmp_path / "home", HUB_STORAGE_URL=f"s3://{ceph.BUCKET}/redirecting", **environment)
    try:
        content = samples.unlike_others(samples.mlp())
        client = push(hub, tmp_path, "redirected", content)
        path = "models/zoo/redirected/versions/1/files/model.onnx"
        tag = f'"{sha256(content).hexdigest()}"'
        status, headers, body = hub.call("HEAD", path)
        assert (status, headers["ETag"], headers["Content-Length"]) == (200, tag, str(len(content)))
        status, headers, body = hub.call("GET", path)
        assert (status, headers["ETag"], headers["Cache-Control"]) == (
            302, tag, "private, no-store",
        )  # fmt: skip
        assert headers["Location"].startswith(cluster.endpoint)
        with urllib.request.urlopen(headers["Location"], timeout=30) as answer:  # noqa: S310
            assert answer.read() == content
            assert "model.onnx" in answer.headers["Content-Disposition"]
        assert hub.call("GET", path, If_None_Match=tag)[0] == 304
        status, _, body = hub.call("GET", path, Range="bytes=0-4", If_Range='"other"')
        assert (status, body) == (200, content)
        assert client.load("zoo/redirected", progress=False).SerializeToString() == content
        push(hub, tmp_path, "hidden", samples.unlike_others(content), visibility="private")
        path = path.replace("redirected", "hidden")
        assert hub.call("GET", path)[0] == 302
        assert hub.call("GET", path, Authorization="")[0] == 404
    finally:
        hub.stop()


def test_a_push_and_a_load_outlive_a_gateway_that_is_killed(hub, cluster, tmp_path):
    content = samples.unlike_others(samples.mlp())
    push(hub, tmp_path, "before", content)
    path = "models/zoo/before/versions/1/files/model.onnx"
    cluster.kill_gateway()
    restart = threading.Timer(10, cluster.start_gateway)
    try:
        status, headers, problem = hub.call("GET", path, seconds=90)
        assert (status, problem["type"].rpartition("/")[2]) == (503, "unavailable")
        assert int(headers["Retry-After"]) > 0
        restart.start()
        client = push(hub, tmp_path, "during", samples.unlike_others(samples.mlp()))
    finally:
        if restart.is_alive() or restart.finished.is_set():
            restart.join()
        else:
            cluster.start_gateway()
    assert client.load("zoo/before", progress=False).SerializeToString() == content
    _, _, versions = hub.call("GET", "models/zoo/during/versions")
    assert [row["state"] for row in versions["items"]] == ["published"]
