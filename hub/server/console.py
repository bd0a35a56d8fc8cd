"""Lines on standard output, which the processes of a hub share."""

from __future__ import annotations

import sys


def print_line(line: str) -> None:
    """Print a line by one write, so that no other process writes between it and its end.

    `print` writes the text and the newline apart where PYTHONUNBUFFERED is set.
    """
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
