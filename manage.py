#!/usr/bin/env python3
"""Django's own door: migrate, makemigrations, shell, check --deploy."""

from __future__ import annotations

import sys

from hub.server import start


def main() -> None:
    start.read_settings()
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after settings

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
