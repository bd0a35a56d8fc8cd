"""Limits of waits for PostgreSQL in web processes.

libpq waits without a limit for a server that is frozen: the kernel still acknowledges what is sent,
so neither ``tcp_user_timeout`` nor the server's ``statement_timeout`` ends the wait. psycopg2 lets
a program wait by itself (``set_wait_callback``); a callback that raises closes the connection.

Source: https://www.psycopg.org/docs/advanced.html#support-for-coroutine-libraries
"""

from __future__ import annotations

import math
import select
import time
from typing import Any

import psycopg2  # type: ignore[import-untyped]
from psycopg2 import extensions

from registry.core import waiting
from registry.core.breakers import Breaker

breaker = Breaker("database")
_EVENTS = {extensions.POLL_READ: select.POLLIN, extensions.POLL_WRITE: select.POLLOUT}


def install() -> None:
    """Limit the waits of all connections of this process."""
    extensions.set_wait_callback(_wait)


def _wait(connection: Any) -> None:
    """Wait until an operation of a connection is done; raises OperationalError."""
    limit = waiting.left()
    if limit <= 0.0 or not breaker.allows():
        raise psycopg2.OperationalError("PostgreSQL did not answer before, so it is not asked now")
    began = time.monotonic()
    with waiting.spent_if(psycopg2.OperationalError):
        while (state := connection.poll()) != extensions.POLL_OK:
            rest = limit - (time.monotonic() - began)
            poller = select.poll()
            poller.register(connection.fileno(), _EVENTS[state])
            if rest <= 0.0 or not poller.poll(None if math.isinf(rest) else 1000 * rest):
                breaker.fail()
                raise psycopg2.OperationalError(f"PostgreSQL did not answer in {limit:.1f} s")
    breaker.succeed()
