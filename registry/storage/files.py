"""The store that the settings name: where the bytes of blobs and uploads lie."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings

from hub.protocol.ports import Port
from registry.storage.blob_store import BlobStore
from registry.storage.folder import FolderStore

# The tag of the checks of storage, which `hub serve` runs at each start.
CHECKS = "storage"


@dataclass(frozen=True, slots=True)
class Backend:
    """A kind of storage: the scheme and form of its addresses, and what opens one.

    ``open`` raises ValueError for an address that it cannot use.
    """

    scheme: str
    form: str
    open: Callable[[SplitResult], BlobStore]


backends = Port(Backend)
backends.register(
    "registry.storage",
    Backend("file", "file:///folder", lambda parts: FolderStore(Path(unquote(parts.path)))),
)


def forms() -> str:
    """The forms of addresses of storage, for messages."""
    return " or ".join(backend.form for backend in backends)


@cache
def store_at(url: str) -> BlobStore:
    """The store at an address of one of the ``forms``; raises ValueError for another."""
    parts = urlsplit(url)
    for backend in backends:
        if backend.scheme == parts.scheme:
            return backend.open(parts)
    raise ValueError(f"HUB_STORAGE_URL {url!r} is not supported: use {forms()}")


# Connections are not shared with a child.
os.register_at_fork(after_in_child=store_at.cache_clear)


def store() -> BlobStore:
    """The store that the settings name."""
    return store_at(settings.HUB_STORAGE_URL)
