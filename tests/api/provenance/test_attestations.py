"""Attestations: what is signed of each kind of result, who verifies it, and who sees it."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.db import IntegrityError, connection, transaction
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1.statement import Statement as InTotoStatement
from securesystemslib.dsse import Envelope as DsseEnvelope
from securesystemslib.signer import SSlibKey

from hub.client import verification
from hub.protocol.transparency import attestations as protocol
from hub.protocol.transparency import proofs
from hub.protocol.transparency.attestations import AttestationProof, Envelope, Statement
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Verifier
from hub.protocol.transparency.records import Record, RecordKind
from registry.provenance import attestations, log
from registry.provenance.models import Attestation, LogLeaf
from registry.versions.results import result_kinds
from registry.versions.services import registered_models, versions
from runners.benchmarks import contributions
from runners.models import Measurement
from tests import evaluated, factories, measured, proven, samples, shared, timed
from tests.api.provenance.readers import Reader, deliver, sign_no_results

pytestmark = [pytest.mark.django_db, pytest.mark.capability("provenance")]
V1, V2 = "models/ada/net/versions/1/attestations", "models/ada/net/versions/2/attestations"


@shared.rows
def start():
    """ada/net with two published versions; the second has a result of each kind."""
    ada = factories.somebody("ada")
    evaluated.stones(ada)
    first = factories.version(ada)
    second = factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=9)})
    proven.conformance(second, [proven.measure("reference")])
    proven.upgrade(second)
    proven.convert(second)
    timed.benchmark(second, 1.5)
    timed.comparison(second, first)
    measured.measure(ada, second, "stones", ("accuracy", 0.9))
    return first, second


@pytest.fixture
def rows(start, db):
    first, second = shared.fresh(start)
    deliver()
    return first, second


def proof_of(client, path=V2):
    return AttestationProof.read(client.get(path).json())


def verified(client, version, path=V2):
    proof = proof_of(client, path)
    head = proofs.verify_head(proof, None).head
    manifest = f"sha256:{version.manifest_sha256}"
    expected = protocol.Expected(version.model.ref, version.number, manifest)
    return list(protocol.verify(proof, head, expected))


def statements(client, path=V2):
    envelopes = [Envelope.parse(row.envelope) for row in proof_of(client, path).attestations]
    return [Statement.decode(envelope.payload) for envelope in envelopes]


def test_every_kind_of_result_is_signed_with_its_figures(api, rows):
    guest = api()
    findings = verified(guest, rows[1])
    assert [finding for finding in findings if not finding.is_verified] == []
    types = {statement.predicate_type.rpartition("#")[2] for statement in statements(guest)}
    assert types == {*(kind.name for kind in result_kinds), protocol.PROVENANCE}
    texts = [finding.text for finding in findings]
    for part in (
        "check onnx, outcome passed",
        "variant default, runtime onnxruntime, runtime_version 1.31.1, check reference, verdict",
        "variant opset26, opset 26, precision",
        "proof_strength certified, certificates 2, changed_nodes 2",
        "metric accuracy, value 0.9",
        f"p50_ms {Measurement.objects.get().p50_ms}",
    ):
        assert any(part in text for text in texts), (part, texts)


def test_the_subject_is_the_manifest_and_the_file_that_a_result_is_about(api, rows):
    _, second = rows
    sha256 = second.files.get(path="model.onnx").blob_id
    of_benchmark = next(
        row for row in statements(api()) if row.result.name.startswith("benchmark/")
    )
    assert of_benchmark.subject == {
        "ada/net@2 (manifest)": second.manifest_sha256, "default": sha256
    }  # fmt: skip
    assert of_benchmark.predicate_type == "http://testserver/docs/attestations#benchmark"


def test_a_derived_variant_leads_to_its_original_and_its_method(api, rows):
    _, second = rows
    sha256 = second.files.get(path="model.onnx").blob_id
    upgraded = second.variants.get(name="opset26")
    (build,) = [
        row for row in statements(api()) if row.is_build and row.result.name == "variant/opset26"
    ]
    assert upgraded.entry.blob_id in build.subject.values()
    definition = build.predicate["buildDefinition"]
    assert definition["buildType"] == "http://testserver/docs/attestations#upgrade"
    assert definition["resolvedDependencies"] == [
        {"name": "model.onnx", "digest": {"sha256": sha256}}
    ]
    assert definition["externalParameters"] == {
        "source": "default", "target": 26, "runtime": "onnxruntime"
    }  # fmt: skip
    builder = build.predicate["runDetails"]["builder"]
    assert builder["version"] == {
        "onnx-hub": "0.1.0", "method": "3", **proven.VERSIONS
    }  # fmt: skip
    assert build.predicate["runDetails"]["metadata"]["invocationId"] == str(upgraded.job_uuid)


def test_the_libraries_of_in_toto_read_what_is_signed(api, rows):
    """The statements by in-toto-attestation, the envelopes by securesystemslib."""
    guest = api()
    key = Verifier.parse(guest.get("/.well-known/model-hub-log-keys").content.decode().strip())
    public = SSlibKey(str(key), "ed25519", "ed25519", {"public": key.key.hex()})
    kinds = set()
    for row in proof_of(guest).attestations:
        digest = f"sha256:{hashlib.sha256(row.envelope.encode()).hexdigest()}"
        answer = guest.get(f"{V2}/{digest}")
        assert answer["Content-Type"] == "application/vnd.dsse.envelope.v1+json"
        assert answer.content.decode() == row.envelope
        envelope = DsseEnvelope.from_dict(json.loads(row.envelope))
        assert set(envelope.verify([public], 1)) == {str(key)}
        statement = json.loads(envelope.payload)
        read = InTotoStatement([], "", {})
        json_format.ParseDict(statement | {"type": statement.pop("_type")}, read.pb)
        read.validate()
        kinds.add(statement["predicateType"].rpartition("#")[2])
        if statement["predicateType"] == protocol.PROVENANCE:
            provenance = provenance_pb2.Provenance()
            json_format.ParseDict(statement["predicate"], provenance)
            assert provenance.build_definition.resolved_dependencies[0].name == "model.onnx"
    assert protocol.PROVENANCE in kinds


def test_the_encoding_is_that_of_the_dsse_specification():
    """Its own example."""
    assert protocol.pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_each_attestation_is_a_record_of_the_log(api, rows):
    leaves = LogLeaf.objects.filter(kind="attestation")
    assert leaves.count() == Attestation.objects.count() > 0
    for row in Attestation.objects.select_related("leaf"):
        record = Record.decode(row.leaf.record)
        assert record.kind is RecordKind.ATTESTATION
        assert record.digest == f"sha256:{hashlib.sha256(row.envelope.encode()).hexdigest()}"
    # They are no part of what every load asks for.
    shown = api().get("models/ada/net/versions/2/log").json()["records"]
    assert {json.loads(row["record"])["kind"] for row in shown} == {
        "version.published", "variant.added"
    }  # fmt: skip


def test_a_result_is_signed_once_and_a_new_one_too(api, rows):
    _, second = rows
    before = Attestation.objects.count()
    attestations.sign(second)
    assert Attestation.objects.count() == before
    timed.benchmark(second, 2.5)
    assert Attestation.objects.count() == before + 1
    newest = f"p50_ms {Measurement.objects.first().p50_ms}"
    assert any(newest in finding.text for finding in verified(api(), second))


def test_a_figure_that_was_measured_again_replaces_the_one_of_before(api, rows, ada):
    _, second = rows
    measured.measure(ada, second, "stones", ("accuracy", 0.8))
    findings = [row for row in verified(api(), second) if "metric accuracy" in row.text]
    assert [row.is_verified for row in findings] == [True]
    assert "value 0.8" in findings[0].text


def test_a_removed_result_is_signed_as_removed(api, rows, ada, bob):
    _, second = rows
    text = json.dumps(timed.contributed(second, bob, 2.0))
    timed.recomputed(contributions.contribute(bob, version=second, text=text))
    row = Measurement.objects.get(origin="contributed")
    assert any(f"benchmark/{row.pk}, " in finding.text for finding in verified(api(), second))
    contributions.remove(bob, version=second, row=row)
    assert api().get(V2).status_code == 503
    deliver()
    (finding,) = [item for item in verified(api(), second) if f"benchmark/{row.pk}, " in item.text]
    assert finding.is_verified
    assert "the hub removed this result" in finding.text


def test_results_of_before_the_attestations_are_signed_by_the_hourly_task(api, ada, rows):
    with pytest.MonkeyPatch.context() as patched:
        sign_no_results(patched)
        third = factories.version(ada, rows[0].model, {"model.onnx": samples.mlp(hidden=11)})
        deliver()
    path = "models/ada/net/versions/3/attestations"
    assert "was never signed" in verified(api(), third, path)[0].text
    assert attestations.sign_missing() > 0
    assert all(finding.is_verified for finding in verified(api(), third, path))
    assert attestations.sign_missing() == 0


def test_drafts_and_refused_versions_are_not_signed(ada, rows):
    before = Attestation.objects.count()
    draft = factories.submitted(ada, rows[0].model, {"model.onnx": samples.mlp(hidden=12)})
    deliver()
    assert attestations.sign(draft) == 0
    assert Attestation.objects.count() == before


def test_private_attestations_are_seen_by_members_alone(api, ada, bob, rows):
    registered_models.edit(ada, model=rows[0].model, visibility="private")
    digest = f"sha256:{Attestation.objects.filter(number=2).first().digest}"
    for other in (api(), api(bob)):
        assert other.get(V2).status_code == 404
        assert other.get(f"{V2}/{digest}").status_code == 404
        opened = other.get("log/records?limit=100").json()["items"]
        assert {json.loads(row["record"])["kind"] for row in opened} == {"key"}
    assert all(finding.is_verified for finding in verified(api(ada), rows[1]))


def test_an_attestation_is_found_at_its_own_version_alone(api, rows):
    digest = f"sha256:{Attestation.objects.filter(number=2).first().digest}"
    assert api().get(f"{V2}/{digest}").status_code == 200
    assert api().get(f"{V1}/{digest}").status_code == 404
    assert api().get(f"{V1}/sha256:{'0' * 64}").status_code == 404
    assert api().get(f"{V1}/nonsense").status_code == 400


def test_keys_are_followed_and_revoked_ones_sign_nothing_more(api, rows):
    guest, (_, second) = api(), rows
    log.rotate_key()
    timed.benchmark(second, 2.5)
    assert all(finding.is_verified for finding in verified(guest, second))
    names = {json.loads(row.envelope)["signatures"][0]["keyid"]
             for row in proof_of(guest).attestations}  # fmt: skip
    assert len(names) == 2
    old = log.state().signer()
    log.rotate_key()
    log.revoke_key(old.verifier, "lost")
    assert all(finding.is_verified for finding in verified(guest, second))
    # What is signed with the revoked key and recorded after that is not believed.
    row = Attestation.objects.filter(number=2).last()
    statement = Statement.decode(Envelope.parse(row.envelope).payload)
    statement.predicate["facts"]["p50_ms"] = 0.5
    forged = protocol.seal(statement, old)
    digest = hashlib.sha256(forged.encode()).hexdigest()
    log.append([
        log.Entry(
            Record(RecordKind.ATTESTATION, "2026-11-28T12:00:00+00:00", "ada/net", 2,
                   f"sha256:{digest}", statement.predicate_type),
            second.model_id,
        )
    ])  # fmt: skip
    leaf = LogLeaf.objects.order_by("position").last()
    Attestation.objects.create(
        leaf=leaf, model=second.model, number=2, name=row.name, run="another",
        predicate_type=statement.predicate_type, digest=digest, envelope=forged,
    )  # fmt: skip
    assert "None of the keys that the log had then signed the envelope." in [
        finding.text for finding in verified(guest, second) if not finding.is_verified
    ]


@pytest.mark.parametrize(
    "change", ["UPDATE provenance_attestation SET name = 'x'", "DELETE FROM provenance_attestation"]
)
def test_attestations_are_append_only(rows, change):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


def test_a_withdrawn_version_keeps_what_was_signed_of_it(rows, ada, tmp_path):
    _, second = rows
    reader = Reader(tmp_path / "cache")
    versions.withdraw(ada, version=second, reason="a secret in it")
    deliver()
    proof = AttestationProof.read(reader.hub.reads.request("GET", f"/api/v1/{V2}").json())
    expected = protocol.Expected(
        "ada/net", 2, f"sha256:{second.manifest_sha256}", is_withdrawn=True
    )
    findings = list(protocol.verify(proof, proofs.verify_head(proof, None).head, expected))
    assert all(finding.is_verified for finding in findings), findings
    assert any("withdrawn with the version" in finding.text for finding in findings)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"payload": 1}', "[" * 100_000])
def test_malformed_envelopes_are_refused_with_the_reason(content):
    with pytest.raises(ProofError, match="The envelope is malformed"):
        Envelope.parse(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"_type": "x"}',
        b'{"_type": "https://in-toto.io/Statement/v1"}',
        b"[" * 100_000,
    ],
)
def test_malformed_statements_are_refused_with_the_reason(content):
    with pytest.raises(ProofError, match="The statement is malformed"):
        Statement.decode(content)


def test_hub_verify_prints_a_line_for_each_attestation(rows, tmp_path):
    reader = Reader(tmp_path / "cache")
    results, bundle = verification.verify(reader.hub, "ada/net@2")
    lines = [result for result in results if result.subject == "attestation"]
    assert len(lines) == Attestation.objects.filter(number=2).count()
    assert all(result.is_verified for result in results), results
    reader.hub.transport = reader.hub.reads = None
    again = verification.verify_bundle(reader.hub, json.loads(json.dumps(bundle)))
    assert [row for row in again if row.subject == "attestation"] == lines
    bundle["attestations"]["results"] = []
    changed = verification.verify_bundle(reader.hub, json.loads(json.dumps(bundle)))
    assert {row.is_verified for row in changed if row.subject == "attestation"} == {False}
