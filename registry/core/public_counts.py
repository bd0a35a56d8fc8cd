"""Counts of what is public, kept for a minute for all who ask."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 60
KEYS = [
    "search:facets", "search:totals", "search:many", "search:words", "search:setups",
    "search:accuracies",
]  # fmt: skip


def counted(key: str, count: Callable[[], Any]) -> Any:
    """A count of public things, kept in the cache unless it is None or the cache is away."""
    try:
        value = cache.get(key)
        if value is None:
            value = count()
            if value is not None:
                cache.set(key, value, SECONDS)
    except RedisError:
        value = count()
    return value


def forget() -> None:
    """Drop them all, since something was hidden that they hold."""
    with suppress(RedisError):  # a cache that is away has kept nothing for long
        cache.delete_many(KEYS)
