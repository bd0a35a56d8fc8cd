"""Signed texts are stored under their own digests alone, by every writer."""

from __future__ import annotations

import hashlib

import pytest
from django.db import IntegrityError, transaction

from hub.protocol.transparency.records import Record, RecordKind
from registry.provenance import log
from registry.provenance.models import Attestation
from registry.provenance.signature_models import VersionSignature
from tests import factories, shared

pytestmark = [pytest.mark.django_db, pytest.mark.capability("provenance")]
TEXT = '{"payload": "é"}'
AT = "2026-11-29T12:00:00+00:00"


@shared.rows
def start():
    """ada/net with a published version."""
    return factories.version(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def signature(version):
    key = f"sha256:{'0' * 64}"
    return VersionSignature(
        version=version, bundle=TEXT, key=key, public_key="", created_by=version.created_by
    )


def attestation(version):
    record = Record(RecordKind.ATTESTATION, AT, version.model.ref, version.number)
    leaf = log.append([log.Entry(record, version.model_id)])
    return Attestation(
        leaf_id=leaf, model=version.model, number=version.number, name="check/onnx", run="1",
        predicate_type="https://example.org/check", envelope=TEXT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "column", "words"),
    [
        (signature, "sha256", "the digest of a signature is that of its bundle"),
        (attestation, "digest", "the digest of an attestation is that of its envelope"),
    ],
)
def test_a_signed_text_is_stored_under_its_own_digest_alone(version, make, column, words):
    row, own = make(version), hashlib.sha256(TEXT.encode()).hexdigest()
    for other in ("0" * 64, hashlib.sha256(TEXT.encode("latin-1")).hexdigest(), own.upper()):
        setattr(row, column, other)
        with pytest.raises(IntegrityError) as caught, transaction.atomic():
            row.save(force_insert=True)
        if other != own.upper():
            assert words in str(caught.value)
    setattr(row, column, own)
    row.save(force_insert=True)
    assert type(row).objects.filter(**{column: own}).exists()
