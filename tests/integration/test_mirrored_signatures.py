"""Signatures of publishers that a mirror copies from one hub of real processes to another."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests import samples, signers
from tests.faults.conftest import wait_for
from tests.integration.test_mirrors import (
    Source,
    add,
    files,
    here,
    lambda_text,
    make,
    namespace,
    publish,
    read,
    serving,
    synced,
)

__all__ = ["here"]

pytestmark = [pytest.mark.capability("provenance"), pytest.mark.capability("mirrors")]


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """The source: a public model and a private one."""
    hub = make(tmp_path_factory, "there")
    try:
        for name, visibility in (("net", "public"), ("hidden", "private")):
            content = samples.unlike_others(samples.mlp())
            publish(hub, name, {"model.onnx": content}, visibility=visibility)
        yield hub
    finally:
        hub.stop()


def signed_files(hub, ref):
    return {path: digest.removeprefix("sha256:") for path, digest in files(hub, ref, 1).items()}


def sign(hub, ref, key):
    """Add a signature to the first version; gives its digest."""
    content = {
        "bundle": signers.bundle(key, signed_files(hub, ref)),
        "public_key": key.with_suffix(".pub").read_text(),
    }
    status, _, body = hub.call("POST", f"models/{ref}/versions/1/signatures", content)
    assert status == 201, body
    return body["sha256"]


def signatures(hub, ref, **headers):
    return hub.call("GET", f"models/{ref}/versions/1/signatures", **headers)[2]["items"]


def test_signatures_arrive_with_a_version_and_later(there, here, tmp_path):
    first, second = signers.key(tmp_path, "first"), signers.key(tmp_path, "second")
    digest = sign(there, "zoo/net", first)
    slug = namespace(here, "signed")
    mirror = add(here, f"{there.address}/zoo/net", slug)
    synced(here, mirror)
    wait_for(lambda: signatures(here, f"{slug}/net"), lambda_text(here, mirror), 60)
    row = signatures(here, f"{slug}/net", Authorization="")[0]
    assert (row["sha256"], row["key"]) == (digest, signers.fingerprint(first))
    address = f"versions/1/signatures/{digest.removeprefix('sha256:')}"
    assert (
        here.call("GET", f"models/{slug}/net/{address}")[2]
        == there.call("GET", f"models/zoo/net/{address}")[2]
    )

    later = sign(there, "zoo/net", second)
    assert synced(here, mirror)["problems"] == []
    assert [row["sha256"] for row in signatures(here, f"{slug}/net")] == [digest, later]
    synced(here, mirror)  # adds nothing a second time
    assert len(signatures(here, f"{slug}/net")) == 2


def test_signatures_of_a_private_model_stay_private(there, here, tmp_path):
    digest = sign(there, "zoo/hidden", signers.key(tmp_path))
    assert there.call("GET", "models/zoo/hidden/signatures", Authorization="")[0] == 404
    slug = namespace(here, "closed")
    mirror = add(here, f"{there.address}/zoo/hidden", slug, token=there.token)
    synced(here, mirror)
    wait_for(lambda: signatures(here, f"{slug}/hidden"), lambda_text(here, mirror), 60)
    assert [row["sha256"] for row in signatures(here, f"{slug}/hidden")] == [digest]
    for path in ("signatures", "versions/1/signatures"):
        place = f"models/{slug}/hidden/{path}"
        assert here.call("GET", place, Authorization="")[0] == 404


def test_a_signature_that_does_not_verify_here_is_refused_and_noted(there, here, tmp_path):
    """The source changes a bundle, and lists a digest that fits."""

    key, other = signers.key(tmp_path), signers.key(tmp_path, "other")
    source = publish(there, "forged", {"model.onnx": samples.unlike_others(samples.mlp())})
    assert source == 1
    sound = signers.bundle(key, signed_files(there, "zoo/forged"))
    foreign = signers.bundle(key, {"model.onnx": "0" * 64})
    rows = []
    place = "/api/v1/models/zoo/forged"
    pages = {}
    for text, signer in ((sound, key), (sound, other), (foreign, key)):
        content = text.replace("\n", " " * (1 + len(pages))).encode() + b"\n" * len(pages)
        sha256 = hashlib.sha256(content).hexdigest()
        public_key = signer.with_suffix(".pub").read_text()
        rows.append({"number": 1, "sha256": f"sha256:{sha256}", "public_key": public_key})
        pages[f"{place}/versions/1/signatures/{sha256}"] = content
    pages[f"{place}/signatures"] = json.dumps({"items": rows, "next": None}).encode()

    class Forger(Source):
        """The source with signatures of its own making."""

        def do_GET(self):  # noqa: N802 - a name of the base
            path = self.path.partition("?")[0]
            if path in pages:
                self._answer(200, pages[path])
                return
            status, _, body = there.call("GET", self.path)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self._answer(status, content)

        def _answer(self, status, content):
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    slug = namespace(here, "forged")
    with serving(Forger) as address:
        mirror = add(here, f"{address}/zoo/forged", slug)
        synced(here, mirror)
        wait_for(lambda: read(here, mirror)["problems"], lambda_text(here, mirror), 60)
        state = read(here, mirror)
        assert [(row["ref"], row["state"]) for row in state["problems"]] == [
            (f"{slug}/forged@1", "stored")
        ]
        problem = state["problems"][0]["problem"]
        for row, reason in (
            (rows[1], signers.fingerprint(other)),
            (rows[2], "does not cover README.md"),
        ):
            assert f"The signature {row['sha256'][:19]}… of the source was refused" in problem
            assert reason in problem
        # The others are there, and the model is not said to have failed.
        assert [row["sha256"] for row in signatures(here, f"{slug}/forged")] == [rows[0]["sha256"]]
        assert state["models"][0]["problem"] == ""
        pages[f"{place}/signatures"] = json.dumps({"items": rows[:1], "next": None}).encode()
        assert synced(here, mirror)["problems"] == []
