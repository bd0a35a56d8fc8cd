"""`python -m hub.server.work`: an embedded worker as a process of its own."""

from __future__ import annotations

import sys

from hub.server import start


def main() -> None:
    """Take jobs from the rows until stopped."""
    start.read_settings()
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    import hub.server.celery  # noqa: F401, PLC0415 - hints go to the broker of this application

    execute_from_command_line(["hub", "work", *sys.argv[1:]])


if __name__ == "__main__":
    main()
