"""A fair share for each client: concurrent queries, and computing time a minute.

Places are counted in each web process; the time that a client used is counted in the cache, for
all of them. Without the cache no time is counted, and the hub goes on.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from hub.protocol import problems

log = structlog.get_logger(__name__)

AT_ONCE = 2
WAITING = 32
WAIT_SECONDS = 5.0
_MINUTE = 60
# The last free place is for those who have used less than this part of their time.
_LITTLE = 1 / 6


class Gate:
    """A number of places; a client that finds none waits a little, and none can take them all."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting = 0
        self._clients: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def place(self, client: str, *, is_light: bool) -> Iterator[None]:
        """Hold a place. Raises Throttled for a client's third at once, Unavailable when full."""
        with self._changed:
            if self._clients[client] >= AT_ONCE:
                raise problems.Throttled(
                    f"{AT_ONCE} of your queries are still running. Wait for one to finish.",
                    retry_after=1,
                )
            self._clients[client] += 1
            try:
                self._wait(client, is_light=is_light)
            except BaseException:
                self._forget(client)
                raise
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._forget(client)
                self._changed.notify_all()

    def _wait(self, client: str, *, is_light: bool) -> None:
        if self._may_go(client, is_light=is_light):
            return
        if self._waiting >= WAITING:
            raise _full()
        self._waiting += 1
        try:
            if not self._changed.wait_for(
                lambda: self._may_go(client, is_light=is_light), WAIT_SECONDS
            ):
                raise _full()
        finally:
            self._waiting -= 1

    def _may_go(self, client: str, *, is_light: bool) -> bool:
        needed = 1 if is_light and self._clients[client] == 1 else 2
        return self._free >= needed

    def _forget(self, client: str) -> None:
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]


def _full() -> problems.Unavailable:
    return problems.Unavailable(
        "All query processes are busy. Try again in a few seconds.", retry_after=5
    )


def spent(client: str) -> float:
    """Seconds of computing that a client has had this minute.

    Raises Throttled where that is all it may have.
    """
    seconds = _milliseconds(client) / 1000
    if seconds >= settings.HUB_SPARQL_MINUTE_SECONDS:
        wait = _MINUTE - int(time.time()) % _MINUTE
        raise problems.Throttled(
            f"Your queries used {seconds:.0f} s of computing time in this minute; the limit is "
            f"{settings.HUB_SPARQL_MINUTE_SECONDS} s. Try again in {wait} s.",
            retry_after=wait,
        )
    return seconds


def is_light(seconds: float) -> bool:
    """Whether a client that used this much may take the last place."""
    return bool(seconds < settings.HUB_SPARQL_MINUTE_SECONDS * _LITTLE)


def charge(client: str, seconds: float) -> None:
    """Count seconds of computing."""
    key = _key(client)
    try:
        cache.add(key, 0, 2 * _MINUTE)
        cache.incr(key, max(1, round(seconds * 1000)))
    except ValueError:  # it went between the two calls
        return
    except RedisError as error:
        log.warning("query_time_uncounted", error=type(error).__name__)


def _milliseconds(client: str) -> int:
    try:
        return int(cache.get(_key(client)) or 0)
    except RedisError as error:
        log.warning("query_time_uncounted", error=type(error).__name__)
        return 0


def _key(client: str) -> str:
    return f"sparql-time:{client}:{int(time.time()) // _MINUTE}"
