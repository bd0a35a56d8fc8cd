"""What pending migrations do to the tables of PostgreSQL: locks, rows, and how long they take.

The statements are those that Django will send. Each is tried on a sample of its table, a temporary
table in a transaction that is rolled back; its time there, times the share of the rows, is the
estimate. Locks are those of PostgreSQL's manual ("Explicit Locking", and the pages of statements).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import DatabaseError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

# Rows of a table on which statements are tried.
SAMPLE_ROWS = 100_000
_SAMPLE = "migration_sample"
# Django writes this where an operation runs code.
_CODE = "CANNOT BE WRITTEN AS SQL"
_TABLE = r'(?:ONLY )?"?(?P<table>\w+)"?'


class Lock(StrEnum):
    """The lock that a statement takes on its table, and what waits for it."""

    NONE = "none: new table"
    UNKNOWN = "unknown: runs code"
    ROWS = "ROW EXCLUSIVE: writes to the same rows wait"
    SHARE = "SHARE: writes wait"
    SHARE_ROW = "SHARE ROW EXCLUSIVE: writes wait"
    ACCESS = "ACCESS EXCLUSIVE: reads and writes wait"


_LOCKS = (
    (re.compile(rf"CREATE TABLE {_TABLE}"), Lock.NONE),
    (re.compile(rf"CREATE (?:UNIQUE )?INDEX \S+ ON {_TABLE}"), Lock.SHARE),
    (re.compile(rf"ALTER TABLE {_TABLE} ADD CONSTRAINT \S+ FOREIGN KEY"), Lock.SHARE_ROW),
    (re.compile(rf"CREATE (?:CONSTRAINT )?TRIGGER .* ON {_TABLE}", re.DOTALL), Lock.SHARE_ROW),
    (re.compile(rf"(?:UPDATE|DELETE FROM|INSERT INTO) {_TABLE}"), Lock.ROWS),
    (re.compile(rf"(?:ALTER|DROP) TABLE {_TABLE}"), Lock.ACCESS),
)
_OF_TABLE = re.compile(rf"(?:CREATE|ALTER) TABLE {_TABLE}")


@dataclass(frozen=True, slots=True)
class Effect:
    """A statement: its table, lock, the rows there, and the seconds that it is likely to take.

    ``seconds`` is None where that was not measured.
    """

    statement: str
    table: str = ""
    lock: Lock = Lock.UNKNOWN
    rows: int = 0
    seconds: float | None = None


def pending(connection: BaseDatabaseWrapper) -> Iterator[tuple[str, list[Effect]]]:
    """Each migration that is not applied, in order, with its effects; nothing is changed.

    Raises DatabaseError where the tables cannot be read.
    """
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    state = executor.loader.project_state(
        [key for key in executor.loader.applied_migrations if key in executor.loader.graph.nodes]
    )
    with transaction.atomic(using=connection.alias):
        samples = _Samples(connection)
        for migration, _ in plan:
            with connection.schema_editor(collect_sql=True, atomic=False) as editor:
                state = migration.apply(state, editor, collect_sql=True)
            yield _name(migration), effects(connection, editor.collected_sql, samples)
            samples.make(editor.collected_sql)
        transaction.set_rollback(True, using=connection.alias)


def effects(
    connection: BaseDatabaseWrapper, statements: list[str], samples: _Samples | None = None
) -> list[Effect]:
    """The effect of each statement, tried in this order inside the caller's transaction."""
    samples = samples or _Samples(connection)
    results = [_effect(text, samples) for text in statements if _is_effective(text)]
    results += [Effect("code", lock=Lock.UNKNOWN) for text in statements if _CODE in text]
    return results


def _is_effective(statement: str) -> bool:
    return not statement.lstrip().startswith(
        ("--", "BEGIN", "COMMIT", "COMMENT", "SET CONSTRAINTS")
    )


def _effect(statement: str, samples: _Samples) -> Effect:
    for pattern, lock in _LOCKS:
        if match := pattern.match(statement):
            table = match["table"]
            rows = samples.rows(table)
            if lock is Lock.NONE or rows is None:
                return Effect(statement, table, Lock.NONE, 0, 0.0)
            return Effect(statement, table, lock, rows, samples.seconds(statement, table, rows))
    return Effect(statement)


class _Samples:
    """Tries statements on samples of tables, which stay until the transaction ends."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._tables: dict[str, str] = {}
        self._counts: dict[str, int | None] = {}

    def rows(self, table: str) -> int | None:
        """The rows of a table; None where there is no such table yet."""
        if table not in self._counts:
            self._counts[table] = self._count(table)
        return self._counts[table]

    def make(self, statements: list[str]) -> None:
        """Make tables that the plan makes, since Django looks for their constraints later.

        Without foreign keys, which would lock the tables that they refer to.
        """
        for statement in statements:
            match = _OF_TABLE.match(statement)
            if match and self.rows(match["table"]) is None and " FOREIGN KEY " not in statement:
                with suppress(DatabaseError), transaction.atomic(using=self._connection.alias):
                    self._execute(statement)

    def seconds(self, statement: str, table: str, rows: int) -> float | None:
        """How long a statement is likely to take; None where a sample does not allow it."""
        try:
            with transaction.atomic(using=self._connection.alias):
                sample = self._sample(table)
                begin = time.perf_counter()
                self._execute(statement.replace(f'"{table}"', f'"{sample}"'))
                spent = time.perf_counter() - begin
        except DatabaseError:
            return None
        return spent * max(1.0, rows / SAMPLE_ROWS)

    def _count(self, table: str) -> int | None:
        answer = self._execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", [table]
        )
        if not answer:
            return None
        if answer[0][0] > SAMPLE_ROWS:
            return int(answer[0][0])
        return int(self._execute(f'SELECT count(*) FROM "{table}"')[0][0])  # noqa: S608

    def _sample(self, table: str) -> str:
        if table not in self._tables:
            name = f"{_SAMPLE}_{len(self._tables)}"
            self._execute(f'CREATE TEMPORARY TABLE "{name}" (LIKE "{table}" INCLUDING ALL)')
            self._execute(
                f'INSERT INTO "{name}" SELECT * FROM "{table}" LIMIT {SAMPLE_ROWS}'  # noqa: S608
            )
            self._tables[table] = name
        return self._tables[table]

    def _execute(self, statement: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


def _name(migration: Migration) -> str:
    return f"{migration.app_label}.{migration.name}"
