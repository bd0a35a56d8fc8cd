"""The shape of where a mirrored version comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from hub.protocol import digests

if TYPE_CHECKING:
    from registry.models import MirroredVersion


class StatementOutput(serializers.Serializer[Any]):
    """One statement of the source about its evidence; not a result of this hub."""

    kind = serializers.CharField()
    subject = serializers.CharField()
    outcome = serializers.CharField()


class MirroredFromOutput(serializers.Serializer[Any]):
    """Where a version was mirrored from, as its source states it."""

    url = serializers.CharField(help_text="address of the server")
    ref = serializers.CharField(help_text="the model there")
    commit_id = serializers.CharField(help_text="commit there; empty if it was not stated")
    manifest_sha256 = serializers.CharField(allow_null=True)
    author = serializers.CharField()
    published_at = serializers.CharField()
    fetched_at = serializers.DateTimeField()
    statements = StatementOutput(
        many=True, help_text="evidence that the source states; this hub did not measure it"
    )


def mirrored_from(row: MirroredVersion) -> dict[str, Any]:
    """What ``MirroredFromOutput`` says."""
    manifest = row.manifest_sha256
    fields = {
        name: getattr(row, name)
        for name in ("url", "ref", "commit_id", "author", "published_at", "fetched_at")
    }
    fields |= {
        "manifest_sha256": digests.format(manifest) if manifest else None,
        "statements": row.statements,
    }
    return dict(MirroredFromOutput(fields).data)
