"""Dumping the database while the hub runs, and loading a dump into an empty database.

SQLite by its online backup, PostgreSQL by ``pg_dump`` in its custom format: both give one
consistent state.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from django.conf import settings
from django.db import connection, connections
from django.db.backends.postgresql.client import DatabaseClient
from django.db.migrations.loader import MigrationLoader

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

    from hub.protocol import digests
    from registry.storage.interface import BlobStore, Staged

READ_BYTES = 2**20


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


def dump(to: BlobStore) -> Staged:
    """Stage a dump of the database in a store; raises DumpError, StorageFull, Unavailable."""
    if connection.vendor == "postgresql":
        return _dump_postgresql(to)
    with _temporary() as path:
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
        _load_postgresql(reader)
        return
    target = Path(connection.settings_dict["NAME"])
    unfinished = target.with_name(f"{target.name}.unfinished")
    with unfinished.open("wb") as writer:
        _copy(reader, writer)
        os.fsync(writer.fileno())
    _check_sqlite(unfinished)
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            target.with_name(f"{target.name}{suffix}").unlink()
    unfinished.replace(target)


def check(engine: str, reader: io.BufferedReader) -> None:
    """Raise DumpError where a dump is not readable by its database's own program."""
    if engine == "sqlite":
        with _temporary() as path:
            with path.open("wb") as writer:
                _copy(reader, writer)
            _check_sqlite(path)
        return
    # Listed from a file: the program ends once it has read the table of contents of a stream.
    with _temporary() as path:
        with path.open("wb") as writer:
            _copy(reader, writer)
        _run(["pg_restore", "--list", str(path)])


def _check_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as opened:
        try:
            answer = opened.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            answer = str(error)
    if answer != "ok":
        raise DumpError(f"The database of the backup is damaged: {answer}. Use another backup.")


def _postgresql(program: str) -> tuple[list[str], dict[str, str]]:
    """The command of a PostgreSQL program on the hub's database, and its environment."""
    arguments, secrets = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    return [program, *arguments[1:-1], "--dbname", arguments[-1]], os.environ | (secrets or {})


def _dump_postgresql(to: BlobStore) -> Staged:
    command, environment = _postgresql("pg_dump")
    with tempfile.TemporaryFile() as errors, _started(
        [*command, "--format=custom", "--no-owner", "--no-privileges"],
        env=environment, stdout=subprocess.PIPE, stderr=errors,
    ) as process:  # fmt: skip
        staged = to.stage(_output(process))
        if process.wait():
            to.discard(staged.name)
            raise DumpError(f"pg_dump failed: {_text(errors)}")
    return staged


def _load_postgresql(reader: io.BufferedReader) -> None:
    command, environment = _postgresql("pg_restore")
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
    with (
        tempfile.TemporaryFile() as errors,
        _started(
            [*command, *options], env=environment, stdin=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        with suppress(BrokenPipeError), process.stdin:  # type: ignore[union-attr]
            _copy(reader, process.stdin)  # type: ignore[arg-type]
        if process.wait():
            raise DumpError(f"pg_restore failed: {_text(errors)}")


@contextmanager
def _started(command: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block."""
    try:
        process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    except FileNotFoundError as error:
        raise DumpError(
            f"{command[0]} is not installed here. Install PostgreSQL's client programs, of the "
            "server's version or a newer one."
        ) from error
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _run(command: list[str]) -> None:
    with (
        tempfile.TemporaryFile() as errors,
        _started(command, stdout=subprocess.DEVNULL, stderr=errors) as process,
    ):
        if process.wait():
            raise DumpError(f"{command[0]} failed: {_text(errors)}")


def _output(process: subprocess.Popen[bytes]) -> digests.Reader:
    return process.stdout  # type: ignore[return-value]


def _text(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read().decode(errors="replace").strip()[-500:]


def _copy(reader: io.BufferedReader, writer: IO[bytes]) -> None:
    while chunk := reader.read(READ_BYTES):
        writer.write(chunk)
    writer.flush()


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
