"""What the API says of the source of a mirrored version."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from registry.api import origins
from registry.models import MirroredVersion


@pytest.mark.parametrize(("digest", "text"), [("ab" * 32, f"sha256:{'ab' * 32}"), ("", None)])
def test_the_digest_of_a_source_is_written_as_everywhere(digest, text):
    row = MirroredVersion(
        url="https://hub.example.org",
        ref="zoo/net",
        manifest_sha256=digest,
        statements=[{"kind": "check", "subject": "model.onnx", "outcome": "passed"}],
        fetched_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    answer = origins.mirrored_from(row)
    assert answer["manifest_sha256"] == text
    assert answer["statements"] == row.statements
