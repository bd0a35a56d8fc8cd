"""The empty database, kept between runs while nothing that could make it otherwise has changed.

Migrating takes seconds. A copy of what came of it is kept in pytest's cache under a digest of the
whole product's source and of the versions that worked on it; after any change the migrations are
run again, by one of the processes that run tests while the others wait. On PostgreSQL they always
are, by each.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import django
from django.db import connection
from django.db.backends.signals import connection_created

ROOT = Path(__file__).parents[1]
ROOMS = ("frontend", "hub", "metadata", "registry", "runners", "tests/settings.py")


def place_of(config):
    """Where the copy of this database is or will be; None where there is no place for one."""
    if connection.vendor != "sqlite" or not hasattr(config, "cache"):
        return None
    return config.cache.mkdir("migrated") / f"{digest()}.sqlite3"


def digest():
    """A name for everything that a migrated database could depend on."""
    told = hashlib.sha256(f"{django.VERSION} {sqlite3.sqlite_version}".encode())
    for room in ROOMS:
        paths = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py"))
        for path in paths:
            content = path.read_bytes()
            told.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return told.hexdigest()


@contextmanager
def kept(place):
    """Begin with the copy, where there is one, when the database is made; keep one if there is not.

    The command that migrates is run all the same, and finds that nothing is left to do.
    """

    def restore(connection, **_):
        connection_created.disconnect(restore)
        # Another run of another source may have forgotten it meanwhile: then all is migrated.
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as copy,
        ):
            copy.backup(connection.connection)

    if place is None:
        yield
        return
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            fcntl.flock(lock, fcntl.LOCK_UN)
            connection_created.connect(restore)
            yield
            return
        yield
        keep(place)


def keep(place):
    """Write the copy, all of it or nothing, and forget those of other sources."""
    mine = place.with_suffix(f".{os.getpid()}")
    with closing(sqlite3.connect(mine)) as copy:
        connection.ensure_connection()
        connection.connection.backup(copy)
    mine.replace(place)
    for other in place.parent.iterdir():
        if other.stem != place.stem:
            other.unlink(missing_ok=True)
