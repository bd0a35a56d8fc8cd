"""A thief with full rights on database and disk: what was rewritten is found, and named."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from django.core.management import CommandError, call_command

from hub.client import verification
from hub.protocol import problems
from hub.protocol.transparency.attestations import Envelope, Statement
from registry.provenance import attestations, log
from registry.provenance.models import Attestation, LogLeaf
from registry.provenance.tree import StoredTree
from registry.storage.files import store
from registry.versions import history
from registry.versions.services import refs, versions
from runners.models import ConformanceResult, Measurement
from tests import factories, proven, samples, shared, timed
from tests.api.provenance.readers import Reader, deliver, steal

pytestmark = [pytest.mark.django_db, pytest.mark.capability("provenance")]


@shared.rows
def start():
    """ada/net with two published versions, the first with a tag, the second with results."""
    ada = factories.somebody("ada")
    first = factories.version(ada)
    second = factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=9)})
    refs.put_tag(ada, model=first.model, name="v1.0", head=history.Head(first.commit_id, first))
    proven.conformance(second, [proven.measure("reference")])
    proven.upgrade(second)
    timed.benchmark(second, 1.5)
    return first, second


@pytest.fixture
def rows(start, db, settings, tmp_path):
    first, second = shared.fresh(start)
    deliver()
    return first, second


@pytest.fixture
def reader(rows, tmp_path):
    """Somebody who has a head of the log."""
    made = Reader(tmp_path / "cache")
    made.resolve("ada/net")
    return made


def refused(reader, ref):
    with pytest.raises(problems.RecordMismatch) as refusal:
        reader.resolve(ref)
    return str(refusal.value)


def test_nothing_is_refused_where_nothing_was_stolen(reader):
    for ref, number in (("ada/net", 2), ("ada/net@1", 1), ("ada/net@v1.0", 1)):
        assert reader.resolve(ref).number == number


def test_the_digest_of_a_version(reader, rows):
    _, second = rows
    steal("UPDATE registry_version SET manifest_sha256 = %s WHERE id = %s", "0" * 64, second.pk)
    message = refused(reader, "ada/net")
    assert f"ada/net@2 has the manifest sha256:{'0' * 64} here" in message
    assert f"the log recorded sha256:{second.manifest_sha256}" in message


def test_the_files_of_a_version(reader, rows):
    """The rows of files name other bytes, which are there; the manifest is the right one."""
    first, second = rows
    other = first.files.get(path="model.onnx").blob_id
    steal(
        "UPDATE registry_file SET blob_id = %s WHERE version_id = %s AND path = 'model.onnx'",
        other, second.pk,
    )  # fmt: skip
    message = refused(reader, "ada/net@latest")
    assert "The files of ada/net@2:default are not those that the log recorded" in message


def test_the_bytes_of_a_file(reader, rows):
    results, _ = verification.verify(reader.hub, "ada/net@2")
    assert {(result.subject, result.is_verified) for result in results} == {
        ("history", True), ("record", True), ("attestation", True), ("bytes", True)
    }  # fmt: skip
    sha256 = rows[0].files.get(path="model.onnx").blob_id
    path = store().path(sha256)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    results, _ = verification.verify(reader.hub, "ada/net@1")
    assert [(result.subject, result.is_verified) for result in results] == [
        ("history", True), *[("record", True)] * 2, *[("attestation", True)] * 2, ("bytes", False)
    ]  # fmt: skip
    assert f"instead of sha256:{sha256}" in results[-1].text


def test_a_bundle_repeats_what_was_verified_without_a_hub(reader, rows):
    results, bundle = verification.verify(reader.hub, "ada/net@v1.0")
    reader.hub.transport = reader.hub.reads = None
    again = verification.verify_bundle(reader.hub, json.loads(json.dumps(bundle)))
    assert all(result.is_verified for result in [*results, *again])
    assert [result.subject for result in again] == [
        "history", *["record"] * 2, *["attestation"] * 2, "bytes"
    ]  # fmt: skip
    bundle["proof"]["manifest"] = f"sha256:{'0' * 64}"
    changed = verification.verify_bundle(reader.hub, json.loads(json.dumps(bundle)))
    assert "the log recorded sha256:" in next(
        result.text for result in changed if not result.is_verified
    )


def test_a_witness_shows_a_second_history(reader, rows, tmp_path):
    other = Reader(tmp_path / "witness")
    note = verification.witness(other.hub, tmp_path / "key", seconds=1_800_000_000)
    verifier = str(verification.witness_key(tmp_path / "key").verifier)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert verification.verify_cosigned(reader.hub, str(note), verifier) == 1_800_000_000
    # Everything is signed anew, for a reader who has no head.
    steal("UPDATE provenance_logleaf SET hash = %s WHERE position = 2", b"x" * 32)
    steal("DELETE FROM provenance_loghead WHERE size > 1")
    size = LogLeaf.objects.count()
    log._sign(log.state().signer(), size, StoredTree())
    newcomer = Reader(tmp_path / "newcomer")
    with pytest.raises(problems.RecordMismatch, match=f"does not begin with the {size} records"):
        verification.verify_cosigned(newcomer.hub, str(note), verifier)


def test_a_yank(reader, rows, ada):
    first, _ = rows
    versions.yank(ada, version=first, reason="wrong labels", breaks_dependents=True)
    deliver()
    steal(
        "UPDATE registry_version SET state = 'published', reason = '', ended_at = NULL "
        "WHERE id = %s", first.pk,
    )  # fmt: skip
    message = refused(reader, "ada/net@1")
    assert "ada/net@1 is published here; the log recorded version.yanked at" in message
    assert "(wrong labels)" in message


def test_a_yank_that_never_was(reader, rows):
    steal(
        "UPDATE registry_version SET state = 'yanked', reason = 'a rumour' WHERE id = %s",
        rows[0].pk,
    )  # fmt: skip
    message = refused(reader, "ada/net@1")
    assert "ada/net@1 is yanked here; the log recorded version.published" in message


def test_a_tag(reader, rows):
    steal("UPDATE registry_ref SET version_id = %s WHERE name = 'v1.0'", rows[1].pk)
    message = refused(reader, "ada/net@v1.0")
    assert "The tag v1.0 names version 2 here; the log recorded version 1" in message


def test_a_tag_that_was_deleted(reader, rows):
    steal("DELETE FROM registry_ref WHERE name = 'v1.0'")
    message = refused(reader, "ada/net@1")
    assert "recorded that the tag v1.0 names version 1; here it does not" in message


def test_the_order_of_two_versions(reader, rows):
    first, second = rows
    for number, version in ((9, first), (1, second), (2, first)):
        steal("UPDATE registry_version SET number = %s WHERE id = %s", number, version.pk)
    message = refused(reader, "ada/net")
    assert f"ada/net@2 has the manifest sha256:{first.manifest_sha256} here" in message
    assert f"the log recorded sha256:{second.manifest_sha256}" in message


def differing(reader, ref="ada/net@2"):
    """What `hub verify` says that differs."""
    results, _ = verification.verify(reader.hub, ref)
    return [f"{result.subject}: {result.text}" for result in results if not result.is_verified]


def test_a_verdict_of_conformance(reader, rows):
    pk = ConformanceResult.objects.get().pk
    steal("UPDATE runners_conformanceresult SET outcome = 'failed' WHERE id = %s", pk)
    (text,) = differing(reader)
    assert text.startswith(f"attestation: conformance/{pk}, signed at ")
    assert "outcome was signed as passed and is shown as failed" in text
    assert "verdict was signed as passed and is shown as failed" in text


def test_the_figures_behind_a_verdict(reader, rows):
    steal("UPDATE runners_conformanceresult SET figures = '[]'")
    (text,) = differing(reader)
    assert "its details had the digest sha256:" in text


def test_a_verdict_of_a_check(reader, rows):
    steal(
        "UPDATE registry_check SET outcome = 'failed' WHERE kind = 'onnx' AND version_id = %s",
        rows[1].pk,
    )  # fmt: skip
    (text,) = differing(reader)
    assert "check/onnx" in text
    assert "outcome was signed as passed and is shown as failed" in text


def test_a_figure_of_a_benchmark(reader, rows):
    row = Measurement.objects.get()
    steal("UPDATE runners_measurement SET p50_ms = 0.5, p50_low_ms = 0.4, p50_high_ms = 0.6")
    (text,) = differing(reader)
    assert text.startswith(f"attestation: benchmark/{row.pk}, signed at ")
    assert f"p50_ms was signed as {row.p50_ms} and is shown as 0.5" in text


def test_a_proof_of_an_upgrade(reader, rows):
    steal(
        "UPDATE registry_variant SET proof_strength = 'schema' WHERE proof_strength = 'certified'"
    )
    (text,) = differing(reader)
    assert "proof_strength was signed as certified and is shown as schema" in text


def test_the_original_of_a_variant(reader, rows):
    """The rows of the upgraded variant name the bytes of another model."""
    entry = rows[1].variants.get(name="opset26").entry
    other = rows[0].files.get(path="model.onnx").blob_id
    steal("UPDATE registry_file SET blob_id = %s WHERE id = %s", other, entry.pk)
    texts = differing(reader)
    for name in ("variant/opset26", "build of variant/opset26"):
        (text,) = [line for line in texts if f"attestation: {name}, signed" in line]
        assert f"was signed as sha256:{entry.blob_id} and is shown as sha256:{other}" in text


def test_a_result_that_is_deleted(reader, rows):
    row = Measurement.objects.get()
    steal("DELETE FROM runners_measurement")
    (text,) = differing(reader)
    assert f"benchmark/{row.pk}, signed" in text
    assert f"p50_ms {row.p50_ms}" in text
    assert "The hub shows no such result." in text


def test_a_result_that_is_invented(reader, rows):
    row = Measurement.objects.get()
    row.pk, row.p50_ms, row.p50_low_ms, row.p50_high_ms, row.ordinal = None, 0.5, None, None, 7
    Measurement.objects.bulk_create([row])
    (text,) = differing(reader)
    assert f"benchmark/{row.pk} is shown and was never signed" in text


def test_a_rewritten_result_is_not_signed_again(reader, rows):
    """Neither after the next result nor by the hourly task."""
    steal("UPDATE runners_measurement SET p50_ms = 0.5, p50_low_ms = 0.4, p50_high_ms = 0.6")
    timed.benchmark(rows[1], 2.5)
    attestations.sign_missing()
    (text,) = differing(reader)
    assert "is shown as 0.5" in text


def test_a_rewritten_attestation(reader, rows):
    """The thief writes another figure into the statement too, and cannot sign it."""
    steal("UPDATE runners_measurement SET p50_ms = 0.5, p50_low_ms = 0.4, p50_high_ms = 0.6")
    row = Attestation.objects.get(name__startswith="benchmark/")
    signed = Statement.decode(Envelope.parse(row.envelope).payload)
    signed.predicate["facts"].update(p50_ms=0.5, p50_low_ms=0.4, p50_high_ms=0.6)
    content = base64.b64encode(signed.encode()).decode()
    forged = json.dumps(json.loads(row.envelope) | {"payload": content})
    digest = hashlib.sha256(forged.encode()).hexdigest()
    steal(
        "UPDATE provenance_attestation SET envelope = %s, digest = %s WHERE leaf_id = %s",
        forged, digest, row.pk,
    )  # fmt: skip
    assert "was changed: the hub has another envelope" in differing(reader)[0]
    # And the record that names it: then the record is in no signed tree.
    steal(
        "UPDATE provenance_logleaf SET record = REPLACE(record, %s, %s) WHERE position = %s",
        row.digest, digest, row.pk,
    )  # fmt: skip
    assert "is not in the tree" in differing(reader)[0]


def test_an_attestation_that_is_deleted(reader, rows):
    steal("DELETE FROM provenance_attestation WHERE name LIKE 'benchmark/%%'")
    texts = differing(reader)
    assert "is in the log, and the hub no longer has it" in texts[0]
    assert "is shown and was never signed" in texts[1]


def test_an_attestation_of_another_version(reader, rows):
    """The better result of another version is filed under this one."""
    row = Attestation.objects.get(name__startswith="benchmark/")
    steal("UPDATE provenance_attestation SET number = 1 WHERE leaf_id = %s", row.pk)
    steal("UPDATE provenance_logleaf SET number = 1 WHERE position = %s", row.pk)
    texts = differing(reader, "ada/net@1")
    assert "is none of version 1" in texts[0]


def test_the_operator_finds_rewritten_results(rows, capsys):
    steal("UPDATE runners_measurement SET p50_ms = 0.5, p50_low_ms = 0.4, p50_high_ms = 0.6")
    steal("UPDATE provenance_attestation SET envelope = 'x' WHERE name = 'check/card'")
    with pytest.raises(CommandError, match="faults"):
        call_command("verify_log")
    said = capsys.readouterr().err
    assert "p50_ms was signed as" in said
    assert "(check/card) was changed." in said


def test_a_record_that_is_rewritten_too(reader, rows):
    """The thief makes the log agree with the rows, and cannot sign that."""
    _, second = rows
    steal("UPDATE registry_version SET manifest_sha256 = %s WHERE id = %s", "0" * 64, second.pk)
    steal(
        "UPDATE provenance_logleaf SET record = REPLACE(record, %s, %s) WHERE number = 2",
        second.manifest_sha256, "0" * 64,
    )  # fmt: skip
    assert "is not in the tree" in refused(reader, "ada/net")


def test_a_record_that_is_withheld(reader, rows):
    steal("UPDATE provenance_logleaf SET number = 7 WHERE number = 2")
    assert "The log has no record that ada/net@2 was published" in refused(reader, "ada/net")


def test_the_operator_finds_every_changed_record(rows, capsys):
    call_command("verify_log")
    assert "Every record is in the tree" in capsys.readouterr().out
    steal("UPDATE provenance_logleaf SET record = REPLACE(record, 'ada/net', 'ada/ten') "
          "WHERE position = 1")  # fmt: skip
    steal("UPDATE provenance_logleaf SET number = 7 WHERE position = 2")
    with pytest.raises(CommandError, match="2 faults"):
        call_command("verify_log")
    said = capsys.readouterr().err
    assert "The record 1 (version.published) is not the one that its leaf holds." in said
    assert "The record 2 is filed as version.published of version 7." in said
