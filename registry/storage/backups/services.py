"""Making backups while the hub runs, and removing old ones.

The order makes a backup whole: a hold on storage, the dump, the blobs that rows name after it, and
the manifest. Blobs that the place has are not copied again, so an interrupted backup goes on, and
the next one copies what is new. Nothing of the hub is changed but the row of the backup.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import structlog
from django.conf import settings
from django.db import connections
from django.utils import timezone

from hub.protocol.version import __version__
from registry.models import Backup, Blob
from registry.storage.backups import database, hold
from registry.storage.backups import manifest as manifests
from registry.storage.backups.manifest import Manifest
from registry.storage.blob_store import BlobStore, key_of
from registry.storage.byte_store import Staged
from registry.storage.files import store
from registry.storage.transfer import copy_blob

log = structlog.get_logger(__name__)

PREFIXES = tuple(f"{number:02x}" for number in range(256))
STALE_SECONDS = 24 * 3600
SECRET_KEY = "secret-key"  # noqa: S105 - the name of its file


@dataclass(frozen=True, slots=True)
class Totals:
    """Blobs of a backup: how many, their bytes, and those that the hub has lost."""

    count: int
    bytes: int
    missing: tuple[str, ...]


def make(place: BlobStore, tell: Callable[[int], None]) -> Manifest:
    """Back up the hub; ``tell`` is given the bytes of each blob that the place has now.

    Raises DumpError, HoldLostError, Unavailable, StorageFull. What was copied until then stays.
    """
    discard_staged(place)
    backup = hold.begin()
    log.info("backup_began", backup=str(backup.pk))
    manifest = None
    try:
        manifest = _make(place, backup, tell)
    finally:
        hold.end(backup, is_whole=manifest is not None)
    log.info("backup_ended", backup=manifest.name, blobs=manifest.blob_count)
    return manifest


def prune(place: BlobStore, keep: int) -> int | None:
    """Remove all but the newest ``keep`` backups and the blobs of no other; returns how many went.

    Nothing goes while another backup of this hub runs, which counts on blobs that it has seen here.
    Manifests go first, so that an interruption leaves no backup that looks whole and is not.
    """
    if not hold.may_free():
        return None
    old = manifests.names(place)[:-keep]
    place.delete(map(manifests.key_of, old))
    needed: set[str] = set()
    for name in manifests.names(place):
        manifest = manifests.parse(place.load(manifests.key_of(name)))
        needed.update(manifest.documents)
        with place.open(manifest.blobs) as reader:
            needed.update(sha256 for sha256, _ in manifests.read_blobs(reader))
    for prefix in PREFIXES:
        place.delete(map(key_of, set(place.names(prefix)) - needed))
    return len(old)


def discard_staged(blobs: BlobStore) -> None:
    """Remove what killed processes left, a day later."""
    for name in set(blobs.staged_before(timezone.now().timestamp() - STALE_SECONDS)):
        blobs.discard(name)


def _make(place: BlobStore, backup: Backup, tell: Callable[[int], None]) -> Manifest:
    migrations = database.migrations()
    created_at = timezone.now()
    dump = _keep(place, database.dump(place))
    # Copies take hours; the database need not keep a connection open for them.
    connections.close_all()
    with tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as blob_list:
        totals = _copy_blobs(place, backup, blob_list, tell)
        blob_list.seek(0)
        blobs = _keep(place, place.stage(cast("io.BufferedReader", blob_list)))
    secret = _secret_key()
    manifest = Manifest(
        uuid=backup.pk,
        created_at=created_at,
        release=__version__,
        public_url=settings.HUB_PUBLIC_URL,
        engine=database.engine(),
        database=dump.sha256,
        database_bytes=dump.size,
        migrations=migrations,
        secret_key=_keep(place, place.stage(io.BytesIO(secret))).sha256 if secret else "",
        blobs=blobs.sha256,
        blob_count=totals.count,
        blob_bytes=totals.bytes,
        missing=totals.missing,
    )
    hold.renew(backup)
    place.put(manifests.key_of(manifest.name), io.BytesIO(manifest.to_json()))
    return manifest


def _copy_blobs(
    target: BlobStore, backup: Backup, blob_list: IO[bytes], tell: Callable[[int], None]
) -> Totals:
    """Copy what the target lacks; every blob that it has then is written to ``blob_list``."""
    count, size, missing = 0, 0, []
    for prefix in PREFIXES:
        there = set(target.names(prefix))
        for blob in _rows(prefix):
            hold.renew(backup)
            if blob.pk not in there and copy_blob(blob.pk, store(), target):
                missing.append(blob.pk)
                continue
            blob_list.write(f"{blob.pk} {blob.size}\n".encode())
            count, size = count + 1, size + blob.size
            tell(blob.size)
    return Totals(count, size, tuple(missing))


def _rows(prefix: str) -> Iterator[Blob]:
    rows = Blob.objects.filter(pk__startswith=prefix, erased_at=None)
    # At once: a query that stays open for hours keeps SQLite's log from being shortened.
    yield from list(rows.only("sha256", "size").order_by("pk"))


def _keep(target: BlobStore, staged: Staged) -> Staged:
    """Make staged bytes a blob of the target."""
    target.keep(staged)
    return staged


def _secret_key() -> bytes:
    """The key that lies in HUB_HOME; nothing where it came from the environment."""
    path = Path(settings.HUB_HOME) / SECRET_KEY
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return b""
    return content if content.decode() == settings.SECRET_KEY else b""
