"""`manage.py requeue`: queue jobs again that failed through no fault of their file."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from hub import counting
from runners.queue.services import retries


class Command(BaseCommand):
    help = (
        "Queue jobs on published versions again that failed because of a machine, a lost worker or "
        "a time limit. Jobs that failed because of their file, and quarantined files, stay as they "
        "are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--hours", type=float, default=24.0, help="how far to look back (default: 24)"
        )
        parser.add_argument(
            "--kind", action="append", default=[], help="only jobs of this kind; repeatable"
        )
        parser.add_argument("--dry-run", action="store_true", help="only list the jobs")

    def handle(self, *_args: Any, hours: float, kind: list[str], **options: Any) -> None:
        if hours <= 0:
            raise CommandError("--hours must be more than 0.")
        since = timezone.now() - timedelta(hours=hours)
        if options["dry_run"]:
            for job in retries.failed(since, kind):
                self.stdout.write(f"{job.pk} {job.kind} {job.error_class}")
            return
        for job in (queued := retries.requeue(since, kind)):
            self.stdout.write(f"{job.pk} {job.kind} queued")
        self.stdout.write(f"{counting.plural(len(queued), 'job')} queued again")
