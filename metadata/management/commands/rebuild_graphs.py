"""Makes every graph again from rows, or says which differ."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hub.counting import Counter, plural
from metadata.models import NamedGraph
from metadata.store import maintenance


class Command(BaseCommand):
    help = "Rebuild every graph from the database; with --check, exit with status 1 if one differs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="only compare digests, write nothing"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if not options["check"]:
            with Counter("graphs built", maintenance.sources()) as counter:
                changed = maintenance.rebuild(counter.advance)
            self.stdout.write(f"{plural(changed, 'graph')} changed")
            return
        with Counter("graphs compared", NamedGraph.objects.exclude(nquads="").count()) as counter:
            wrong = list(maintenance.differences(counter.advance))
        for line in wrong:
            self.stdout.write(line)
        if wrong:
            count = plural(len(wrong), "graph differs", "graphs differ")
            raise CommandError(f"{count}; run `manage.py rebuild_graphs`")
        self.stdout.write("all graphs match the database")
