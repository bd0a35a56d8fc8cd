"""Give the transparency log a new signing key, named in a head that the present key signs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from registry.provenance import keys, log


class Command(BaseCommand):
    help = "Give the transparency log a new signing key; readers follow from the old to the new."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--revoke", metavar="REASON", default="", help="record that the old key is unsafe"
        )

    def handle(self, *_: Any, revoke: str, **__: Any) -> None:
        if not log.is_begun():
            raise CommandError("There is no log yet. It starts with the first published version.")
        try:
            old = log.state().signer().verifier
            new = log.rotate_key()
            if revoke:
                log.revoke_key(old, revoke)
        except (keys.KeyUnusableError, log.LogTamperedError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The log is signed by {new} now.")
