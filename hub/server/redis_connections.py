"""Connections to the Redis of the cache, which is asked for what can also be computed."""

from __future__ import annotations

from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from registry.core import waiting
from registry.core.breakers import Breaker

SECONDS = 1.0
breaker = Breaker("cache")


class _ResponseCounter:
    """A connection that counts whether Redis answers."""

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """An answer; raises TimeoutError, and counts it."""
        try:
            with waiting.spent_if(redis.TimeoutError):
                answer = super().read_response(*args, **kwargs)  # type: ignore[misc]
        except redis.TimeoutError:
            breaker.fail()
            raise
        breaker.succeed()
        return answer


class _Plain(_ResponseCounter, redis.Connection):
    """Over TCP."""


class _Encrypted(_ResponseCounter, redis.SSLConnection):
    """Over TLS."""


class _Local(_ResponseCounter, redis.UnixDomainSocketConnection):
    """Over a socket of this machine."""


# By the class that the scheme of an address names.
_CLASSES = {kind.__mro__[2]: kind for kind in (_Plain, _Encrypted, _Local)}


class CachePool(redis.ConnectionPool):
    """A pool that gives no connection while Redis does not answer."""

    def __init__(self, connection_class: type = redis.Connection, **options: Any) -> None:
        super().__init__(connection_class=_CLASSES[connection_class], **options)

    def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        """A connection; raises ConnectionError."""
        if waiting.left() <= 0.0 or not breaker.allows():
            raise redis.ConnectionError("Redis did not answer before, so it is not asked now.")
        try:
            with waiting.spent_if(redis.TimeoutError):
                return super().get_connection(*args, **kwargs)
        except redis.TimeoutError:
            breaker.fail()
            raise


# What Django's cache passes on to its pool of connections.
OPTIONS: dict[str, Any] = {
    "pool_class": CachePool,
    "socket_connect_timeout": SECONDS,
    "socket_timeout": SECONDS,
    "retry": Retry(NoBackoff(), 0),
}
