"""Shared parts of the backup commands: place, backup, error messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hub.protocol import problems
from registry.storage.backups import database, hold, manifest, restoring
from registry.storage.backups.place import place_at
from registry.storage.blob_store import BlobStore
from registry.storage.files import forms


def address_help() -> str:
    """The addresses that a place of backups may have."""
    return f"folder, or {forms()}, of this hub's backups"


class BackupReader(BaseCommand):
    """A command that reads one backup of a place; before there are tables, too."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("place", help=address_help())
        parser.add_argument("--backup", default="", help="its name (default: the newest)")


def open_place(address: str) -> BlobStore:
    """The place of backups; raises CommandError."""
    try:
        return place_at(address)
    except (ValueError, problems.Unavailable, OSError) as error:
        raise CommandError(str(error)) from error


@contextmanager
def errors_of(cure: str) -> Iterator[None]:
    """Raises CommandError for what backups raise; ``cure`` says what to do after an outage."""
    try:
        yield
    except (problems.Unavailable, problems.StorageFull, OSError) as error:
        raise CommandError(f"{error} {cure}") from error
    except hold.HoldLostError as error:
        raise CommandError(
            f"The backup was suspended for more than {hold.LIFETIME}, so files may have been "
            f"freed. {cure}"
        ) from error
    except (
        database.DumpError,
        manifest.BadManifestError,
        restoring.RestoreError,
    ) as error:
        raise CommandError(str(error)) from error
