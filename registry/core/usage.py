"""What reads leave behind: counts of downloads, times of use, and entries of the security log.

A request that reads writes nothing and waits for no lock: it notes in memory what it did. A thread
of the web process, with a connection of its own, writes the notes every few seconds. A process that
is killed loses those seconds; one that ends in order writes what is left. During read-only
maintenance notes wait for its end.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import F, Q

from registry.core import maintenance_mode
from registry.models import AccessToken, DownloadCount, DownloadWeek, SearchDocument, XetStore

log = structlog.get_logger(__name__)

FLUSH_SECONDS = 3.0
# How long a process that ends waits for another writer before it gives its last notes up.
LAST_FLUSH_MILLISECONDS = 2_000
# Rows of one transaction, so that no one waits long for it.
BATCH = 200
# Entries of logs that one process holds while the database takes none; later ones are lost here.
MOST_ENTRIES = 100_000

# How long the downloads of a week are kept; the sum of all weeks stays.
WEEKS_KEPT = 53

# A version that was removed meanwhile has no row to count in.
_ADD = (
    "INSERT INTO registry_downloadcount (model_id, downloads) "
    "SELECT model_id, %s FROM registry_version WHERE id = %s "
    "ON CONFLICT (model_id) DO UPDATE "
    "SET downloads = registry_downloadcount.downloads + excluded.downloads"
)
_ADD_WEEK = (
    "INSERT INTO registry_downloadweek (downloads, version_id, week) "
    "SELECT %s, id, %s FROM registry_version WHERE id = %s "
    "ON CONFLICT (version_id, week) DO UPDATE "
    "SET downloads = registry_downloadweek.downloads + excluded.downloads"
)


class Stamp(NamedTuple):
    """A column that says when a row was last used."""

    table: type[AccessToken | XetStore]
    column: str


TOKEN = Stamp(AccessToken, "last_used_at")
CHUNK_STORE = Stamp(XetStore, "used_at")


Keep = Callable[[Sequence[Any]], None]


class Notes:
    """What the requests of one process have left to write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._downloads: Counter[int] = Counter()
        self._uses: dict[tuple[Stamp, int], datetime] = {}
        self._entries: dict[Keep, list[Any]] = {}
        self._pending = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_writer = False

    def add_download(self, version_id: int, count: int = 1) -> None:
        """Note downloads of a version."""
        with self._lock:
            self._downloads[version_id] += count
        self._call_writer()

    def add_use(self, stamp: Stamp, pk: int, at: datetime) -> None:
        """Note that a row was used; the latest time counts."""
        with self._lock:
            use = self._uses.get((stamp, pk))
            self._uses[stamp, pk] = max(use, at) if use else at
        self._call_writer()

    def has_use(self, stamp: Stamp, pk: int) -> bool:
        """Whether a use of this row waits to be written."""
        return (stamp, pk) in self._uses

    def add_entry(self, keep: Keep, entry: object) -> None:
        """Note an entry of a log, which ``keep`` writes; entries stay in their order."""
        with self._lock:
            entries = self._entries.setdefault(keep, [])
            if len(entries) < MOST_ENTRIES:
                entries.append(entry)
        self._call_writer()

    def start(self) -> None:
        """Have a thread of this process write its notes, from the first one on, and at its end."""
        self._has_writer = True
        atexit.register(self._flush_at_exit)

    def flush(self) -> None:
        """Write all notes; those that could not be written stay. Raises DatabaseError."""
        with self._lock:
            downloads, self._downloads = self._downloads, Counter()
            uses, self._uses = self._uses, {}
            logs, self._entries = self._entries, {}
        # In the order of their keys, so that no two processes wait for each other.
        counts = sorted(downloads.items())
        this_week = week(datetime.now(UTC).date())
        stamps = sorted(uses.items(), key=lambda use: (use[0][0].column, use[0][1]))
        try:
            for keep, entries in logs.items():
                while entries:
                    keep(entries[:BATCH])
                    del entries[:BATCH]
            while counts:
                with transaction.atomic(), connection.cursor() as cursor:
                    for version_id, count in counts[:BATCH]:
                        cursor.execute(_ADD, [count, version_id])
                        cursor.execute(_ADD_WEEK, [count, this_week, version_id])
                del counts[:BATCH]
            while stamps:
                with transaction.atomic():
                    for ((table, column), pk), at in stamps[:BATCH]:
                        earlier = Q(**{column: None}) | Q(**{f"{column}__lt": at})
                        table.objects.filter(earlier, pk=pk).update(**{column: at})
                del stamps[:BATCH]
        finally:
            with self._lock:
                for keep, entries in logs.items():
                    self._entries[keep] = entries + self._entries.get(keep, [])
            for version_id, count in counts:
                self.add_download(version_id, count)
            for (stamp, pk), at in stamps:
                self.add_use(stamp, pk, at)

    def clear(self) -> None:
        """Forget all notes."""
        with self._lock:
            self._downloads.clear()
            self._uses.clear()
            self._entries.clear()

    def restart_after_fork(self) -> None:
        """Start empty in a child: the parent writes its own notes, with its own thread."""
        has_writer = self._has_writer
        Notes.__init__(self)
        self._has_writer = has_writer

    def _call_writer(self) -> None:
        if not self._has_writer or self._pending.is_set():
            return
        with self._lock:
            self._pending.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._write, name="usage", daemon=True)
                self._thread.start()

    def _write(self) -> None:
        while True:
            self._pending.wait()
            time.sleep(FLUSH_SECONDS)
            try:
                if maintenance_mode.current().is_read_only:
                    continue
                self._pending.clear()
                self.flush()
            except DatabaseError as error:
                log.warning("usage_not_written", error=type(error).__name__)
            finally:
                connections.close_all()

    def _flush_at_exit(self) -> None:
        if not (self._downloads or self._uses or any(self._entries.values())):
            return
        try:
            if maintenance_mode.current().is_read_only:
                log.warning("usage_lost", error="read-only maintenance")
                return
            with connection.cursor() as cursor:
                if connection.vendor == "sqlite":
                    cursor.execute(f"PRAGMA busy_timeout = {LAST_FLUSH_MILLISECONDS}")
                else:
                    cursor.execute(f"SET lock_timeout = {LAST_FLUSH_MILLISECONDS}")
            self.flush()
            self.flush()  # what the first one noted: entries to be sent elsewhere
        except DatabaseError as error:
            log.warning("usage_lost", error=type(error).__name__)
        finally:
            connections.close_all()


notes = Notes()
os.register_at_fork(after_in_child=notes.restart_after_fork)


def week(day: date) -> date:
    """The Monday of the week of a day."""
    return day - timedelta(days=day.weekday())


def forget_weeks() -> int:
    """Delete the counts of weeks that are older than ``WEEKS_KEPT``; returns their number."""
    oldest = week(datetime.now(UTC).date()) - timedelta(weeks=WEEKS_KEPT - 1)
    return DownloadWeek.objects.filter(week__lt=oldest).delete()[0]


def refresh_lists() -> int:
    """Copy counts that changed to the documents that lists are sorted by; returns how many."""
    behind = (
        DownloadCount.objects.filter(model__search_document__isnull=False)
        .exclude(downloads=F("model__search_document__downloads"))
        .order_by("pk")
        .values_list("pk", "downloads")
    )
    rows = list(behind)
    for start in range(0, len(rows), BATCH):
        with transaction.atomic():
            for pk, downloads in rows[start : start + BATCH]:
                SearchDocument.objects.filter(pk=pk).update(downloads=downloads)
    return len(rows)
