"""Password hashing with a bound on how much of it a process does at once.

A hash costs a third of a second of a core by intention. Guests who sign in without end would
otherwise take every core and every thread; beyond the bound they are refused at once.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_SECONDS = 1.0
RETRY_SECONDS = 3


class Places:
    """At most ``count`` holders at once, and twice as many threads that wait for a place."""

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._admitted = threading.BoundedSemaphore(3 * count)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a place; raises Unavailable where none gets free within ``WAIT_SECONDS``."""
        if not self._admitted.acquire(blocking=False):
            raise _busy()
        try:
            if not self._free.acquire(timeout=WAIT_SECONDS):
                raise _busy()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._admitted.release()


class BoundedPasswordHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2, which every sign-in, new password and unknown name goes through."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password; raises Unavailable while too many others are being hashed."""
        with places().hold():
            return super().encode(password, salt, iterations)


@cache
def places() -> Places:
    """The places of this process."""
    cores = len(os.sched_getaffinity(0))
    return Places(settings.HUB_LIMITS_HASHES or max(1, cores // 2))


def _busy() -> problems.Unavailable:
    return problems.Unavailable(
        "Too many people are signing in at this moment. Nothing was changed; try again in a few "
        "seconds.",
        retry_after=RETRY_SECONDS,
    )
