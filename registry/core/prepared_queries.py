"""Asking the same question often: a queryset whose SQL is written once and then asked with values.

Writing the SQL of a wide row takes Django several times as long as the database needs to answer.
The rules of who sees what stay where they are, in the queryset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from threading import local
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

# What each connection to PostgreSQL has prepared: the statement by its SQL.
_PLANS: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


class Prepared(local):
    """The rows of ``make(*values)``, whose SQL must not depend on the values.

    They are strings, ids and aware times. With ``planned``, PostgreSQL keeps the plan for each
    connection: for what takes longer to plan than to read. Requests that read must not use these:
    `hub.server.reads` knows what writes by its SQL.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]], *, planned: bool = False) -> None:
        self._make = make
        self._planned = planned
        self._written: dict[str, tuple[str, list[Any], Any, Any]] = {}

    def rows(self, *values: str | int | datetime) -> list[tuple[Any, ...]]:
        """Each row as the queryset's `values_list` would give it."""
        return self._read(values)[1]

    def instances(self, *values: str | int | datetime) -> list[Any]:
        """Each row as an object of the model, with what `select_related` names and annotations.

        As `django.db.models.query.ModelIterable` makes them; nothing is prefetched.
        """
        compiler, rows = self._read(values)
        select, info = compiler.select, compiler.klass_info
        start, stop = info["select_fields"][0], info["select_fields"][-1] + 1
        names = [column.target.attname for column, *_ in select[start:stop]]
        # The types are those of Django 6.1, whose querysets have a fetch mode.
        related = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]
        instances = []
        for row in rows:
            instance = info["model"].from_db(connection.alias, names, row[start:stop])
            for populator in related:
                populator.populate(row, instance)
            for name, place in compiler.annotation_col_map.items():
                setattr(instance, name, row[place])
            instances.append(instance)
        return instances

    def _read(self, values: Sequence[str | int | datetime]) -> tuple[Any, list[tuple[Any, ...]]]:
        """The compiler, which knows the columns, and the rows with Python's values."""
        marks = [_mark(index, value) for index, value in enumerate(values)]
        written = self._written.get(connection.vendor)
        if written is None:
            compiler = self._make(*marks).query.get_compiler(connection=connection)
            sql, parameters = compiler.as_sql()
            converters = compiler.get_converters([column for column, *_ in compiler.select])
            written = (sql, list(parameters), compiler, converters)
            self._written[connection.vendor] = written
        sql, parameters, compiler, converters = written
        by_mark = dict(zip(map(_parameter, marks), map(_parameter, values), strict=True))
        with connection.cursor() as cursor:
            if self._planned and connection.vendor == "postgresql":
                sql = _planned(cursor, sql)
            cursor.execute(sql, [by_mark.get(each, each) for each in parameters])
            rows = cursor.fetchall()
        if converters:
            rows = [tuple(row) for row in compiler.apply_converters(rows, converters)]
        return compiler, rows


def _planned(cursor: Any, sql: str) -> str:
    """The statement that executes this one by the plan of the connection; prepares it once."""
    session = connection.connection
    names = _PLANS.setdefault(session, {})
    if sql not in names:
        name, places = f"hub_{len(names)}", sql.count("%s")
        text = sql % tuple(f"${number}" for number in range(1, places + 1))
        cursor.execute(f"PREPARE {name} AS {text}")
        values = ", ".join(["%s"] * places)
        names[sql] = f"EXECUTE {name} ({values})" if places else f"EXECUTE {name}"
    return names[sql]


def insert(rows: Sequence[Model]) -> None:
    """Insert rows of one model, whose keys are set, in one statement that is written once."""
    fields = rows[0]._meta.concrete_fields  # noqa: SLF001 - Django's documented API
    values = [
        field.get_db_prep_save(getattr(row, field.attname), connection)
        for row in rows
        for field in fields
    ]
    with connection.cursor() as cursor:
        cursor.execute(_insertion(type(rows[0]), len(rows)), values)


@cache
def _insertion(model: type[Model], count: int) -> str:
    """An INSERT of a number of rows, for either database."""
    columns = [field.column for field in model._meta.concrete_fields]  # noqa: SLF001
    names = ", ".join(f'"{name}"' for name in columns)
    row = ", ".join(["%s"] * len(columns))
    places = ", ".join([f"({row})"] * count)
    return f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES {places}'  # noqa: S608, SLF001


def _mark(index: int, value: str | int | datetime) -> str | int | datetime:
    """What stands for a value while the SQL is written; no condition of ours looks like it."""
    if isinstance(value, datetime):
        return datetime(1900, 1, 1 + index, tzinfo=UTC)
    return f"\0{index}\0" if isinstance(value, str) else 1_000_000_007 + index


def _parameter(value: str | int | datetime) -> Any:
    """A value as the database takes it."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value
