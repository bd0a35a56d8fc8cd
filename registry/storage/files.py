"""The store that the settings name: where the bytes of blobs, uploads and xorbs lie."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from django.conf import settings

from registry.storage.folder import FolderStore

if TYPE_CHECKING:
    from registry.storage.interface import BlobStore


@cache
def store_at(url: str) -> BlobStore:
    """The store at ``file:///folder`` or ``s3://bucket/prefix``.

    Raises ValueError for another address, and where what S3 needs is not installed.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        return FolderStore(Path(unquote(parts.path)))
    if parts.scheme != "s3" or not parts.netloc:
        raise ValueError(
            f"HUB_STORAGE_URL {url!r} is not supported: use file:///folder or s3://bucket/prefix"
        )
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


# Connections are not shared with a child.
os.register_at_fork(after_in_child=store_at.cache_clear)


def store() -> BlobStore:
    """The store that the settings name."""
    return store_at(settings.HUB_STORAGE_URL)
