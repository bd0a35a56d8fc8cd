"""Synchronisation of mirrors in a thread of its own, since a source may be slow for hours."""

from __future__ import annotations

import threading

import structlog
from django.db import Error as DatabaseTrouble
from django.db import connections

from registry.mirrors.services import sync

log = structlog.get_logger(__name__)


def start() -> threading.Thread:
    """Start synchronising the mirrors that are due; returns the thread."""
    thread = threading.Thread(target=_synchronise, name="mirrors", daemon=True)
    thread.start()
    return thread


def _synchronise() -> None:
    try:
        while sync.take_turn():
            pass
    except DatabaseTrouble:
        log.warning("mirrors_failed", exc_info=True)
    except Exception:
        log.exception("mirror_failed")
    finally:
        connections.close_all()
