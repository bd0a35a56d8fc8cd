"""The log of the hub: signed heads, tiles, records, and the proof of a version."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import digests
from hub.protocol.transparency.attestations import (
    AttestationProof,
    AttestedResult,
    OpenAttestation,
)
from hub.protocol.transparency.records import HeadProof, KeyChange, OpenRecord, VersionProof
from registry.api.inputs import Input, parse
from registry.api.operations import VersionView, View, listing
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from registry.provenance import log, selectors
from registry.provenance.models import LogLeaf

_BYTES = {(200, "application/octet-stream"): OpenApiTypes.BINARY}
_TEXT = {(200, "text/plain"): OpenApiTypes.STR}
_ENVELOPE_TYPE = "application/vnd.dsse.envelope.v1+json"
_ENVELOPE = {(200, _ENVELOPE_TYPE): OpenApiTypes.OBJECT}
_NO_STORE = {"Cache-Control": "no-store"}
_IMMUTABLE = "public, max-age=31536000, immutable"


class OpenRecordOutput(Output[OpenRecord]):
    """A record with what proves that a head holds it."""

    columns = Columns(
        Column("position", help_text="position of the leaf, from 0"),
        Column("salt", help_text="32 random bytes, as hex digits"),
        Column("record", help_text="canonical JSON; its leaf is the SHA-256 of salt and record"),
        Column("path", help_text="hashes from the leaf to the root (RFC 6962, section 2.1.1)"),
        of=OpenRecord,
    )


class KeyChangeOutput(Output[KeyChange]):
    """A key of the log or its revocation, in a head that an earlier key signed."""

    columns = Columns("checkpoint", of=KeyChange)
    opening = OpenRecordOutput()


class HeadProofOutput(Output[HeadProof]):
    """A signed head of the log, and what leads to it."""

    columns = Columns(
        Column("checkpoint", help_text="signed head of the log (C2SP tlog-checkpoint)"),
        Column("consistency", help_text="hashes that lead from the head of `since` to this one"),
        of=HeadProof,
    )
    keys = KeyChangeOutput(many=True)


class VersionProofOutput(Output[VersionProof]):
    """What the log shows of a version, and what the hub says of it now."""

    columns = Columns(
        *HeadProofOutput.columns.entries,
        "model",
        "number",
        "state",
        Column("manifest", help_text="digest of the manifest, as the hub has it now"),
        "tags",
        of=VersionProof,
    )
    keys = KeyChangeOutput(many=True)
    records = OpenRecordOutput(many=True)


class OpenAttestationOutput(Output[OpenAttestation]):
    """A signed statement, with the record of the log that names it."""

    columns = Columns(
        Column("envelope", help_text="DSSE envelope of an in-toto statement, as it was signed"),
        of=OpenAttestation,
    )
    opening = OpenRecordOutput()


class AttestedResultOutput(Output[AttestedResult]):
    """A result as it is now, in the form in which statements have it."""

    columns = Columns(
        Column("name", help_text="unique in the version, such as benchmark/17"),
        Column("run", help_text="differs where the hub found the result again"),
        Column("files", help_text="SHA-256 of each file that it is about, as hex digits"),
        Column("facts", field=serializers.DictField, help_text="texts, numbers and truth values"),
        Column("details", help_text="digest of the rest; empty without any"),
        of=AttestedResult,
    )


class AttestationProofOutput(Output[AttestationProof]):
    """What the hub signed of a version, with proofs, and the results that it shows now."""

    columns = Columns(*HeadProofOutput.columns.entries, of=AttestationProof)
    keys = KeyChangeOutput(many=True)
    signers = OpenRecordOutput(many=True)
    attestations = OpenAttestationOutput(many=True)
    results = AttestedResultOutput(many=True)


class RecordOutput(Output[LogLeaf]):
    """A record of the log that you may open."""

    columns = Columns("position", Column("salt", kind=str), "record")

    def get_salt(self, row: LogLeaf) -> str:
        """As hex digits."""
        return bytes(row.salt).hex()


class SinceQuery(Input):
    """The head that the reader has."""

    since = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=2**53,
        help_text="number of leaves of the head that you have; 0 for none",
    )


class Log(View):
    """The transparency log of the hub."""

    @extend_schema(operation_id="log_checkpoint", responses=_TEXT)
    def checkpoint(self, _request: Request) -> HttpResponse:
        """Read the newest signed head of the log (C2SP tlog-checkpoint)."""
        return _text(selectors.head().note)

    @extend_schema(operation_id="log_head", responses=HeadProofOutput)
    @asks(SinceQuery)
    def newest(self, request: Request) -> Response:
        """Read the newest head with its keys, and what leads to it from the head that you have."""
        proof = selectors.head_proof(_since(request))
        return Response(self.data(HeadProofOutput, proof), headers=_NO_STORE)

    @extend_schema(operation_id="log_tile", responses=_BYTES)
    def tile(self, _request: Request, level: int, tile: tuple[int, int]) -> HttpResponse:
        """Read the hashes of a tile of the tree (C2SP tlog-tiles)."""
        return _immutable(selectors.tile(level, *tile))

    @extend_schema(operation_id="log_entries", responses=_BYTES)
    def entries(self, _request: Request, tile: tuple[int, int]) -> HttpResponse:
        """Read the entries of a tile of leaves (C2SP tlog-tiles)."""
        return _immutable(selectors.entries(*tile))

    @listing("log_records", RecordOutput, by="position", rising=True)
    def records(self) -> QuerySet[LogLeaf]:
        """List the records of the log that you may open, with their salts, oldest first."""
        return selectors.records(self.request.user)


class VersionLog(VersionView):
    """The proof of a version."""

    @extend_schema(operation_id="versions_log", responses=VersionProofOutput)
    @asks(SinceQuery)
    def read(self, request: Request, **_: Any) -> Response:
        """Read the records of a version with proofs that the newest head of the log holds them."""
        proof = selectors.proof(request.user, self.version, _since(request))
        return Response(self.data(VersionProofOutput, proof), headers=_NO_STORE)


class Attestations(VersionView):
    """What the hub signed of the results of a version."""

    @extend_schema(operation_id="versions_attestations", responses=AttestationProofOutput)
    @asks(SinceQuery)
    def read(self, request: Request, **_: Any) -> Response:
        """List the newest attestation of each result of a version, and its results as they are."""
        proof = selectors.attestation_proof(request.user, self.version, _since(request))
        return Response(self.data(AttestationProofOutput, proof), headers=_NO_STORE)

    @extend_schema(operation_id="versions_attestation", responses=_ENVELOPE)
    def envelope(self, _request: Request, digest: str, **_: Any) -> HttpResponse:
        """Read one attestation by its digest: a DSSE envelope of an in-toto statement."""
        row = selectors.attestation(self.version, digests.parse(digest))
        response = HttpResponse(row.envelope, content_type=_ENVELOPE_TYPE)
        response["Cache-Control"] = "no-cache"
        return response


def keys(_request: Request) -> HttpResponse:
    """The keys of the log that are not revoked, the present one first, one a line."""
    selectors.head()
    return _text("".join(f"{key}\n" for key in log.state().verifiers))


def _since(request: Request) -> int:
    return int(parse(SinceQuery, request.query_params.dict())["since"])


def _text(content: str) -> HttpResponse:
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    response["Cache-Control"] = "no-store"
    return response


def _immutable(content: bytes) -> HttpResponse:
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Cache-Control"] = _IMMUTABLE
    return response
