"""Where backups lie: a store of their own, which all backups of one hub share."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings

from registry.storage.blob_store import BlobStore
from registry.storage.files import store_at


def place_at(address: str) -> BlobStore:
    """The place at a folder's path, ``file:///folder`` or ``s3://bucket/prefix``.

    A folder is readable by its owner alone, since it holds private models and password hashes.
    Raises ValueError for another address, and for one that overlaps the hub's own storage;
    Unavailable, OSError.
    """
    url = address if "://" in address else Path(address).resolve().as_uri()
    if _overlaps(url, settings.HUB_STORAGE_URL):
        raise ValueError(
            f"{address} overlaps the hub's own storage ({settings.HUB_STORAGE_URL}). Choose "
            "another folder or prefix, best on another machine."
        )
    parts = urlsplit(url)
    if parts.scheme == "file":
        Path(unquote(parts.path)).mkdir(mode=0o700, parents=True, exist_ok=True)
    place = store_at(url)
    place.check()
    return place


def _overlaps(one: str, other: str) -> bool:
    first, second = urlsplit(one), urlsplit(other)
    if (first.scheme, first.netloc) != (second.scheme, second.netloc):
        return False
    paths = [f"{unquote(parts.path).strip('/')}/".lstrip("/") for parts in (first, second)]
    return paths[0].startswith(paths[1]) or paths[1].startswith(paths[0])
