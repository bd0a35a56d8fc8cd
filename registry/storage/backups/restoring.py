"""Restoring a backup into an empty hub, and verifying one without restoring it.

Blobs come first and the database last, so a hub with tables has all of their blobs. An interrupted
restore is run again; it goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from hub.protocol import digests
from hub.protocol.problems import Unavailable
from registry.core import old_databases
from registry.models import Backup, Reservation, Upload, XetStore, Xorb
from registry.storage.backups import database
from registry.storage.backups import manifest as manifests
from registry.storage.backups.manifest import BadManifestError, Manifest, read_blobs
from registry.storage.backups.services import SECRET_KEY
from registry.storage.blob_store import BlobStore
from registry.storage.files import store
from registry.storage.transfer import copy_blob

log = structlog.get_logger(__name__)


class RestoreError(Exception):
    """The backup cannot be restored here; the text names cause and cure."""


def find(place: BlobStore, name: str = "") -> Manifest:
    """A backup by name, or the newest; raises BadManifestError where there is none."""
    names = manifests.names(place)
    if not names:
        raise BadManifestError("There is no whole backup here. Run `manage.py backup` first.")
    if name and name not in names:
        raise BadManifestError(f"There is no backup {name} here, only: {', '.join(names)}.")
    return manifests.parse(place.load(manifests.key_of(name or names[-1])))


def verify(
    place: BlobStore, manifest: Manifest, tell: Callable[[int], None]
) -> Iterator[tuple[str, str]]:
    """Read every byte of a backup; yields ``(sha256, problem)`` for each blob that is unsound.

    ``tell`` is given the bytes of each blob. Raises BadManifestError, DumpError where the dump or
    the list of blobs is damaged.
    """
    for sha256 in manifest.documents:
        if problem := _problem(place, sha256):
            raise BadManifestError(f"The backup {manifest.name} is damaged: {problem}.")
    with place.open(manifest.database) as reader:
        database.check(manifest.engine, reader)
    with place.open(manifest.blobs) as blob_list:
        for sha256, size in read_blobs(blob_list):
            if problem := _problem(place, sha256):
                yield sha256, problem
            tell(size)


def restore(
    place: BlobStore, manifest: Manifest, tell: Callable[[int], None]
) -> Iterator[tuple[str, str]]:
    """Restore into an empty hub; yields ``(sha256, problem)`` for each blob that is lost.

    ``tell`` is given the bytes of each blob. Raises RestoreError, BadManifestError, DumpError,
    StorageFull, Unavailable.
    """
    if refusal := old_databases.refusal(manifest.migrations):
        raise RestoreError(refusal)
    if unknown := database.unknown_migrations(manifest.migrations):
        raise RestoreError(
            f"The backup was made by release {manifest.release}, which is newer than this one "
            f"({unknown[0]} is unknown here). Install that release."
        )
    is_loaded = not database.is_empty()
    if is_loaded and not _is_unfinished(manifest):
        raise RestoreError(
            "The database is not empty. Restore into a new data folder or database, with storage "
            "of its own."
        )
    with place.open(manifest.blobs) as blob_list:
        for sha256, size in read_blobs(blob_list):
            if not store().find(sha256) and (problem := copy_blob(sha256, place, store())):
                yield sha256, problem
            tell(size)
    if not is_loaded:
        _restore_secrets(place, manifest)
        with place.open(manifest.database) as reader:
            database.load(manifest.engine, reader)
    call_command("migrate", verbosity=0, interactive=False)
    _finish(manifest)
    log.info("backup_restored", backup=manifest.name)


def _problem(place: BlobStore, sha256: str) -> str:
    if not place.find(sha256):
        return "is missing"
    try:
        with place.open(sha256) as reader:
            actual, _ = digests.copy_and_hash(reader, None)
    except (OSError, Unavailable) as error:
        return f"cannot be read ({error})"
    return "" if actual == sha256 else "has other bytes than its digest names"


def _is_unfinished(manifest: Manifest) -> bool:
    """Whether the database is the dump of this backup, loaded by a restore that was interrupted."""
    if set(database.migrations()) < set(manifest.migrations):
        return False
    call_command("migrate", verbosity=0, interactive=False)
    return Backup.objects.filter(pk=manifest.uuid, ended_at=None, restored_at=None).exists()


def _restore_secrets(place: BlobStore, manifest: Manifest) -> None:
    """Put the keys back: the secret key unless the environment gives another, or sessions end."""
    path = Path(settings.HUB_HOME) / SECRET_KEY
    if manifest.secret_key and path.exists() and path.read_text() == settings.SECRET_KEY:
        _restore_secret(place, manifest.secret_key, path)


def _restore_secret(place: BlobStore, sha256: str, path: Path) -> None:
    unfinished = path.with_suffix(".unfinished")
    with place.open(sha256) as reader:
        content = reader.read()
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


@transaction.atomic
def _finish(manifest: Manifest) -> None:
    """Forget what was not backed up: open uploads, and chunks that clients believe to be here."""
    Upload.objects.filter(state=Upload.State.RECEIVING).delete()
    Reservation.objects.all().delete()
    # Clients skip chunks that they once sent to an address, also those that came after the backup.
    Xorb.objects.all().delete()
    XetStore.objects.update(epoch=F("epoch") + 1)
    now = timezone.now()
    Backup.objects.filter(ended_at=None).update(ended_at=now)
    Backup.objects.filter(pk=manifest.uuid).update(is_whole=True, restored_at=now)
