"""Signatures without a key: by an identity that a Sigstore instance certifies for some minutes."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from hub.client import signature_uploads, signatures
from hub.client.signing import SigningKey
from hub.protocol import problems
from registry.provenance.signature_models import VersionSignature
from tests import factories, signers
from tests.api.provenance.readers import SIGNATURES, SIGNERS, Reader
from tests.fulcio import ISSUER, Sigstore, identity_token

pytestmark = [pytest.mark.django_db, pytest.mark.capability("provenance")]
CI = "https://ci.example.org"


@pytest.fixture
def instance(tmp_path, settings):
    """The Sigstore instance that the hub trusts."""
    made = Sigstore(tmp_path)
    settings.HUB_SIGSTORE_ROOT = made.path
    return made


def add(api, version, bundle):
    return api(version.created_by).post(SIGNATURES, {"bundle": bundle})


def test_an_identity_signs_and_is_shown_with_its_issuer(
    version, files, instance, api, tmp_path, graphs
):
    answer = add(api, version, instance.sign(files, folder=tmp_path))
    assert answer.status_code == 201, answer.json()
    row = answer.json()
    assert (row["kind"], row["names"], row["identity_issuer"], row["counts"]) == (
        "identity", [signers.MAIL], ISSUER, False,
    )  # fmt: skip
    assert row["signed_by"] == f"{signers.MAIL} (identity of {ISSUER})"
    page = Client().get("/models/ada/net/v/1/provenance")
    assert f"identity of {ISSUER}" in page.content.decode()


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"name": signers.MAIL, "identity_issuer": ISSUER}, True),
        ({"name": "eve@example.org", "identity_issuer": ISSUER}, False),
        ({"name": signers.MAIL, "identity_issuer": CI}, False),
    ],
)
def test_an_identity_counts_with_its_issuer_alone(
    version, files, instance, api, tmp_path, fields, counts
):
    add(api, version, instance.sign(files, folder=tmp_path))
    answer = api(version.created_by).post(SIGNERS, {"title": "Ada", **fields})
    assert answer.status_code == 201, answer.json()
    assert answer.json()["sentence"] == f"{fields['name']}, identity of {fields['identity_issuer']}"
    assert api().get(SIGNATURES).json()["items"][0]["counts"] is counts


def test_the_authority_of_an_instance_vouches_for_no_identity(
    version, files, instance, api, tmp_path
):
    """An authority certifies identities of several issuers."""
    now = datetime.now(UTC)
    add(api, version, instance.sign(files, folder=tmp_path, at=now - timedelta(minutes=2)))
    pem = signers._pem(instance.certificate).decode()
    fields = {"title": "Ada", "authorities": pem, "name": signers.MAIL}
    assert api(version.created_by).post(SIGNERS, fields).status_code == 201
    assert api().get(SIGNATURES).json()["items"][0]["counts"] is False


def test_an_identity_needs_a_name_and_nothing_else(version, api, tmp_path):
    key = signers.key(tmp_path).with_suffix(".pub").read_text()
    for fields in (
        {"identity_issuer": ISSUER},
        {"identity_issuer": ISSUER, "name": signers.MAIL, "public_key": key},
    ):
        answer = api(version.created_by).post(SIGNERS, {"title": "Ada", **fields})
        assert answer.status_code == 400


def test_without_a_trust_root_it_is_refused(version, files, api, tmp_path, settings):
    settings.HUB_SIGSTORE_ROOT = None
    answer = add(api, version, Sigstore(tmp_path).sign(files, folder=tmp_path))
    assert answer.status_code == 422
    assert "no Sigstore instance is trusted here" in answer.json()["detail"]


def _other_certificate(instance, files, folder):
    return Sigstore(folder, "other").sign(files, folder=folder, logged_by=instance)


def _other_log(instance, files, folder):
    return instance.sign(files, folder=folder, logged_by=Sigstore(folder, "other"))


def _late(instance, files, folder):
    at = datetime.now(UTC) - timedelta(days=1)
    return instance.sign(files, folder=folder, at=at, logged_at=at + timedelta(hours=1))


def _without_time(instance, files, folder):
    return instance.sign(files, folder=folder, has_time=False)


def _other_time(instance, files, folder):
    """The log vouched for a time after the certificate expired; the bundle states another."""
    at = datetime.now(UTC) - timedelta(days=1)
    text = instance.sign(files, folder=folder, at=at, logged_at=at + timedelta(hours=1))
    bundle = json.loads(text)
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    entry["integratedTime"] = str(int(at.timestamp()) + 60)
    return json.dumps(bundle)


def _other_identity(instance, files, folder):
    """The certificate of another signature."""
    bundle = json.loads(instance.sign(files, folder=folder))
    other = json.loads(instance.sign(files, "eve@example.org", folder=folder))
    bundle["verificationMaterial"]["certificate"] = other["verificationMaterial"]["certificate"]
    return json.dumps(bundle)


def _other_payload(instance, files, folder):
    bundle = json.loads(instance.sign({**files, "model.onnx": "0" * 64}, folder=folder))
    sound = json.loads(instance.sign(files, folder=folder))
    bundle["dsseEnvelope"]["payload"] = sound["dsseEnvelope"]["payload"]
    return json.dumps(bundle)


def _other_file(instance, files, folder):
    return instance.sign({**files, "model.onnx": "0" * 64}, folder=folder)


def _no_entry(instance, files, folder):
    bundle = json.loads(instance.sign(files, folder=folder))
    del bundle["verificationMaterial"]["tlogEntries"]
    return json.dumps(bundle)


def _damaged_certificate(instance, files, folder):
    bundle = json.loads(instance.sign(files, folder=folder))
    text = base64.b64encode(b"no certificate").decode()
    bundle["verificationMaterial"]["certificate"]["rawBytes"] = text
    return json.dumps(bundle)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_other_certificate, "failed to build timestamp certificate chain"),
        (_other_log, "checkpoint"),
        (_late, "valid at"),
        (_without_time, "must contain an inclusion promise or signed timestamp"),
        (_other_time, "inclusion promise"),
        (_other_identity, "was not made by the key"),
        (_other_payload, "was not made by the key"),
        (_other_file, "other bytes of model.onnx"),
        (_no_entry, "does not verify"),
        (_damaged_certificate, "certificate in the bundle cannot be read"),
    ],
)
def test_what_does_not_verify_is_refused_with_its_fault(
    version, files, instance, api, tmp_path, make, words
):
    answer = add(api, version, make(instance, files, tmp_path))
    assert answer.status_code == 422, answer.json()
    assert words in answer.json()["detail"]
    assert not VersionSignature.objects.exists()


def test_a_reader_demands_an_identity(version, files, instance, api, tmp_path, monkeypatch):
    add(api, version, instance.sign(files, folder=tmp_path))
    meant = f"{signers.MAIL} via {ISSUER}"
    without = Reader(tmp_path / "without").hub
    with pytest.raises(problems.SignatureMissing, match="no Sigstore instance is trusted here"):
        without.load("ada/net@1", signed_by=meant)
    monkeypatch.setenv("HUB_SIGSTORE_ROOT", str(instance.path))
    reader = Reader(tmp_path / "reader").hub
    reader.load("ada/net@1", signed_by=meant)
    for other in (f"eve@example.org via {ISSUER}", f"{signers.MAIL} via {CI}"):
        with pytest.raises(problems.SignatureMissing, match="it is another identity"):
            reader.load("ada/net@1", signed_by=other)
    (trusted,) = signatures.trusted([meant], None)
    assert str(trusted) == f"{signers.MAIL}, identity of {ISSUER}"


def test_a_client_signs_by_its_identity(version, instance, tmp_path, monkeypatch):
    publisher = Reader(tmp_path / "ada", token=factories.token(version.created_by)).hub
    trust = tmp_path / "trust.json"
    monkeypatch.setenv("HUB_SIGSTORE_CONFIG", str(trust))
    monkeypatch.setenv("SIGSTORE_ID_TOKEN", identity_token())
    with instance.serving() as address:
        trust.write_text(json.dumps(instance.client_trust(address)))
        row = signature_uploads.sign(publisher, "ada/net@1", key="keyless")
    assert (row["kind"], row["names"], row["identity_issuer"]) == (
        "identity", [signers.MAIL], ISSUER,
    )  # fmt: skip
    assert VersionSignature.objects.get().identity_issuer == ISSUER


def test_a_client_that_no_instance_certifies_says_so(instance, tmp_path, monkeypatch):
    trust = tmp_path / "trust.json"
    trust.write_text(json.dumps(instance.client_trust()))
    monkeypatch.setenv("HUB_SIGSTORE_CONFIG", str(trust))
    monkeypatch.setenv("SIGSTORE_ID_TOKEN", "no token")
    with pytest.raises(problems.InvalidRequest, match="The Sigstore instance did not sign"):
        SigningKey("keyless").sign({"model.onnx": "0" * 64}, "ada/net")


def test_an_unreadable_trust_root_is_named(version, files, instance, api, tmp_path):
    instance.path.write_text("{}")
    answer = add(api, version, instance.sign(files, folder=tmp_path))
    assert answer.status_code == 422
    assert "HUB_SIGSTORE_ROOT" in answer.json()["detail"]


def test_the_command_line_of_model_signing_verifies_the_same_bundle(instance, tmp_path):
    """So that the bundles of these tests are those that the services make."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"model")
    files = signers.digests_in(folder)
    bundle = tmp_path / "model.sig"
    bundle.write_text(instance.sign(files, folder=tmp_path))
    trust = tmp_path / "trust.json"
    trust.write_text(json.dumps(instance.client_trust()))
    arguments = (
        "verify", "sigstore", folder, "--signature", bundle, "--identity", signers.MAIL,
        "--identity_provider", ISSUER, "--trust_config", trust,
    )  # fmt: skip
    ended = signers.model_signing(*arguments)
    assert ended.returncode == 0, ended.stdout + ended.stderr
