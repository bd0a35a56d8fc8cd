"""Signatures of publishers: what is accepted, whose count, and what readers demand."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import IntegrityError, transaction

from hub.client import signature_uploads, verification
from hub.client.signing import SigningKey
from hub.protocol import problems
from registry.people.services import namespaces
from registry.provenance.signature_models import NamespaceSigner, VersionSignature
from registry.versions.services import registered_models, versions
from tests import factories, samples, signers
from tests.api.provenance.readers import SIGNATURES, SIGNERS, Reader, deliver, steal

pytestmark = [pytest.mark.django_db, pytest.mark.capability("provenance")]


@pytest.fixture
def key(tmp_path):
    return signers.key(tmp_path)


@pytest.fixture
def ada(version, tmp_path):
    """The publisher, with a client."""
    made = Reader(tmp_path / "ada", token=factories.token(version.created_by))
    return made.hub


@pytest.fixture
def reader(version, tmp_path):
    """Somebody who loads, without an account."""
    return Reader(tmp_path / "reader").hub


def add(api, ada, bundle, public_key=""):
    content = {"bundle": bundle, "public_key": public_key}
    return api(ada).post(SIGNATURES, content)


def declare(api, user, **fields):
    return api(user).post(SIGNERS, {"title": "Release key", **fields})


def changed(bundle, change):
    """A bundle with something else in its JSON."""
    document = json.loads(bundle)
    change(document)
    return json.dumps(document)


def test_a_signature_is_added_once_and_counts_while_its_key_is_declared(
    version, files, key, api, ada
):
    row = signature_uploads.sign(ada, "ada/net@1", key=key)
    assert (row["key"], row["kind"], row["counts"]) == (signers.fingerprint(key), "key", False)
    assert signature_uploads.sign(ada, "ada/net@1", key=key)["sha256"] == row["sha256"]
    assert VersionSignature.objects.count() == 1

    user = version.created_by
    public_key = key.with_suffix(".pub").read_text()
    signer = declare(api, user, public_key=public_key)
    assert (signer.status_code, signer.json()["key"]) == (201, row["key"])
    assert declare(api, user, public_key=public_key).status_code == 200
    [listed] = api().get(SIGNATURES).json()["items"]
    assert (listed["counts"], listed["declared_as"]) == (True, "Release key")

    assert api(user).delete(f"{SIGNERS}/{signer.json()['id']}").status_code == 204
    assert api().get(SIGNATURES).json()["items"][0]["counts"] is False


def test_model_signing_verifies_ours_and_we_accept_its_own(version, files, key, api, ada, tmp_path):
    folder = ada.download("ada/net@1", to=tmp_path / "net")
    signature_uploads.sign(ada, "ada/net@1", key=key)
    ours = tmp_path / "ours.sig"
    sha256 = api().get(SIGNATURES).json()["items"][0]["sha256"].removeprefix("sha256:")
    ours.write_bytes(api().get(f"{SIGNATURES}/{sha256}").content)
    public_key = key.with_suffix(".pub")
    arguments = ("verify", "key", folder, "--signature", ours, "--public_key", public_key)
    assert signers.model_signing(*arguments).returncode == 0

    other, theirs = signers.key(tmp_path, "other", ec.SECP384R1()), tmp_path / "theirs.sig"
    made = signers.model_signing(
        "sign", "key", folder, "--signature", theirs, "--private_key", other
    )
    assert made.returncode == 0, made.stderr
    row = signature_uploads.sign(
        ada, "ada/net@1", bundle=theirs, public_key=other.with_suffix(".pub")
    )
    assert row["key"] == signers.fingerprint(other)

    (folder / "labels.txt").write_text("dog\ncat\n")
    assert signers.model_signing(*arguments).returncode == 1


def test_certificates_count_by_the_authority_that_vouches_for_their_names(
    version, files, key, api, tmp_path
):
    authority, stranger = signers.Authority(tmp_path), signers.Authority(tmp_path, "Stranger CA")
    user = version.created_by
    text = signers.bundle(key, files, authority)
    row = add(api, user, text).json()
    assert (row["kind"], row["names"]) == ("certificate", [signers.MAIL, "CN=Zoo"])
    assert row["issuer"] == "CN=Example CA"

    def counts(**fields):
        NamespaceSigner.objects.all().delete()
        assert declare(api, user, **fields).status_code == 201
        return api().get(SIGNATURES).json()["items"][0]["counts"]

    assert counts(authorities=authority.path.read_text())
    assert counts(authorities=authority.path.read_text(), name=signers.MAIL)
    assert counts(public_key=key.with_suffix(".pub").read_text())
    assert not counts(authorities=authority.path.read_text(), name="ada@example.org")
    assert not counts(authorities=stranger.path.read_text(), name=signers.MAIL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: files | {"labels.txt": "0" * 64}, "other bytes of labels.txt"),
        (lambda files: {"model.onnx": files["model.onnx"]}, "does not cover README.md, labels.txt"),
        (lambda files: files | {"extra": "0" * 64}, "also signs extra"),
    ],
)
def test_a_signature_is_over_exactly_the_files_of_the_version(
    version, files, key, api, change, words
):
    public_key = key.with_suffix(".pub").read_text()
    answer = add(api, version.created_by, signers.bundle(key, change(files)), public_key)
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (
        422,
        "signature-invalid",
    )
    assert words in answer.json()["detail"]
    assert not VersionSignature.objects.exists()


def _payload(document, change):
    envelope = document["dsseEnvelope"]
    payload = json.loads(base64.b64decode(envelope["payload"]))
    change(payload)
    envelope["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()


def _twice(document):
    document["dsseEnvelope"]["signatures"] *= 2


def _keyless(document):
    document["verificationMaterial"] = {"certificate": {"rawBytes": ""}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: _payload(row, lambda body: body["predicate"].update(more=1)), "was changed"),
        (
            lambda row: _payload(row, lambda body: body["subject"][0]["digest"].update(sha256="")),
            "digest of its subject",
        ),
        (
            lambda row: _payload(
                row, lambda body: body["predicate"]["serialization"].update(method="shards")
            ),
            "shards of files",
        ),
        (lambda row: row.update(mediaType="text/plain"), "mediaType"),
        (lambda row: row["dsseEnvelope"].update(payload="%"), "no base64"),
        (lambda row: row["dsseEnvelope"].update(payloadType="text/plain"), "payloadType"),
        (lambda row: row["verificationMaterial"].update(publicKey=7), "publicKey"),
        (_twice, "2 signatures"),
        (_keyless, "Fulcio"),
    ],
)
def test_what_is_no_signature_is_refused_with_its_fault(version, files, key, api, change, words):
    public_key = key.with_suffix(".pub").read_text()
    text = changed(signers.bundle(key, files), change)
    answer = add(api, version.created_by, text, public_key)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert not VersionSignature.objects.exists()


def test_texts_of_strangers_are_bounded(version, api):
    for text in ("[" * 100_000, "{}", '{"mediaType": ' + "9" * 5000 + "}", "\x00"):
        assert add(api, version.created_by, text).status_code in {400, 422}


def test_keys_and_certificates_that_cannot_sign_are_refused(version, files, key, api, tmp_path):
    authority, user = signers.Authority(tmp_path), version.created_by
    other = signers.key(tmp_path, "other")
    text = signers.bundle(key, files)
    assert "does not hold the key" in add(api, user, text).json()["detail"]
    wrong = add(api, user, text, other.with_suffix(".pub").read_text())
    assert signers.fingerprint(other) in wrong.json()["detail"]
    foreign = signers.key(tmp_path, "foreign", ec.SECP256K1())
    unknown = add(api, user, text, foreign.with_suffix(".pub").read_text())
    assert "no public key" in unknown.json()["detail"]

    expired = signers.bundle(key, files, authority, days=-1)
    assert "is valid from" in add(api, user, expired).json()["detail"]
    silent = signers.bundle(key, files, authority, signs=False)
    assert "may not sign" in add(api, user, silent).json()["detail"]
    assert not VersionSignature.objects.exists()


def test_who_may_sign_and_declare(version, files, key, api, bob):
    text, public_key = signers.bundle(key, files), key.with_suffix(".pub").read_text()
    assert add(api, bob, text, public_key).status_code == 403
    assert api().post(SIGNATURES, {"bundle": text}).status_code == 401
    assert declare(api, bob, public_key=public_key).status_code == 404
    assert api(bob).get(SIGNERS).status_code == 404
    namespaces.assign(None, namespace=version.model.namespace, user=bob, role="maintainer")
    assert declare(api, bob, public_key=public_key).status_code == 403
    assert add(api, bob, text, public_key).status_code == 201
    assert not NamespaceSigner.objects.exists()


def test_a_signer_is_a_key_or_authorities(version, key, api, tmp_path):
    user, public_key = version.created_by, key.with_suffix(".pub").read_text()
    authorities = signers.Authority(tmp_path).path.read_text()
    for fields in (
        {},
        {"name": signers.MAIL},
        {"public_key": public_key, "authorities": authorities},
        {"public_key": public_key, "name": signers.MAIL},
        {"public_key": authorities},
        {"authorities": public_key},
        {"public_key": key.read_text()},
    ):
        assert declare(api, user, **fields).status_code == 400, fields
    assert not NamespaceSigner.objects.exists()


def test_drafts_and_withdrawn_versions_are_not_signed(version, files, key, api):
    user, public_key = version.created_by, key.with_suffix(".pub").read_text()
    text = signers.bundle(key, files)
    assert add(api, user, text, public_key).status_code == 201
    versions.withdraw(user, version=version, reason="wrong labels")
    other = signers.bundle(key, files)
    assert add(api, user, other, public_key).status_code == 409
    assert len(api().get(SIGNATURES).json()["items"]) == 1


def test_private_signatures_are_for_members(version, files, key, api, bob):
    user, public_key = version.created_by, key.with_suffix(".pub").read_text()
    sha256 = add(api, user, signers.bundle(key, files), public_key).json()["sha256"]
    address = f"{SIGNATURES}/{sha256.removeprefix('sha256:')}"
    registered_models.edit(user, model=version.model, visibility="private")
    for path in (SIGNATURES, address):
        assert api().get(path).status_code == api(bob).get(path).status_code == 404
        assert api(user).get(path).status_code == 200


def test_nobody_changes_or_deletes_a_signature(version, files, key, api):
    add(api, version.created_by, signers.bundle(key, files), key.with_suffix(".pub").read_text())
    rows = VersionSignature.objects.all()
    for change in (lambda: rows.update(key="sha256:" + "0" * 64), rows.delete):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            change()


def test_readers_demand_a_signer(version, key, ada, reader, tmp_path):
    other = signers.key(tmp_path, "other")
    mine, theirs = signers.fingerprint(key), signers.fingerprint(other)
    with pytest.raises(problems.SignatureMissing, match="it has no signature"):
        reader.load("ada/net@1", signed_by=mine)
    signature_uploads.sign(ada, "ada/net@1", key=key)
    for signed_by in (mine, str(key.with_suffix(".pub")), [theirs, mine], f"{theirs};{mine}"):
        assert reader.load("ada/net@1", signed_by=signed_by).graph.node
    with pytest.raises(problems.SignatureMissing) as refusal:
        reader.load("ada/net@1", signed_by=theirs)
    assert f"not signed by the key {theirs}: it is signed by the key {mine}" in str(refusal.value)
    with pytest.raises(problems.InvalidRequest, match="No signer is named"):
        reader.load("ada/net@1", signed_by=[])
    with pytest.raises(problems.InvalidRequest, match="HUB_SIGNATURE_AUTHORITIES"):
        reader.load("ada/net@1", signed_by=signers.MAIL)


def test_names_in_certificates_are_demanded_with_their_authorities(
    version, files, key, api, tmp_path, monkeypatch
):
    authority, stranger = signers.Authority(tmp_path), signers.Authority(tmp_path, "Stranger CA")
    add(api, version.created_by, signers.bundle(key, files, authority))
    monkeypatch.setenv("HUB_SIGNATURE_AUTHORITIES", str(authority.path))
    reader = Reader(tmp_path / "reader").hub
    assert reader.resolve("ada/net@1", signed_by=signers.MAIL)
    assert reader.resolve("ada/net@1", signed_by=str(authority.path))
    with pytest.raises(problems.SignatureMissing, match=r"its certificate names zoo@example\.org"):
        reader.resolve("ada/net@1", signed_by="ada@example.org")
    with pytest.raises(problems.SignatureMissing, match="does not lead to the authority"):
        reader.resolve("ada/net@1", signed_by=str(stranger.path))


def test_settings_demand_a_signature_of_all_that_is_loaded(
    version, key, ada, tmp_path, monkeypatch
):
    monkeypatch.setenv("HUB_REQUIRE_SIGNATURE", signers.fingerprint(key))
    reader = Reader(tmp_path / "reader").hub
    for read in (reader.load, reader.download, reader.fetch):
        with pytest.raises(problems.SignatureMissing):
            read("ada/net")
    signature_uploads.sign(ada, "ada/net@1", key=key)
    assert reader.download("ada/net").is_dir()

    offline = Reader(tmp_path / "reader", offline=True).hub
    assert offline.load("ada/net").graph.node
    with pytest.raises(problems.SignatureMissing):
        offline.load("ada/net", signed_by="sha256:" + "0" * 64)


def test_a_reader_believes_bundles_and_not_the_hub(version, key, ada, reader, tmp_path):
    signature_uploads.sign(ada, "ada/net@1", key=key)
    forged = signers.key(tmp_path, "forged")
    wanted = signers.fingerprint(forged)
    public_key = forged.with_suffix(".pub").read_text()
    steal("UPDATE provenance_versionsignature SET key = %s, public_key = %s", wanted, public_key)
    with pytest.raises(problems.SignatureMissing, match="a bundle is no signature"):
        reader.load("ada/net@1", signed_by=wanted)

    steal("DELETE FROM provenance_versionsignature")
    other = signers.bundle(forged, {"model.onnx": "0" * 64})
    row = {"sha256": "0" * 64, "bundle": other, "public_key": public_key, "declared_as": "Ada"}
    resolved = reader.resolve("ada/net@1")
    path = reader.cache.signatures_path(resolved.manifest)
    reader.cache.write_json(path, {"signatures": [row]})
    offline = Reader(tmp_path / "reader", offline=True).hub
    with pytest.raises(problems.SignatureMissing, match=r"it does not cover README\.md"):
        offline.resolve("ada/net@1", signed_by=wanted)


def test_verify_prints_a_line_for_each_signature(version, key, ada, api, reader):
    signature_uploads.sign(ada, "ada/net@1", key=key)
    declare(api, version.created_by, public_key=key.with_suffix(".pub").read_text())
    results, bundle = verification.verify(reader, "ada/net@1")
    [line] = [row for row in results if row.subject == "signature"]
    assert line.is_verified
    assert line.text == (
        f"the key {signers.fingerprint(key)} signed the 3 files; by the hub's word, ada declares "
        "the signer as 'Release key'."
    )
    bundle = json.loads(json.dumps(bundle))
    assert line in verification.verify_bundle(reader, bundle)
    bundle["signatures"][0]["bundle"] = signers.bundle(key, {"model.onnx": "0" * 64})
    lines = verification.verify_bundle(reader, bundle)
    [line] = [row for row in lines if row.subject == "signature"]
    assert not line.is_verified


def test_files_of_the_publisher_are_compared_before_they_sign(version, key, ada, tmp_path):
    folder = ada.download("ada/net@1", to=tmp_path / "net")
    assert signature_uploads.sign(ada, "ada/net@1", folder, key=key)["key"]
    (folder / "labels.txt").write_text("dog\ncat\n")
    with pytest.raises(problems.InvalidRequest, match=r"other files than these: labels\.txt"):
        signature_uploads.sign(ada, "ada/net@1", folder, key=key)
    with pytest.raises(problems.InvalidReference, match="ada/net@1"):
        signature_uploads.sign(ada, "ada/net@1:original", key=key)
    with pytest.raises(problems.InvalidRequest, match="cannot be used to sign"):
        SigningKey(str(key.with_suffix(".pub"))).sign({}, "ada/net")


def test_graph_and_exports_show_signatures_and_whether_they_count(
    version, files, key, api, client, graphs
):
    user, public_key = version.created_by, key.with_suffix(".pub").read_text()
    fingerprint = signers.fingerprint(key)

    def exported(name):
        return json.loads(client.get(f"/models/ada/net/v/1/export/{name}").content)

    def references():
        component = exported("cyclonedx.json")["metadata"]["component"]
        rows = component["externalReferences"]
        return [row["comment"] for row in rows if row["type"] == "digital-signature"]

    assert references() == []
    sha256 = add(api, user, signers.bundle(key, files), public_key).json()["sha256"]
    deliver()
    [words] = references()
    assert fingerprint in words
    assert "does not count" in words
    declare(api, user, public_key=public_key)
    deliver()
    [words] = references()
    assert "counts: declared by the namespace" in words
    package = next(row for row in exported("spdx.json")["@graph"] if row["type"] == "ai_AIPackage")
    [reference] = package["externalRef"]
    assert reference["locator"][0].endswith(f"/signatures/{sha256.removeprefix('sha256:')}")
    turtle = client.get("/models/ada/net/v/1", headers={"Accept": "text/turtle"}).content.decode()
    assert "sec:proof" in turtle


def test_pages_show_signatures_and_owners_declare_signers(
    version, files, key, api, client, bob, graphs
):
    user, public_key = version.created_by, key.with_suffix(".pub").read_text()
    page = "/models/ada/net/v/1/provenance"
    assert "No signatures." in client.get(page).content.decode()
    add(api, user, signers.bundle(key, files), public_key)
    assert "signer not declared" in client.get(page).content.decode()
    assert client.get("/account/namespaces/ada/signers").status_code == 302

    client.force_login(bob)
    assert client.get("/account/namespaces/ada/signers").status_code == 404
    client.force_login(user)
    refused = client.post("/account/namespaces/ada/signers", {"title": "Release key"})
    assert (refused.status_code, "Give a public key, or" in refused.content.decode()) == (
        422,
        True,
    )
    fields = {"title": "Release key", "public_key": public_key}
    assert client.post("/account/namespaces/ada/signers", fields).status_code == 302
    assert "as Release key" in client.get(page).content.decode()
    [row] = NamespaceSigner.objects.all()
    remove = f"/account/namespaces/ada/signers/{row.pk}/remove"
    assert "Remove Release key?" in client.get(remove).content.decode()
    assert client.post(remove).status_code == 302
    assert not NamespaceSigner.objects.exists()


def test_a_push_signs_what_it_published_and_the_same_push_what_was_left_unsigned(
    version, key, ada, reader
):
    content = {"model.onnx": samples.mlp(), "labels.txt": b"cat\ndog\n"}

    def push(**options):
        return ada.push(content, name="ada/net", card=factories.CARD, sign=key, **options)

    for options in ({"wait": False}, {"publish": False}):
        with pytest.raises(problems.InvalidRequest, match="signed once it is published"):
            push(**options)
    assert not VersionSignature.objects.exists()
    for _ in range(2):
        assert push(progress=False)["number"] == 1
    assert VersionSignature.objects.count() == 1
    assert reader.resolve("ada/net@1", signed_by=signers.fingerprint(key))
