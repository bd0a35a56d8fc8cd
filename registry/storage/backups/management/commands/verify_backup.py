"""`manage.py verify_backup PLACE`: read a backup and compare every byte with its digest."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from hub.counting import Counter, noun, plural, size
from registry.storage.backups import restoring
from registry.storage.backups.management.places import BackupReader, errors_of, open_place


class Command(BackupReader):
    help = (
        "Verify a backup without restoring it: every file against its digest, and whether the dump "
        "of the database can be read; exit with status 1 if something is missing or damaged."
    )

    def handle(self, *_args: Any, place: str, backup: str, **_options: Any) -> None:
        source = open_place(place)
        with errors_of("Run the command again."):
            manifest = restoring.find(source, backup)
            with Counter("blobs verified", manifest.blob_bytes, words=size) as counter:
                wrong = list(restoring.verify(source, manifest, counter.advance))
        for sha256, problem in wrong:
            self.stdout.write(f"sha256:{sha256} {problem}")
        if wrong:
            raise CommandError(
                f"{plural(len(wrong), 'file')} of the backup {manifest.name} "
                f"{noun(len(wrong), 'is', 'are')} damaged. Delete what is damaged there and run"
                " `manage.py backup` again, which copies what is missing."
            )
        self.stdout.write(
            f"backup {manifest.name} is intact: {plural(manifest.blob_count, 'file')}"
        )
