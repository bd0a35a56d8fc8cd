"""Counts of what is public, kept for all who ask.

They are a minute old at most, or twenty times as old as they took to make: counting never takes
more than a twentieth of one processor. A count that takes long is made anew beside the requests,
which get the one of before meanwhile.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db import connections
from redis.exceptions import RedisError

SECONDS = 60
KEYS = [
    "counts:facets",
    "counts:totals",
    "counts:many",
    "counts:words",
    "counts:setups",
    "counts:accuracies",
    "counts:sitemap",
    "counts:proven",
    "counts:fastest",
]

# How often a count is made anew, as a multiple of the time that it takes.
_REST = 20
# No request waits longer for a count that another could have.
_LONG_SECONDS = 0.25
_KEPT_SECONDS = 86_400
# Changes when something was hidden: a count that began before must not be kept after.
_HIDINGS = "counts:hidings"
_making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@dataclass(frozen=True, slots=True)
class _Count:
    value: Any
    made_at: float
    took_seconds: float

    @property
    def lasts_seconds(self) -> float:
        return max(SECONDS, _REST * self.took_seconds)

    @property
    def is_fresh(self) -> bool:
        return time.time() - self.made_at < self.lasts_seconds


def get(key: str, count: Callable[[], Any]) -> Any:
    """A count of public things, kept in the cache unless it is None or the cache is away."""
    try:
        entry = cache.get(key)
        if entry is None:
            with _making[key]:  # who waited takes what was made meanwhile
                entry = cache.get(key)
                return entry.value if entry else _count(key, count)
        if entry.is_fresh:
            return entry.value
        if entry.took_seconds < _LONG_SECONDS:
            return _count(key, count)
        name = f"{key}:refresh"
        if cache.add(name, 1, entry.lasts_seconds):
            threading.Thread(target=_refresh, args=(key, count), name=name, daemon=True).start()
    except RedisError:
        return count()
    return entry.value


def forget() -> None:
    """Drop them all, since something was hidden that they hold."""
    with suppress(RedisError):  # a cache that is away has kept nothing for long
        cache.set(_HIDINGS, secrets.token_hex(8), _KEPT_SECONDS)
        cache.delete_many([*KEYS, *(f"{key}:refresh" for key in KEYS)])


def _count(key: str, count: Callable[[], Any]) -> Any:
    """A new count, kept unless something was hidden while it was made."""
    hidings, began = cache.get(_HIDINGS), time.monotonic()
    value = count()
    if value is None:
        cache.delete(key)
    elif cache.get(_HIDINGS) == hidings:
        cache.set(key, _Count(value, time.time(), time.monotonic() - began), _KEPT_SECONDS)
    return value


def _refresh(key: str, count: Callable[[], Any]) -> None:
    try:
        _count(key, count)
    finally:
        connections.close_all()  # those of this thread
