"""`manage.py work`: take jobs from the rows until stopped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runners.models import Job
from runners.worker import Worker


class Command(BaseCommand):
    help = "Take jobs and do them until stopped (SIGTERM finishes the job in hand)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--pool", action="append", choices=Job.Pool.values, dest="pools")

    def handle(self, *_args: Any, **options: Any) -> None:
        Worker(options["pools"] or [Job.Pool.CPU.value, Job.Pool.LIGHT.value]).run()
