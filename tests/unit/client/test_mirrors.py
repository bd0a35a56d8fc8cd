"""A hub with mirrors: who is asked, in which order, with which token, and how long it takes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from hub.client import config, mirrors, references
from hub.client.hub import Hub
from hub.protocol import problems
from tests.unit.client.conftest import make_model


@pytest.fixture
def silent():
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = []
        server.settimeout(0.05)
        stop = threading.Event()

        def accept():
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    accepted.append(server.accept()[0])

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()
            for connection in accepted:
                connection.close()


@pytest.fixture
def quick(monkeypatch):
    """Short limits, so that a test of waiting does not wait."""
    monkeypatch.setattr(mirrors, "SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(references, "STALE_AFTER_SECONDS", 0.2)


def mirrored(tmp_path, *urls, **options):
    return Hub(",".join(urls), cache=tmp_path / "cache", **({"retry_seconds": 0} | options))


def test_the_first_that_answers_is_read(fake, other, tmp_path):
    fake.add("zoo/ones", make_model())
    client = mirrored(tmp_path, fake.url, other.url)
    assert client.load("ones").graph.name == "ones"
    assert client.info("ones")["ref"] == "zoo/ones"
    assert other.requests == []


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
def test_a_mirror_answers_for_a_hub_in_trouble(fake, other, tmp_path, status, caplog):
    for each in (fake, other):
        each.add("zoo/ones", make_model())
    fake.answers.extend([(status, {}, b"")] * 50)
    caplog.set_level("WARNING", "hub.client")
    client = mirrored(tmp_path, fake.url, other.url)
    assert client.load("ones").graph.name == "ones"
    assert len(fake.requests) == 1  # remembered: the blob is asked of the mirror at once
    assert f"{fake.url} does not answer" in caplog.text


def test_a_mirror_answers_for_a_hub_that_is_gone(fake, other, tmp_path):
    other.add("zoo/ones", make_model(location="w.bin"))
    fake.close()
    client = mirrored(tmp_path, fake.url, other.url)
    assert client.download("ones").is_dir()
    assert [model["ref"] for model in client.list_models("ones")] == ["zoo/ones"]


def test_a_hub_that_hangs_costs_little(fake, silent, tmp_path, quick):
    fake.add("zoo/ones", make_model())
    client = mirrored(tmp_path, silent, fake.url)
    assert client.load("ones").graph.name == "ones"


def test_a_hub_comes_back(fake, other, tmp_path, monkeypatch):
    for each in (fake, other):
        each.add("zoo/ones", make_model())
    fake.answers.append((503, {}, b""))
    client = mirrored(tmp_path, fake.url, other.url)
    client.resolve("ones")
    client.resolve("ones")
    assert (len(fake.requests), len(other.requests)) == (1, 2)
    monkeypatch.setattr(mirrors.time, "monotonic", lambda now=time.monotonic: now() + 31)
    client.resolve("ones")
    assert (len(fake.requests), len(other.requests)) == (2, 2)


def test_writes_go_to_the_hub_alone(fake, other, tmp_path):
    (tmp_path / "model.onnx").write_bytes(make_model()["model.onnx"])
    client = mirrored(tmp_path, fake.url, other.url, token="hf_secret")
    assert client.push("zoo/ones", tmp_path / "model.onnx", card="# x\n\n")["state"] == "published"
    assert other.requests == []
    fake.close()
    client = mirrored(tmp_path, fake.url, other.url, token="hf_secret")
    with pytest.raises(problems.Unreachable):
        client.push("zoo/ones", tmp_path / "model.onnx", card="# x\n\n")
    assert other.requests == []


def test_each_gets_its_own_token(fake, other, tmp_path, monkeypatch):
    config.store(other.url, "hf_other")
    config.store(fake.url, "hf_stored")
    monkeypatch.setenv("HUB_URL", f"{fake.url},{other.url}")
    monkeypatch.setenv("HUB_TOKEN", "hf_secret")
    other.add("zoo/ones", make_model())
    fake.answers.extend([(503, {}, b"")] * 50)
    Hub(cache=tmp_path / "cache", retry_seconds=0).load("ones")
    assert {headers["authorization"] for headers in fake.headers("")} == {"Bearer hf_secret"}
    assert {headers["authorization"] for headers in other.headers("")} == {"Bearer hf_other"}
    assert "hf_other" not in repr(Hub().config)


def test_a_mirror_without_a_token_gets_none(fake, other, tmp_path):
    other.add("zoo/ones", make_model())
    fake.answers.extend([(503, {}, b"")] * 50)
    mirrored(tmp_path, fake.url, other.url, token="hf_secret").load("ones")
    assert all("authorization" not in headers for headers in other.headers(""))


def test_what_the_hub_does_not_have_is_not_asked_of_mirrors(fake, other, tmp_path):
    other.add("zoo/ones", make_model())
    with pytest.raises(problems.NotFound):
        mirrored(tmp_path, fake.url, other.url).load("ones")
    assert other.requests == []


def test_what_a_mirror_does_not_have_may_be_on_the_hub(fake, other, tmp_path):
    fake.answers.extend([(503, {}, b"")] * 50)
    with pytest.raises(problems.Unavailable) as caught:
        mirrored(tmp_path, fake.url, other.url).load("ones")
    assert other.url in caught.value.__notes__[0]


def test_wrong_bytes_of_a_mirror_are_not_kept(fake, other, tmp_path):
    (file,) = other.add("zoo/ones", make_model())["files"]
    other.corrupt.add(file["sha256"][7:])
    fake.close()
    client = mirrored(tmp_path, fake.url, other.url)
    with pytest.raises(problems.DigestMismatch):
        client.load("ones")
    assert not client.cache.blob_path(file["sha256"][7:]).exists()


def test_a_digest_that_a_mirror_answers_with_another_version(fake, other, tmp_path, monkeypatch):
    digest = other.add("zoo/ones", make_model(rows=3))["manifest_sha256"]
    other.versions["zoo/ones"][0]["manifest_sha256"] = digest
    answer = other.resolution(f"zoo/ones@{digest}", None, None)
    wrong = answer | {"manifest_sha256": "sha256:" + "0" * 64}
    monkeypatch.setattr(other, "resolution", lambda *_: wrong)
    fake.close()
    with pytest.raises(problems.DigestMismatch, match="contact the operator"):
        mirrored(tmp_path, fake.url, other.url).load(f"zoo/ones@{digest}")


def test_a_download_that_a_hub_cuts_goes_on_at_its_mirror(fake, other, tmp_path):
    files = {"model.onnx": b"x" * 3_000_000}
    for each in (fake, other):
        each.add("zoo/big", files)
    fake.cuts.append(2_000_000)
    client = mirrored(tmp_path, fake.url, other.url, retry_seconds=5)
    client.transport.sleep = lambda _: None
    assert (client.download("big") / "model.onnx").read_bytes() == files["model.onnx"]
    assert other.headers("blobs")[0]["range"].startswith("bytes=")


def test_a_cached_reference_waits_once_for_a_hub_that_hangs(fake, tmp_path, quick, caplog):
    fake.add("zoo/ones", make_model())
    Hub(fake.url, cache=tmp_path / "cache").load("ones")
    client = Hub(fake.url, cache=tmp_path / "cache", retry_seconds=60)
    port = int(fake.url.rpartition(":")[2])
    fake.close()
    with socket.create_server(("127.0.0.1", port)) as hanging:
        assert client.load("ones").graph.name == "ones"
        assert client.load("ones").graph.name == "ones"
        hanging.settimeout(0.5)
        hanging.accept()[0].close()
        with pytest.raises(TimeoutError):  # the second load asked nothing
            hanging.accept()
    assert caplog.text.count("is taken from the cache as zoo/ones@1") == 2
