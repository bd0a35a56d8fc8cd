"""Deliveries of events in tests: each at once, or those that only readers need together."""

from __future__ import annotations

from contextlib import contextmanager

from django.utils import timezone

from registry.core import outbox

_collected = []


@contextmanager
def together():
    """Deliver meanwhile to the runners alone, who make rows, and at the end to everybody else.

    Documents of the search and graphs are then made once, not after each step.
    """
    _collected.append(True)
    try:
        yield
    finally:
        _collected.pop()
    deliver()


def deliver():
    if not _collected:
        outbox.deliver()
        return
    others = frozenset(name for name in outbox._handlers if not name.startswith("runners."))
    due = outbox._due(others)
    began = timezone.now()
    while outbox._deliver_next(due, began):
        pass
