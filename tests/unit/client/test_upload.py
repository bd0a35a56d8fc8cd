from __future__ import annotations

import hashlib
import os

import pytest

from hub.client import upload
from hub.client.local_files import LocalFile
from hub.client.upload import Upload
from hub.protocol import problems

MIB = 1 << 20


@pytest.fixture
def local(tmp_path):
    def make(size: int) -> LocalFile:
        source = tmp_path / "model.onnx"
        source.write_bytes(os.urandom(size))
        sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
        return LocalFile("model.onnx", source, size, sha256)

    return make


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(upload, "FIRST_STEP_BYTES", MIB)
    monkeypatch.setattr(upload, "LARGEST_STEP_BYTES", MIB)


def send(transport, cache, file):
    seen = []
    blob = Upload(transport, cache, file, seen.append).run()
    return blob, sum(seen)


@pytest.mark.parametrize("size", [0, 1, 3 * MIB + 5])
def test_file_arrives(fake, transport, cache, local, small_steps, size):
    file = local(size)
    assert send(transport, cache, file) == (f"sha256:{file.sha256}", size)
    assert fake.blobs[file.sha256] == file.source.read_bytes()
    assert not list(cache.uploads.rglob("*.json"))


def test_cut_goes_on_where_the_server_is(fake, transport, cache, local, small_steps):
    file = local(3 * MIB)
    fake.patch_cuts.extend([300_000, 0, 500_000])
    assert send(transport, cache, file) == (f"sha256:{file.sha256}", file.size)
    assert fake.received_bytes == file.size
    assert len(fake.uploads) == 1


def test_lost_last_answer_is_asked_for(fake, transport, cache, local):
    file = local(MIB)
    fake.lost_answers = 1
    assert send(transport, cache, file) == (f"sha256:{file.sha256}", file.size)
    assert fake.count("PATCH", "uploads") == 1
    assert fake.count("GET", "uploads") == 1


def test_later_run_goes_on_with_the_same_upload(
    fake, transport, cache, local, small_steps, impatient
):
    file = local(3 * MIB)
    fake.patch_cuts.extend([MIB, *[0] * 99])
    with pytest.raises(problems.Unreachable):
        send(transport, cache, file)
    fake.patch_cuts.clear()
    fake.received_bytes = 0
    assert send(transport, cache, file) == (f"sha256:{file.sha256}", file.size)
    assert len(fake.uploads) == 1
    assert fake.received_bytes == 2 * MIB


def test_forgotten_upload_is_begun_again(fake, transport, cache, local):
    file = local(1000)
    cache.write_json(
        cache.upload_path(transport.config.url, file.sha256),
        {"location": f"{fake.url}/api/v1/uploads/gone", "size": 1000},
    )
    assert send(transport, cache, file)[0] == f"sha256:{file.sha256}"
    assert len(fake.uploads) == 1


def test_upload_that_disappears_half_way_is_begun_again(fake, transport, cache, local, small_steps):
    file = local(2 * MIB)
    fake.patch_cuts.append(MIB)
    original = transport.sleep

    def forget(seconds):
        fake.uploads.clear()
        original(seconds)

    transport.sleep = forget
    assert send(transport, cache, file) == (f"sha256:{file.sha256}", file.size)


def test_file_that_changed_meanwhile_is_refused(fake, transport, cache, local):
    file = local(1000)
    file.source.write_bytes(b"x" * 1000)
    with pytest.raises(problems.DigestMismatch):
        send(transport, cache, file)
    assert fake.blobs == {}


def test_file_that_became_shorter_is_noticed_at_once(fake, transport, cache, local):
    file = local(1000)
    file.source.write_bytes(b"x" * 10)
    with pytest.raises(problems.DigestMismatch, match="shorter"):
        send(transport, cache, file)
    assert fake.blobs == {}


def test_refused_in_the_background(fake, transport, cache, local):
    file = local(1000)
    fake.lost_answers = 1
    fake_store = fake.uploads

    original = transport.sleep

    def refuse(seconds):
        for kept in fake_store.values():
            kept["state"], kept["blob"] = "refused", None
        original(seconds)

    transport.sleep = refuse
    with pytest.raises(problems.DigestMismatch, match="Did the file change"):
        send(transport, cache, file)


def test_too_large_is_told_at_once(fake, transport, cache, local):
    file = local(1000)
    body = problems.TooLarge("At most 10 bytes.").to_json("http://h")
    import json

    headers = {"Content-Type": problems.MEDIA_TYPE}
    fake.answers.append((413, headers, json.dumps(body).encode()))
    with pytest.raises(problems.TooLarge, match="At most"):
        send(transport, cache, file)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_gateway_faults_are_continued(fake, transport, cache, local, status):
    file = local(1000)
    made = transport.own("/api/v1/uploads/u")
    fake.uploads["u"] = {
        "uuid": "u",
        "length": 1000,
        "claimed": file.sha256,
        "bytes": b"",
        "state": "receiving",
        "blob": None,
    }
    memory = cache.upload_path(transport.config.url, file.sha256)
    cache.write_json(memory, {"location": made, "size": 1000})
    running = Upload(transport, cache, file, lambda _: None)
    remembered = running._remembered()
    assert remembered == (made, 0)
    fake.answers.append((status, {}, b""))
    running._remembered = lambda: remembered
    assert running.run() == f"sha256:{file.sha256}"
