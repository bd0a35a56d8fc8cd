"""Events counted over sliding windows, exactly however many requests count at once.

A count is reserved before the event and given back where it turns out not to count, so that
concurrent requests cannot all pass on the same old figure. Counts live in the cache ``counters``;
while that is away, each process counts for itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import structlog
from django.core.cache import BaseCache, caches
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

_PERIODS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
T = TypeVar("T")


class Rate(NamedTuple):
    """A number of events in a period of ``seconds``."""

    events: int
    seconds: int

    @classmethod
    def parse(cls, text: str) -> Rate:
        """A rate as settings write it, such as ``10/min``; raises ValueError, KeyError."""
        events, _, period = text.partition("/")
        return cls(int(events), _PERIODS[period[:1]])


class Limit(NamedTuple):
    """A rate that holds for one key, such as an address."""

    key: str
    rate: Rate


class RateExceededError(Exception):
    """A limit is reached; ``seconds`` is when there is room for one event again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Rate exceeded for {seconds} s.")
        self.seconds = seconds


def reserve(limits: Sequence[Limit]) -> list[str]:
    """Count one event for each limit and return the counters; raises RateExceededError.

    Either all limits count the event or none does.
    """
    now = time.time()
    counters: list[str] = []
    for limit in limits:
        period, into = divmod(now, limit.rate.seconds)
        counters.append(f"rate:{limit.key}:{int(period)}")
        earlier = f"rate:{limit.key}:{int(period) - 1}"
        count, before = _apply(partial(_add, counters[-1], earlier, limit.rate.seconds))
        left = 1 - into / limit.rate.seconds
        # The last period counts by the share of it that the sliding window still covers.
        if count + math.ceil(before * left) > limit.rate.events:
            release(counters)
            raise RateExceededError(_wait(limit.rate, count - 1, before, left))
    return counters


def release(counters: Sequence[str]) -> None:
    """Take back what ``reserve`` counted."""
    for counter in counters:
        try:
            _apply(partial(_subtract, counter))
        except ValueError:  # counted in the shared cache, which has gone or come back since
            continue


def _add(counter: str, earlier: str, seconds: int, cache: BaseCache) -> tuple[int, int]:
    # A counter lives on through the next period, which reads it, and is added to no more by then.
    cache.add(counter, 0, 3 * seconds)
    return cache.incr(counter), cache.get(earlier, 0)


def _subtract(counter: str, cache: BaseCache) -> int:
    return cache.decr(counter)


def _wait(rate: Rate, count: int, before: int, left: float) -> int:
    """Seconds until one more event is within the rate, if none comes meanwhile."""
    room = rate.events - 1 - count
    share = left - room / max(before, 1) if room >= 0 else left + 1 - (rate.events - 1) / count
    return max(1, math.ceil(share * rate.seconds))


def _apply(operation: Callable[[BaseCache], T]) -> T:
    try:
        return operation(caches["counters"])
    except RedisError as error:
        log.warning("counters_unavailable", error=type(error).__name__)
        return operation(caches["process"])
