"""`manage.py restore PLACE`: restore a backup into an empty hub."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from hub.counting import Counter, plural, size
from registry.storage.backups import restoring
from registry.storage.backups.management.places import BackupReader, errors_of, open_place


class Command(BackupReader):
    help = (
        "Restore a backup into an empty hub: a new data folder or database, and storage of its "
        "own. Every file is hashed on its way. Run it again after an interruption."
    )

    def handle(self, *_args: Any, place: str, backup: str, **_options: Any) -> None:
        source = open_place(place)
        with errors_of("Run the command again to continue."):
            manifest = restoring.find(source, backup)
            with Counter("blobs restored", manifest.blob_bytes, words=size) as counter:
                lost = list(restoring.restore(source, manifest, counter.advance))
        for sha256, problem in lost:
            self.stdout.write(f"sha256:{sha256} {problem} in the backup")
        self.stdout.write(
            f"backup {manifest.name} restored: "
            f"{plural(manifest.blob_count - len(lost), 'file')}. Start the hub."
        )
        if lost:
            raise CommandError(
                f"{plural(len(lost), 'file of the backup is', 'files of the backup are')} lost"
            )
