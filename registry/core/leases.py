"""Work that one process of the hub does at a time, on whichever machine: leases and turns.

Both are rows, compared with the database's clock, so that machines whose clocks differ agree. A
lease is renewed by a thread and passes on when its holder dies or freezes. A turn is a period of a
periodic task: whoever asks first has it, so that several schedulers do no harm.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import structlog
from django.db import DatabaseError, connections
from django.db.models import ExpressionWrapper, Q
from django.db.models.fields import DateTimeField
from django.db.models.functions import Now

from registry.core import maintenance_mode
from registry.models import Lease

log = structlog.get_logger(__name__)

# How long a dead holder keeps others waiting.
SECONDS = 15.0
# A scheduler that is a little early must not lose its turn.
_EARLY = 0.9
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Hold:
    """A lease as its holder sees it. A holder that was frozen finds out before it writes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._holder = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
        self._until = 0.0
        self._over = threading.Event()

    def is_valid(self) -> bool:
        """Whether no other process can have the lease yet."""
        return time.monotonic() < self._until

    def take(self) -> bool:
        """Take or renew the lease. Raises DatabaseError."""
        # From before the statement, so that it ends here no later than for others.
        started = time.monotonic()
        if not _extend(self.name, self._holder, SECONDS):
            self._until = 0.0
            return False
        self._until = started + SECONDS
        return True

    def renew(self) -> None:
        """Renew the lease until it is released or lost."""
        try:
            while not self._over.wait(SECONDS / 3):
                try:
                    if not self.take():
                        log.warning("lease_lost", lease=self.name)
                        return
                except DatabaseError as error:
                    log.warning("lease_not_renewed", lease=self.name, error=str(error)[:200])
                    connections.close_all()
        finally:
            connections.close_all()

    def release(self) -> None:
        """Let another process have the lease; where that fails, it expires."""
        self._over.set()
        self._until = 0.0
        try:
            Lease.objects.filter(name=self.name, holder=self._holder).update(expires_at=Now())
        except DatabaseError as error:
            log.warning("lease_not_released", lease=self.name, error=str(error)[:200])


@contextmanager
def held(name: str) -> Iterator[Hold | None]:
    """The lease ``name``, renewed until the end; None where another process has it."""
    hold = Hold(name)
    if not hold.take():
        yield None
        return
    renewer = threading.Thread(target=hold.renew, name=f"lease-{name}", daemon=True)
    renewer.start()
    try:
        yield hold
    finally:
        hold.release()
        renewer.join()


def take_turn(name: str, seconds: float) -> bool:
    """Whether this process runs a periodic task now; one process does every ``seconds``.

    A process that dies in its turn leaves the work to the next turn. During read-only maintenance
    no process has a turn.
    """
    return not maintenance_mode.current().is_read_only and _extend(
        f"turn:{name}", "", seconds * _EARLY
    )


def _extend(name: str, holder: str, seconds: float) -> bool:
    """Take what has expired, or renew what ``holder`` has; no one in particular renews nothing."""
    rows = Lease.objects.filter(name=name)
    free = Q(expires_at__lte=Now())
    free = free | Q(holder=holder) if holder else free
    until = ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())
    if rows.filter(free).update(holder=holder, expires_at=until):
        return True
    if rows.exists():
        return False
    # Created as expired: those that create it at once still race for it.
    Lease.objects.bulk_create([Lease(name=name, expires_at=_LONG_AGO)], ignore_conflicts=True)
    return bool(rows.filter(free).update(holder=holder, expires_at=until))
