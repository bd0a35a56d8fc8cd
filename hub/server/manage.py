"""`hub manage`: Django's own door, also where there is no manage.py, as in an installed wheel."""

from __future__ import annotations

import os
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run one management command; without one, list them. Exits with 1 where it fails."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.server.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after settings

    execute_from_command_line(["hub manage", *argv])
    return 0
