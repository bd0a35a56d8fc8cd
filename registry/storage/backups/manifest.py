"""The manifest of a backup: written last, so that a backup without one is not whole.

A manifest is a JSON document in ``backups/`` beside the blobs of a store. Everything it names, it
names by SHA-256; the dump and the list of blobs are stored like blobs themselves.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from uuid import UUID

from hub.protocol import digests, strict
from registry.storage.blob_store import BlobStore

FOLDER = "backups/"
FORMAT = 1
ENGINES = ("sqlite", "postgresql")
_READER = strict.Reader({UUID: lambda value, place: UUID(strict.check(value, str, place))})


class BadManifestError(Exception):
    """A manifest cannot be used: it is damaged, or of a later format."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup contains; digests in hex, times with zone.

    ``blobs`` is the digest of the list of blobs, ``blob_bytes`` their total size. ``missing`` are
    blobs that the hub itself had lost when the backup was made. ``secret_key`` is empty where the
    hub had its key from the environment.
    """

    uuid: UUID
    created_at: datetime
    release: str
    public_url: str
    engine: str
    database: str
    database_bytes: int
    migrations: tuple[str, ...]
    secret_key: str
    blobs: str
    blob_count: int
    blob_bytes: int
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        """Sorts by time: 20260131T235959.000000Z-0123abcd."""
        return f"{self.created_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{self.uuid.hex[:8]}"

    @property
    def documents(self) -> tuple[str, ...]:
        """The digests of what is stored beside the blobs."""
        own = (self.database, self.blobs, self.secret_key)
        return tuple(filter(None, own))

    def to_json(self) -> bytes:
        """The document."""
        plain = asdict(self) | {
            "format": FORMAT,
            "uuid": str(self.uuid),
            "created_at": self.created_at.isoformat(),
        }
        return json.dumps(plain, indent=1, sort_keys=True).encode()


def names(place: BlobStore) -> list[str]:
    """The names of the whole backups in a place, oldest first."""
    keys = place.keys(FOLDER)
    return [key[len(FOLDER) : -len(".json")] for key in keys if key.endswith(".json")]


def key_of(name: str) -> str:
    """The key of the manifest of a backup."""
    return f"{FOLDER}{name}.json"


def parse(content: bytes) -> Manifest:
    """Read a document; raises BadManifestError."""
    try:
        plain = json.loads(content)
        if plain["format"] != FORMAT:
            raise BadManifestError(
                f"The backup has format {plain['format']}; this release reads {FORMAT}. Install "
                "the release that made it, or a newer one."
            )
        manifest = _READER.read(Manifest, plain)
    except (ValueError, TypeError, KeyError) as error:
        raise BadManifestError(
            f"The manifest is damaged ({error!r}). Use another backup."
        ) from error
    if not all(map(digests.is_hex, manifest.documents)) or manifest.engine not in ENGINES:
        raise BadManifestError("The manifest is damaged. Use another backup.")
    return manifest


def read_blobs(document: io.BufferedReader) -> Iterator[tuple[str, int]]:
    """Digest and size in bytes of each blob; raises BadManifestError."""
    for line in document:
        sha256, _, size = line.decode("ascii", "replace").strip().partition(" ")
        if not digests.is_hex(sha256) or not size.isdecimal():
            raise BadManifestError("The list of blobs is damaged. Use another backup.")
        yield sha256, int(size)
