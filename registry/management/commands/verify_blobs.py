"""`manage.py verify_blobs`: read storage again and say what is missing or has changed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry import collector


class Command(BaseCommand):
    help = "Read every blob again; exit status 1 where one is missing or has changed."

    def handle(self, *_args: Any, **_options: Any) -> None:
        wrong = list(collector.verify())
        for sha256, what in wrong:
            self.stdout.write(f"sha256:{sha256} {what}")
        if any("orphan" not in what for _, what in wrong):
            raise CommandError(f"{len(wrong)} blobs are not sound")
        self.stdout.write("every blob is sound")
