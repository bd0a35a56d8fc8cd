"""Asking the same question often: a queryset whose SQL is written once and then asked with values.

Writing the SQL of a wide row takes Django several times as long as the database needs to answer.
The rules of who sees what stay where they are, in the queryset.
"""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING, Any

from django.db import connection

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet


class Prepared(local):
    """The rows of ``make(*values)``, whose SQL must not depend on the values: strings and ids."""

    def __init__(self, make: Callable[..., QuerySet[Any, Any]]) -> None:
        self._make = make
        self._written: dict[str, tuple[str, list[Any], Any, Any]] = {}

    def rows(self, *values: str | int) -> list[tuple[Any, ...]]:
        """Each row as the queryset's ``values_list`` would give it."""
        # Stand for the values while the SQL is written; no condition of ours looks like them.
        marks = [
            f"\0{index}\0" if isinstance(value, str) else 1_000_000_007 + index
            for index, value in enumerate(values)
        ]
        known = self._written.get(connection.vendor)
        if known is None:
            compiler = self._make(*marks).query.get_compiler(connection=connection)
            sql, parameters = compiler.as_sql()
            converters = compiler.get_converters([column for column, *_ in compiler.select])
            known = (sql, list(parameters), compiler, converters)
            self._written[connection.vendor] = known
        sql, parameters, compiler, converters = known
        given = dict(zip(marks, values, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(sql, [given.get(each, each) for each in parameters])
            found = cursor.fetchall()
        return [tuple(row) for row in compiler.apply_converters(found, converters)]
