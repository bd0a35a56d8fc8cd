"""Where backups lie: a store of blobs, and the manifests beside it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from django.conf import settings

from registry.storage.files import store_at

if TYPE_CHECKING:
    from registry.storage.interface import BlobStore
    from registry.storage.s3.bucket import Bucket

FOLDER = "backups"


class Place(ABC):
    """A folder or bucket with the backups of one hub, which share their blobs."""

    def __init__(self, blobs: BlobStore) -> None:
        self.blobs = blobs

    @abstractmethod
    def names(self) -> list[str]:
        """The names of the whole backups, oldest first."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A manifest; raises FileNotFoundError."""

    @abstractmethod
    def write(self, name: str, manifest: bytes) -> None:
        """Keep a manifest, durable when this returns."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a manifest, if it is there."""


class FolderPlace(Place):
    """A folder; readable by its owner alone, since it holds private models and password hashes."""

    def __init__(self, folder: Path, blobs: BlobStore) -> None:
        super().__init__(blobs)
        self._manifests = folder / FOLDER

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._manifests.glob("*.json"))

    def read(self, name: str) -> bytes:
        return (self._manifests / f"{name}.json").read_bytes()

    def write(self, name: str, manifest: bytes) -> None:
        self._manifests.mkdir(exist_ok=True)
        path = self._manifests / f"{name}.json"
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            file.write(manifest)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        for folder in (self._manifests, self._manifests.parent):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def delete(self, name: str) -> None:
        (self._manifests / f"{name}.json").unlink(missing_ok=True)


class BucketPlace(Place):
    """A prefix of a bucket."""

    def __init__(self, bucket: Bucket, blobs: BlobStore) -> None:
        super().__init__(blobs)
        self._bucket = bucket

    def names(self) -> list[str]:
        keys = (row.key for row in self._bucket.objects(f"{FOLDER}/"))
        return sorted(key.removeprefix(f"{FOLDER}/").removesuffix(".json") for key in keys)

    def read(self, name: str) -> bytes:
        return self._bucket.read(f"{FOLDER}/{name}.json")

    def write(self, name: str, manifest: bytes) -> None:
        self._bucket.put(f"{FOLDER}/{name}.json", manifest)

    def delete(self, name: str) -> None:
        self._bucket.delete([f"{FOLDER}/{name}.json"])


def place_at(address: str) -> Place:
    """The place at a folder's path, ``file:///folder`` or ``s3://bucket/prefix``.

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
        folder = Path(unquote(parts.path))
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700, parents=True)
        return FolderPlace(folder, store_at(url))
    store = store_at(url)
    store.check()
    from registry.storage.s3.bucket import Bucket  # noqa: PLC0415 - only where it is used

    return BucketPlace(Bucket(parts.netloc, unquote(parts.path)), store)


def _overlaps(one: str, other: str) -> bool:
    first, second = urlsplit(one), urlsplit(other)
    if (first.scheme, first.netloc) != (second.scheme, second.netloc):
        return False
    paths = [f"{unquote(parts.path).strip('/')}/".lstrip("/") for parts in (first, second)]
    return paths[0].startswith(paths[1]) or paths[1].startswith(paths[0])
