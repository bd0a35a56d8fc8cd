"""Password hashing with a bound on how much of it a process does at once.

A hash costs a third of a second of a core by intention. Guests who sign in without end would
otherwise take every core and every thread; beyond the bound they are refused at once.
"""

from __future__ import annotations

import os
from functools import cache

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from hub.protocol import problems
from registry.core.concurrency import Places

WAIT_SECONDS = 1.0
RETRY_SECONDS = 3


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
    return places_for(settings.HUB_LIMITS_HASHES or max(1, cores // 2))


def places_for(count: int) -> Places:
    """Places for a number of hashes at once, for which twice as many threads wait."""
    return Places(count, waiting=2 * count, wait_seconds=WAIT_SECONDS, refusal=_busy)


def _busy() -> problems.Unavailable:
    return problems.Unavailable(
        "Too many sign-ins at the moment. Nothing was changed. Try again in a few seconds.",
        retry_after=RETRY_SECONDS,
    )
