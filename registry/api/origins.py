"""The shape of where a mirrored version comes from."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.outputs import Column, Columns, Digest, Output
from registry.models import MirroredVersion


class StatementOutput(serializers.Serializer[Any]):
    """One statement of the source about its evidence; not a result of this hub."""

    kind = serializers.CharField()
    subject = serializers.CharField()
    outcome = serializers.CharField()


class MirroredFromOutput(Output[MirroredVersion]):
    """Where a version was mirrored from, as its source states it."""

    columns = Columns(
        Column("url", help_text="address of the server"),
        Column("ref", help_text="the model there"),
        Column("commit_id", help_text="commit there; empty if it was not stated"),
        "manifest_sha256",
        "author",
        "published_at",
        "fetched_at",
    )

    manifest_sha256 = Digest(allow_null=True)
    statements = StatementOutput(
        many=True, help_text="evidence that the source states; this hub did not measure it"
    )


def mirrored_from(row: MirroredVersion) -> dict[str, Any]:
    """What ``MirroredFromOutput`` says."""
    return dict(MirroredFromOutput(row).data)
