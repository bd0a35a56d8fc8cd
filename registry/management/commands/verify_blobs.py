"""`manage.py verify_blobs`: read storage again and say what is missing or has changed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Sum

from hub.counting import Counter, plural, size
from registry.models import Blob
from registry.storage import verification


class Command(BaseCommand):
    help = (
        "Verify the content of every stored blob; exit with status 1 if one is missing or damaged."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        stored = Blob.objects.filter(erased_at=None).aggregate(bytes=Sum("size"))["bytes"] or 0
        with Counter("blobs verified", stored, words=size) as counter:
            wrong = list(verification.verify(counter.advance))
        for sha256, what in wrong:
            self.stdout.write(f"sha256:{sha256} {what}")
        if any("orphan" not in what for _, what in wrong):
            raise CommandError(f"{plural(len(wrong), 'blob is', 'blobs are')} missing or damaged")
        self.stdout.write("all blobs are intact")
