"""`manage.py copy_storage URL`: copy every stored file to another storage, such as a bucket."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Sum

from hub.counting import Counter, plural, size
from hub.protocol import problems
from registry.models import Blob
from registry.storage import transfer
from registry.storage.blob_store import BlobStore
from registry.storage.files import forms, store_at


class Command(BaseCommand):
    help = (
        "Copy every stored file to another storage, verified on its way. What is there already is "
        "skipped, so run it again after an interruption, and once more with the hub stopped; then "
        "set HUB_STORAGE_URL to the address. Nothing is removed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", help=forms())

    def handle(self, *_args: Any, url: str, **_options: Any) -> None:
        target = self._open(url)
        stored = Blob.objects.filter(erased_at=None).aggregate(bytes=Sum("size"))["bytes"] or 0
        try:
            with Counter("blobs copied", stored, words=size) as counter:
                wrong = list(transfer.copy_to(target, counter.advance))
        except (problems.Unavailable, problems.StorageFull) as error:
            raise CommandError(f"{error} Run the command again to continue.") from error
        for name, problem in wrong:
            self.stdout.write(f"{name} {problem}")
        if wrong:
            raise CommandError(f"{plural(len(wrong), 'file')} could not be copied")
        self.stdout.write(f"all files are stored at {url}")

    def _open(self, url: str) -> BlobStore:
        try:
            target = store_at(url)
            target.check()
        except (ValueError, problems.Unavailable, OSError) as error:
            raise CommandError(str(error)) from error
        return target
