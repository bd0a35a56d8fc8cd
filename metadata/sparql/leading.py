"""One writer for a SPARQL server that all machines of the hub share: the holder of a lease.

The others wait. What the holder wrote is in the database, so the next one goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import structlog

from metadata.sparql.replication import Follower
from registry.core import leases

log = structlog.get_logger(__name__)

LEASE = "graph-store"
_LOOK_SECONDS = 1.0


class LeadingFollower:
    """Keeps the shared store equal to the rows while this process has the lease."""

    def __init__(self, make: Callable[[Callable[[], bool]], Follower]) -> None:
        """``make`` is given what tells whether this process may write."""
        self._follower = make(self._leads)
        self._stack = ExitStack()
        self._hold: leases.Hold | None = None
        self._looked_at = float("-inf")

    def turn(self) -> bool:
        """Apply what is new where this process leads; see Follower.turn."""
        return self._lead() and self._follower.turn()

    def rebuild(self, tell: Callable[[], None] = lambda: None) -> None:
        """Rebuild the store, once no other process leads."""
        while not self._lead():
            time.sleep(_LOOK_SECONDS)
        self._follower.rebuild(tell)

    def close(self) -> None:
        """Publish what is left, and let another process lead."""
        if self._leads():
            self._follower.close()
        self._stack.close()

    def _leads(self) -> bool:
        return self._hold is not None and self._hold.is_valid()

    def _lead(self) -> bool:
        """Have the lease, or ask for it now and then."""
        if self._leads():
            return True
        self._follower.abandon()
        self._stack.close()
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = time.monotonic()
        self._hold = self._stack.enter_context(leases.held(LEASE))
        if self._hold is not None:
            log.info("graph_store_led")
        return self._hold is not None
