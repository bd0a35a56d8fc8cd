"""Opening the bucket that an address names, and whether that can be done."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error

from registry.storage.blob_store import BlobStore


def store_of(parts: SplitResult) -> BlobStore:
    """The store in a bucket; raises ValueError without its name, or without botocore."""
    if fault := _fault(parts):
        raise ValueError(" ".join(fault))
    from registry.storage.s3.bucket import Bucket  # noqa: PLC0415 - only where it is used
    from registry.storage.s3.storage import S3Store  # noqa: PLC0415

    return S3Store(
        Bucket(parts.netloc, unquote(parts.path)),
        settings.HUB_STORAGE_CACHE,
        cache_bytes=settings.HUB_STORAGE_CACHE_BYTES,
        redirects=settings.HUB_STORAGE_REDIRECT,
        direct_uploads=settings.HUB_STORAGE_DIRECT_UPLOADS,
    )


def check(**_: Any) -> list[CheckMessage]:
    """Whether the bucket of the settings could be opened, where the files are stored in one."""
    parts = urlsplit(settings.HUB_STORAGE_URL)
    fault = _fault(parts) if parts.scheme == "s3" else None
    return [Error(fault[0], hint=fault[1], id="hub.E008")] if fault else []


def _fault(parts: SplitResult) -> tuple[str, str] | None:
    """What is wrong with an address or its packages, and the cure."""
    url = parts.geturl()
    if not parts.netloc:
        return f"HUB_STORAGE_URL {url!r} names no bucket.", "Use s3://bucket/prefix."
    if find_spec("botocore") is None:
        text = f"HUB_STORAGE_URL {url!r} needs botocore, which is not installed."
        return text, "Run pip install 'onnx-hub[s3]'."
    return None
