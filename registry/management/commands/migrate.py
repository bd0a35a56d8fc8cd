"""`manage.py migrate`: Django's command, which refuses a database made before release 0.1.0."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from registry.core import old_databases


class Command(migrate.Command):
    def handle(self, *args: Any, database: str, **options: Any) -> None:
        applied = MigrationRecorder(connections[database]).applied_migrations()
        if refusal := old_databases.refusal(f"{app}.{name}" for app, name in applied):
            raise CommandError(refusal)
        super().handle(*args, database=database, **options)
