"""`manage.py work`: take jobs from the rows until stopped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hub.protocol.problems import HubError
from runners import pools
from runners.queue import environments
from runners.workers.worker import Worker


class Command(BaseCommand):
    help = "Run jobs until stopped (SIGTERM finishes the current job)."
    # They import every page and view, of which a worker needs none.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--pool",
            action="append",
            dest="pools",
            help="pools to take jobs from (default: all except GPU pools)",
        )
        parser.add_argument(
            "--runtime", default="", help="take only jobs for the environment of this runtime"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        wrong = [name for name in options["pools"] or () if not pools.is_pool(name)]
        if wrong:
            raise CommandError(
                f"Unknown pool {wrong[0]}. Choose cpu, cpu.urgent, bench-cpu, light or gpu-…"
            )
        runtime = options["runtime"]
        try:
            environments.prepare(runtime, self.stdout.write)
        except HubError as error:
            raise CommandError(str(error)) from None
        names = options["pools"] or (["cpu"] if runtime in pools.BUILDS else pools.EMBEDDED)
        Worker(names, runtime=runtime).run()
