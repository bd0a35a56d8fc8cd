"""Deliveries to webhooks in threads of their own, so that one that hangs keeps none waiting."""

from __future__ import annotations

import threading

import structlog
from django.db import Error as DatabaseTrouble
from django.db import connections

from registry.webhooks import sending
from runners.background import start_thread

log = structlog.get_logger(__name__)

_LOOK_SECONDS = 0.5


def start() -> threading.Thread:
    """Start sending what is due; returns a thread that ends when nothing is left."""
    return start_thread("webhooks", _run)


def _run() -> None:
    busy = [threading.Event() for _ in range(sending.PLACES)]
    threads = [
        threading.Thread(target=_send, args=(own, busy), name="webhook", daemon=True)
        for own in busy
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _send(own: threading.Event, busy: list[threading.Event]) -> None:
    """Take turns until nothing is due and no other thread has a turn, which may take long."""
    rest = threading.Event()
    try:
        while True:
            own.set()
            if sending.take_turn():
                continue
            own.clear()
            if not any(other.is_set() for other in busy):
                return
            connections.close_all()
            rest.wait(_LOOK_SECONDS)
    except DatabaseTrouble:
        log.warning("webhooks_failed", exc_info=True)
    except Exception:
        log.exception("webhook_failed")
    finally:
        own.clear()
        connections.close_all()
