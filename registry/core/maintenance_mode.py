"""Read-only maintenance: the hub answers reads, refuses changes, and begins no jobs.

The mode is a row, so that one command changes it for all processes of all machines. Each process
reads the row at most once a second, and keeps the last answer while the database is away.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError
from django.utils import timezone

from hub.protocol import problems
from registry.models import MaintenanceMode

# How long a process acts on what it has read.
KEPT_SECONDS = 1.0
# Retry-After where administrators name no end, or where that has passed.
RETRY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Mode:
    """Whether changes are refused, the text above all pages, and when an end is expected."""

    is_read_only: bool = False
    banner: str = ""
    ends_at: datetime | None = None

    @property
    def notice(self) -> str:
        """That changes are refused and until when; empty while they are accepted."""
        if not self.is_read_only:
            return ""
        end = f", probably until {self.ends_at:%Y-%m-%d %H:%M} UTC" if self.ends_at else ""
        return f"This hub is read-only for maintenance{end}. Nothing can be changed meanwhile."

    def refusal(self) -> problems.Unavailable:
        """The error of a request that would change something."""
        wait = RETRY_SECONDS
        if self.ends_at:
            wait = max(wait, round((self.ends_at - timezone.now()).total_seconds()))
        return problems.Unavailable(f"{self.notice} Try again later.", retry_after=wait)


NORMAL = Mode()


class _Reader:
    """The mode as this process has read it last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mode = NORMAL
        self._read_at = float("-inf")

    def current(self) -> Mode:
        """The mode that applies, as it was a second ago at most."""
        if time.monotonic() - self._read_at < KEPT_SECONDS:
            return self._mode
        if self._lock.acquire(blocking=False):  # else another thread is reading
            try:
                self.keep(_stored())
            except DatabaseError:
                self.keep(self._mode)
            finally:
                self._lock.release()
        return self._mode

    def keep(self, mode: Mode) -> None:
        """Act on this mode in this process until the row is read again."""
        self._mode = mode
        self._read_at = time.monotonic()

    def restart_after_fork(self) -> None:
        """Another thread of the parent may have had the lock."""
        _Reader.__init__(self)


_reader = _Reader()
os.register_at_fork(after_in_child=_reader.restart_after_fork)
current = _reader.current
keep = _reader.keep


def change(mode: Mode) -> None:
    """Set the mode of the hub. Raises InvalidRequest where the banner is too long."""
    if len(mode.banner) > MaintenanceMode.LONGEST_BANNER:
        raise problems.InvalidRequest(
            f"A banner has up to {MaintenanceMode.LONGEST_BANNER} characters."
        )
    MaintenanceMode.objects.update_or_create(
        pk=MaintenanceMode.ONLY,
        defaults={
            "is_read_only": mode.is_read_only,
            "banner": mode.banner,
            "ends_at": mode.ends_at,
        },
    )
    keep(mode)


def _stored() -> Mode:
    row = MaintenanceMode.objects.filter(pk=MaintenanceMode.ONLY)
    values = row.values_list("is_read_only", "banner", "ends_at").first()
    return Mode(*values) if values else NORMAL
