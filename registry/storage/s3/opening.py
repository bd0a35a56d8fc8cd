"""Opening the bucket that an address names."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote

from django.conf import settings

if TYPE_CHECKING:
    from registry.storage.blob_store import BlobStore


def store_of(parts: SplitResult) -> BlobStore:
    """The store in a bucket; raises ValueError without its name, or without botocore."""
    url = parts.geturl()
    if not parts.netloc:
        raise ValueError(f"HUB_STORAGE_URL {url!r} names no bucket: use s3://bucket/prefix")
    try:
        from registry.storage.s3.bucket import Bucket  # noqa: PLC0415 - only where it is used
        from registry.storage.s3.storage import S3Store  # noqa: PLC0415
    except ImportError as error:
        raise ValueError(f"HUB_STORAGE_URL {url!r} needs botocore: install onnx-hub[s3]") from error
    return S3Store(
        Bucket(parts.netloc, unquote(parts.path)),
        settings.HUB_STORAGE_CACHE,
        cache_bytes=settings.HUB_STORAGE_CACHE_BYTES,
        redirects=settings.HUB_STORAGE_REDIRECT,
    )
