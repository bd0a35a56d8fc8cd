"""`manage.py import_people`: accounts, organisations and roles from a CSV file."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import make_password
from django.core.management.base import BaseCommand, CommandError, CommandParser

from hub.counting import Counter, plural
from registry.models import User
from registry.people.services import imports, users


class Command(BaseCommand):
    help = "Make accounts, organisations and roles from a CSV file; all of them or none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help=f"columns: {', '.join(imports.COLUMNS)}")
        parser.add_argument("--dry-run", action="store_true", help="only print what would change")
        parser.add_argument(
            "--passwords",
            type=Path,
            help="new file for the first passwords of new accounts; without it they have none "
            "until `hub users reset-password`",
        )
        parser.add_argument(
            "--administrator", help="who makes these changes (default: the first administrator)"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            with options["file"].open(encoding="utf-8-sig", newline="") as lines:
                rows = imports.read(lines)
            changes = self._carry_out(rows, **options)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.") from None
        except imports.ImportRefused as refusal:
            lines = "\n".join(refusal.faults)
            raise CommandError(f"Nothing was changed.\n{lines}") from None
        for change in changes:
            self.stdout.write(change)
        prefix = "would be made" if options["dry_run"] else "made"
        self.stdout.write(f"{plural(len(changes), 'change')} {prefix}")

    def _carry_out(self, rows: list[imports.Row], **options: Any) -> list[str]:
        administrator = _administrator(options["administrator"])
        path = options["passwords"]
        if path is None or options["dry_run"]:
            return imports.carry_out(administrator, rows, dry_run=options["dry_run"])
        first = {name: users.generate_password() for name in imports.new_usernames(rows)}
        # Before the transaction: to hash takes long, and others must not wait for it.
        with Counter("passwords hashed", len(first)) as counter:
            hashed = {}
            for name, password in first.items():
                hashed[name] = make_password(password)
                counter.advance()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("username", "password"), *first.items()])
            file.flush()
            os.fsync(file.fileno())
        try:
            return imports.carry_out(administrator, rows, passwords=hashed)
        except BaseException:
            path.unlink()
            raise


def _administrator(name: str | None) -> User:
    rows = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    user = (rows.filter(username=name) if name else rows).first()
    if user is None:
        raise CommandError(
            f"{name} is no administrator." if name else "There is no administrator yet."
        )
    return user
