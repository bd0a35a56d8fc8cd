"""An idle process looks at a counter of commits instead of asking its questions again."""

from __future__ import annotations

import sqlite3
import threading
import time
from types import SimpleNamespace

import pytest
from django.db.utils import ConnectionHandler, OperationalError

from registry.core import changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A database file that this process has open, and a second connection to it."""
    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path, check_same_thread=False) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("CREATE TABLE jobs (name TEXT)")
    sqlite = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}
    own = ConnectionHandler({"default": sqlite})["default"]
    monkeypatch.setattr(changes, "connection", own)
    yield SimpleNamespace(own=own, other=other)
    own.close()
    other.close()


def seconds(before, is_over=lambda: False):
    began = time.monotonic()
    changes.wait(before, is_over)
    return time.monotonic() - began


def test_the_mark_changes_with_the_commits_of_others_alone(database):
    before = changes.mark()
    with database.own.cursor() as cursor:
        cursor.execute("INSERT INTO jobs VALUES ('own')")
    assert changes.mark() == before
    with database.other:
        database.other.execute("INSERT INTO jobs VALUES ('other')")
    assert changes.mark() != before


def test_a_commit_during_the_turn_is_not_slept_over(database, monkeypatch):
    monkeypatch.setattr(changes, "LONGEST_SECONDS", 3600.0)
    before = changes.mark()
    with database.other:
        database.other.execute("INSERT INTO jobs VALUES ('at once')")
    changes.wait(before, lambda: False)


def test_a_commit_ends_the_wait(database, monkeypatch):
    monkeypatch.setattr(changes, "LONGEST_SECONDS", 3600.0)

    def commit():
        with database.other:
            database.other.execute("INSERT INTO jobs VALUES ('later')")

    timer = threading.Timer(0.5, commit)
    timer.start()
    changes.wait(changes.mark(), lambda: False)
    timer.join()


def test_a_wait_ends_by_itself_and_when_the_process_stops(database, monkeypatch):
    monkeypatch.setattr(changes, "LONGEST_SECONDS", 0.5)
    assert seconds(changes.mark()) >= 0.5
    monkeypatch.setattr(changes, "LONGEST_SECONDS", 3600.0)
    changes.wait(changes.mark(), lambda: True)


def test_a_database_without_a_counter_is_asked_after_a_short_sleep(database, monkeypatch):
    monkeypatch.setattr(changes, "LONGEST_SECONDS", 3600.0)
    monkeypatch.setattr(database.own, "vendor", "postgresql")
    assert changes.mark() is None
    assert seconds(None) >= changes.LOOK_SECONDS


def test_a_database_that_is_away_is_asked_after_a_short_sleep(database, monkeypatch):
    def ensure_connection():
        raise OperationalError("away")

    monkeypatch.setattr(database.own, "ensure_connection", ensure_connection)
    assert changes.mark() is None
