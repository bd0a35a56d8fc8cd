"""Cursors of lists: the key of the last row of a page, opaque to callers, never an offset."""

from __future__ import annotations

import base64
import json
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from hub.protocol import problems


def encode(key: list[Any]) -> str:
    """A key as text that fits an address."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode(cursor: str) -> list[Any]:
    """The key again; raises InvalidRequest."""
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError) as error:
        raise _broken() from error
    if not isinstance(key, list) or not key:
        raise _broken()
    return key


def after(column: str, cursor: str, *, down: bool) -> Q:
    """The rows that come after a key of (``column``, pk); raises InvalidRequest."""
    beyond = "lt" if down else "gt"
    value, pk = _pair(cursor)
    if column == "updated_at":
        value = parse_datetime(value) if isinstance(value, str) else None
    elif isinstance(value, str) != (column == "title"):
        raise _broken()
    if value is None:
        raise _broken()
    # The first condition alone lets an index begin at the key.
    return Q(**{f"{column}__{beyond}e": value}) & (
        Q(**{f"{column}__{beyond}": value}) | Q(**{f"pk__{beyond}": pk})
    )


def is_time(cursor: str) -> bool:
    """Whether a key's first part is a time, in a list that changes its order on the way."""
    return bool(cursor) and isinstance(_pair(cursor)[0], str)


def _pair(cursor: str) -> tuple[Any, int]:
    key = decode(cursor)
    value, pk = key if len(key) == 2 else (None, None)
    if not isinstance(value, str | int | float) or not isinstance(pk, int):
        raise _broken()
    return value, pk


def position(cursor: str, most: int) -> int:
    """The place in a ranked list of at most ``most``; raises InvalidRequest."""
    value = decode(cursor)[0] if cursor else 0
    if not isinstance(value, int) or not 0 <= value <= most:
        raise _broken()
    return value


def _broken() -> problems.InvalidRequest:
    return problems.InvalidRequest.at(
        "/cursor", "Invalid page cursor. Start again from the first page."
    )
