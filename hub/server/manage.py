"""`hub manage`: Django's own door, also where there is no manage.py, as in an installed wheel."""

from __future__ import annotations

from collections.abc import Sequence

from hub.server import start


def main(argv: Sequence[str]) -> int:
    """Run one management command; without one, list them. Exits with 1 where it fails."""
    start.read_settings()
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after settings

    execute_from_command_line(["hub manage", *argv])
    return 0
