"""The cache's connections to a Redis that answers nothing."""

from __future__ import annotations

import socket
import time

import pytest
import redis
from django.core.cache.backends.redis import RedisCache

from hub.server import redis_connections
from registry.core import breakers
from registry.core.breakers import Breaker


@pytest.fixture(autouse=True)
def breaker(monkeypatch):
    made = Breaker("cache")
    monkeypatch.setattr(redis_connections, "breaker", made)
    return made


def test_a_silent_redis_is_asked_a_few_times_and_then_not():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        cache = RedisCache(address, {"OPTIONS": redis_connections.OPTIONS})
        began = time.monotonic()
        for _ in range(50):
            with pytest.raises(redis.RedisError):
                cache.get("key")
        limit = (breakers.FAILURES + 1) * redis_connections.SECONDS
        assert time.monotonic() - began < limit


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("redis://h/0", redis.Connection),
        ("rediss://h/0", redis.SSLConnection),
        ("unix:///run/redis", redis.UnixDomainSocketConnection),
    ],
)
def test_connections_of_every_kind_are_counted(address, kind):
    pool = redis_connections.CachePool.from_url(address)
    assert issubclass(pool.connection_class, kind)
    assert issubclass(pool.connection_class, redis_connections._ResponseCounter)
