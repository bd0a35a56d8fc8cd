"""`manage.py backup PLACE`: back up database, blobs and secret key while the hub runs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Sum

from hub.counting import Counter, plural, size
from registry.models import Blob
from registry.storage.backups import hold, services
from registry.storage.backups.management.places import address_help, errors_of, open_place
from registry.storage.backups.manifest import Manifest
from registry.storage.blob_store import BlobStore


class Command(BaseCommand):
    help = (
        "Back up the hub while it runs: database, stored files and secret key. Files that the "
        "place has from an earlier or interrupted backup are not copied again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("place", help=address_help())
        parser.add_argument(
            "--keep",
            type=int,
            default=0,
            metavar="N",
            help="then remove all but the newest N backups (default: keep all)",
        )

    def handle(self, *_args: Any, place: str, keep: int, **_options: Any) -> None:
        if keep < 0:
            raise CommandError("--keep must be 1 or more.")
        target = open_place(place)
        with errors_of("Run the command again to continue."):
            manifest = self._make(target)
            if keep:
                self._prune(target, keep)
        if not manifest.secret_key:
            self.stdout.write("the secret key is not in the backup: keep your HUB_SECRET_KEY")
        for sha256 in manifest.missing:
            self.stdout.write(f"sha256:{sha256} is missing or damaged in the hub's own storage")
        if manifest.missing:
            raise CommandError(
                f"{plural(len(manifest.missing), 'file is', 'files are')} not in the backup "
                f"{manifest.name}. Run "
                "`manage.py verify_blobs` for details."
            )

    def _prune(self, target: BlobStore, keep: int) -> None:
        removed = services.prune(target, keep)
        self.stdout.write(
            "no old backup removed: another backup is running, or was killed less than "
            f"{hold.LIFETIME.total_seconds() / 3600:.0f} hours ago"
            if removed is None
            else f"{plural(removed, 'old backup')} removed"
        )

    def _make(self, target: BlobStore) -> Manifest:
        stored = Blob.objects.filter(erased_at=None).aggregate(bytes=Sum("size"))["bytes"] or 0
        with Counter("blobs in the backup", stored, words=size) as counter:
            manifest = services.make(target, counter.advance)
        self.stdout.write(
            f"backup {manifest.name}: {plural(manifest.blob_count, 'file')} of "
            f"{size(manifest.blob_bytes)}, "
            f"database of {size(manifest.database_bytes)}"
        )
        return manifest
