"""Names of backups: they sort by time, so that the oldest go first."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from registry.storage.backups.manifest import Manifest


def test_backups_of_one_second_sort_by_time():
    start = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)
    names = [
        Manifest(
            uuid=uuid.UUID(int=(9 - at) << 96), created_at=start + timedelta(milliseconds=at),
            release="", public_url="", engine="", database="", database_bytes=0, migrations=(),
            secret_key="", blobs="", blob_count=0, blob_bytes=0, missing=(),
        ).name
        for at in range(9)
    ]  # fmt: skip
    assert names == sorted(names)
