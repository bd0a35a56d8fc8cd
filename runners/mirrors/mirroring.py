"""Synchronisation of mirrors in a thread of its own, since a source may be slow for hours."""

from __future__ import annotations

import threading

from registry.mirrors.services import sync
from runners.background import start_thread


def start() -> threading.Thread:
    """Start synchronising the mirrors that are due; returns the thread."""
    return start_thread("mirrors", _synchronise)


def _synchronise() -> None:
    while sync.take_turn():
        pass
