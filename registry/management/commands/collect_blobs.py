"""`manage.py collect_blobs`: free the bytes that nothing needs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from hub.counting import Counter, plural
from registry.storage import collector


class Command(BaseCommand):
    help = "Delete stored files that have not been used by anything for a day."

    def handle(self, *_args: Any, **_options: Any) -> None:
        with Counter("blobs checked", collector.unneeded().count()) as counter:
            freed = collector.collect(counter.advance)
        orphans = collector.collect_orphans([""])
        self.stdout.write(f"{plural(freed, 'blob')} freed, {plural(orphans, 'orphan')}")
