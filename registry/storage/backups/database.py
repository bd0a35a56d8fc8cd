"""Dumping the database while the hub runs, and loading a dump into an empty database.

SQLite by its online backup, PostgreSQL by ``pg_dump`` in its custom format: both give one
consistent state. ``pg_dump`` refuses servers that are newer than itself, and ``pg_restore`` of
version 17 sets parameters that older servers refuse. So the programs of the server's own version
are taken where packages have put several side by side.
"""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection, connections
from django.db.backends.postgresql.client import DatabaseClient
from django.db.migrations.loader import MigrationLoader

from registry.storage.byte_store import ByteStore, Staged

# Where the packages of Debian and of Red Hat put the programs of each version.
PROGRAMS = ("/usr/lib/postgresql/{version}/bin", "/usr/pgsql-{version}/bin")


class DumpError(Exception):
    """The database cannot be dumped or loaded; the text names cause and cure."""


def engine() -> str:
    """`sqlite` or `postgresql`."""
    return connection.vendor


def migrations() -> tuple[str, ...]:
    """The migrations that the database has: ``app.name``."""
    applied = MigrationLoader(connection).applied_migrations
    return tuple(sorted(f"{app}.{name}" for app, name in applied))


def unknown_migrations(names: tuple[str, ...]) -> list[str]:
    """Those of ``names`` that this release does not have."""
    loader = MigrationLoader(None)
    migrations = {f"{app}.{name}" for app, name in loader.disk_migrations}
    for migration in loader.disk_migrations.values():
        migrations |= {f"{app}.{name}" for app, name in migration.replaces}
    return sorted(set(names) - migrations)


def is_empty() -> bool:
    """Whether the database has no table."""
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor)


def dump(to: ByteStore) -> Staged:
    """Stage a dump of the database in a store; raises DumpError, StorageFull, Unavailable."""
    with _temporary() as path:
        if connection.vendor == "postgresql":
            options = ["--format=custom", "--no-owner", "--no-privileges", "--file", str(path)]
            _run(*_postgresql("pg_dump", options))
        else:
            source = f"file:{connection.settings_dict['NAME']}?mode=ro"
            with (
                closing(sqlite3.connect(source, uri=True, timeout=30)) as live,
                closing(sqlite3.connect(path)) as copy,
            ):
                live.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
        with path.open("rb") as reader:
            return to.stage(reader)


def load(engine: str, reader: io.BufferedReader) -> None:
    """Load a dump into the empty database, whole or not at all; raises DumpError."""
    if engine != connection.vendor:
        raise DumpError(
            f"The backup is of {engine}, and this hub's database is {connection.vendor}. Set "
            "DATABASE_URL to a database of the same kind."
        )
    connections.close_all()
    if connection.vendor == "postgresql":
        with _temporary() as path:
            _copy(reader, path)
            options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
            _run(*_postgresql("pg_restore", [*options, str(path)]))
        return
    target = Path(connection.settings_dict["NAME"])
    unfinished = target.with_name(f"{target.name}.unfinished")
    _copy(reader, unfinished)
    _check_sqlite(unfinished)
    for suffix in ("-wal", "-shm"):
        target.with_name(f"{target.name}{suffix}").unlink(missing_ok=True)
    unfinished.replace(target)


def check(engine: str, reader: io.BufferedReader) -> None:
    """Raise DumpError where a dump is not readable by its database's own program."""
    with _temporary() as path:
        _copy(reader, path)
        if engine == "sqlite":
            _check_sqlite(path)
        else:
            _run([_program("pg_restore"), "--list", str(path)])


def _check_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as opened:
        try:
            answer = opened.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            answer = str(error)
    if answer != "ok":
        raise DumpError(f"The database of the backup is damaged: {answer}. Use another backup.")


def _postgresql(program: str, options: list[str]) -> tuple[list[str], dict[str, str]]:
    """The command of a PostgreSQL program on the hub's database, and its environment."""
    arguments, secrets = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    command = [_program(program), *arguments[1:-1], "--dbname", arguments[-1], *options]
    return command, os.environ | (secrets or {})


def _program(name: str) -> str:
    """The path of a PostgreSQL program of the server's version, or its name for those of PATH."""
    if connection.vendor != "postgresql":
        return name
    version = connection.get_database_version()[0]
    paths = [Path(folder.format(version=version), name) for folder in PROGRAMS]
    return next((str(path) for path in paths if path.is_file()), name)


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a program to its end; raises DumpError."""
    try:
        result = subprocess.run(command, env=environment, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise DumpError(
            f"{command[0]} is not installed here. Install PostgreSQL's client programs of the "
            "server's version."
        ) from error
    if result.returncode:
        text = result.stderr.decode(errors="replace").strip()[-500:]
        # Not of a folder of versions: perhaps not the server's.
        cure = "" if "/" in command[0] else ". Where versions differ, install those of the server's"
        raise DumpError(f"{command[0]} failed: {text}{cure}")


def _copy(reader: io.BufferedReader, path: Path) -> None:
    """Write what ``reader`` gives to a file, and sync it."""
    with path.open("wb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        os.fsync(writer.fileno())


@contextmanager
def _temporary() -> Iterator[Path]:
    """The path of a file for its owner alone, removed after the block."""
    descriptor, name = tempfile.mkstemp(prefix="dump-", dir=settings.FILE_UPLOAD_TEMP_DIR)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{name}{suffix}").unlink(missing_ok=True)
