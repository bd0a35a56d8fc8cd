"""Whether this web process is ending: it still answers, and takes no new clients soon."""

from __future__ import annotations

import threading

_begun = threading.Event()


def begin() -> None:
    """From now on ``/readyz`` answers 503."""
    _begun.set()


def has_begun() -> bool:
    """Whether this process is ending."""
    return _begun.is_set()
