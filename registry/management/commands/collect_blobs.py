"""`manage.py collect_blobs`: free the bytes that nothing needs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from registry import collector


class Command(BaseCommand):
    help = "Free the bytes of blobs that nothing needs and nobody touched for a day."

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.stdout.write(f"{collector.collect()} blobs freed")
