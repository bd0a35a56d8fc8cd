"""`manage.py migrate`: Django's command, which refuses a database made before release 0.1.0.

On PostgreSQL `--plan` says what each pending migration locks, and for how long.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from hub.counting import plural, span
from registry.core import migration_plans, old_databases

# Characters of a statement that are printed, and seconds of which a decimal is.
LONGEST_STATEMENT = 200
SHORT_SECONDS = 10


class Command(migrate.Command):
    def handle(self, *args: Any, database: str, **options: Any) -> None:
        applied = MigrationRecorder(connections[database]).applied_migrations()
        if refusal := old_databases.refusal(f"{app}.{name}" for app, name in applied):
            raise CommandError(refusal)
        if options["plan"] and connections[database].vendor == "postgresql":
            self._print_plan(database)
        else:
            super().handle(*args, database=database, **options)

    def _print_plan(self, database: str) -> None:
        plan = list(migration_plans.pending(connections[database]))
        for name, effects in plan:
            self.stdout.write(name)
            for effect in effects:
                table = f"{effect.table}, {plural(effect.rows, 'row')}, " if effect.table else ""
                self.stdout.write(f"  {table}{effect.lock}, {_time(effect.seconds)}")
                self.stdout.write(f"    {effect.statement[:LONGEST_STATEMENT]}")
        if not plan:
            self.stdout.write("No migration is pending.")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "time not measured"
    return f"about {seconds:.1f} s" if seconds < SHORT_SECONDS else f"about {span(seconds)}"
