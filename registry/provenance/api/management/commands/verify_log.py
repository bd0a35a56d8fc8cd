"""Recompute the transparency log, compare it with its heads, and results with what was signed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry.provenance import attestations, log


class Command(BaseCommand):
    help = "Recompute the transparency log, and compare it and the results with what was signed."

    def handle(self, *_: Any, **__: Any) -> None:
        faults = [*log.audit(), *attestations.audit()]
        for fault in faults:
            self.stderr.write(fault)
        if faults:
            raise CommandError(f"{len(faults)} faults. Restore the database from a backup.")
        self.stdout.write(
            "Every record is in the tree that the heads sign, and results are as they were signed."
        )
