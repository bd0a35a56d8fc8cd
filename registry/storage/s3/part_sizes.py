"""The check of the sizes of parts that a bucket is sent."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

# What S3 accepts of a multipart upload: the smallest part but the last in bytes, the largest, and
# how many there may be. Source: Amazon S3 User Guide, "multipart upload limits".
LEAST_PART_BYTES, MOST_PART_BYTES, MOST_PARTS = 5 * 2**20, 5 * 2**30, 10_000


def check(**_: Any) -> list[CheckMessage]:
    """The size of the parts that a bucket is sent, where the files are stored in one."""
    if not settings.HUB_STORAGE_URL.startswith("s3:"):
        return []
    part = settings.HUB_LIMITS_PUT_BYTES
    least = max(LEAST_PART_BYTES, -(-settings.HUB_LIMITS_FILE_BYTES // MOST_PARTS))
    if least <= part <= MOST_PART_BYTES:
        return []
    return [
        Error(
            f"HUB_LIMITS_PUT_BYTES={part} does not suit S3: an object has at most {MOST_PARTS:,} "
            f"parts of {LEAST_PART_BYTES:,} to {MOST_PART_BYTES:,} bytes, so uploads in parts "
            "would fail.",
            hint=(
                f"Set HUB_LIMITS_PUT_BYTES to {least} or more, which allows files of "
                f"HUB_LIMITS_FILE_BYTES={settings.HUB_LIMITS_FILE_BYTES}, and at most "
                f"{MOST_PART_BYTES}."
            ),
            id="hub.E006",
        )
    ]
