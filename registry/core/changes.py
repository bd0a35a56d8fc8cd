"""Waiting for the database to change, so cheaply that an idle process costs next to nothing.

SQLite has a counter that other connections' commits raise (`PRAGMA data_version`), which is read in
a fraction of the time of a query. Elsewhere a wait is one short sleep: on PostgreSQL, workers that
must answer quickly have a broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import Error as DatabaseTrouble
from django.db import connection

from registry.core import memory

# How often a process that waits looks, and how long it goes without a full turn at most.
LOOK_SECONDS = 0.25
LONGEST_SECONDS = 2.0

# A connection, and its count of what others committed.
Mark = tuple[int, int]


def mark() -> Mark | None:
    """What `wait` compares with, to be taken before a turn; None where there is no counter."""
    if connection.vendor != "sqlite":
        return None
    try:
        connection.ensure_connection()
        with connection.wrap_database_errors:  # a cursor of Django's costs more than the question
            rows = connection.connection.execute("PRAGMA data_version")
            return id(connection.connection), int(rows.fetchone()[0])
    except DatabaseTrouble:
        return None


def wait(before: Mark | None, is_over: Callable[[], bool]) -> None:
    """Sleep until another connection has committed since ``before``, or for `LONGEST_SECONDS`."""
    memory.give_back()
    until = time.monotonic() + (LOOK_SECONDS if before is None else LONGEST_SECONDS)
    while not is_over() and (remaining := until - time.monotonic()) > 0:
        time.sleep(min(remaining, LOOK_SECONDS))
        if before is not None and mark() != before:
            return
