"""Locks of rows: changes of one thing come one after another."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model

from hub.protocol import problems

Row = TypeVar("Row", bound=Model)


def lock(row: Row, *related: str, **conditions: Any) -> Row:
    """The row as it is now, kept from others until the transaction ends.

    ``related`` are rows to read with it. Raises NotFound if it was deleted, or does not meet the
    conditions any more.
    """
    rows = type(row)._default_manager.select_for_update(of=("self",))  # noqa: SLF001 - Django's documented API
    rows = rows.select_related(*related) if related else rows
    fresh = rows.filter(pk=row.pk, **conditions).first()
    if fresh is None:
        raise problems.NotFound(f"{row} was deleted.")
    return fresh
