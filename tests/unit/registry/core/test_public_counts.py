"""Counts of public things are kept, made anew beside requests, and never outlive a hiding."""

from __future__ import annotations

import threading

import pytest
from django.core.cache import cache

from registry.core import public_counts

KEY = "counts:totals"


class Count:
    """Counts how often it was asked; each answer is another."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return self.calls


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move."""
    cache.clear()
    now = [1_000_000.0]
    monkeypatch.setattr(public_counts.time, "time", lambda: now[0])
    yield now
    cache.clear()


def test_a_count_is_kept_for_a_minute(clock):
    count = Count()
    assert [public_counts.get(KEY, count) for _ in range(3)] == [1, 1, 1]
    clock[0] += 59
    assert public_counts.get(KEY, count) == 1
    clock[0] += 2
    assert public_counts.get(KEY, count) == 2


def test_none_is_not_kept(clock):
    assert public_counts.get(KEY, lambda: None) is None
    assert public_counts.get(KEY, Count()) == 1
    clock[0] += 61
    assert public_counts.get(KEY, lambda: None) is None
    assert cache.get(KEY) is None


def test_a_long_count_is_made_anew_beside_the_requests(clock, monkeypatch):
    monkeypatch.setattr(public_counts, "_LONG_SECONDS", 0.0)
    began, may_end = threading.Event(), threading.Event()
    assert public_counts.get(KEY, lambda: "old") == "old"
    clock[0] += 61

    def slow():
        began.set()
        assert may_end.wait(10)
        return "new"

    assert public_counts.get(KEY, slow) == "old"
    assert began.wait(10)
    assert public_counts.get(KEY, pytest.fail) == "old"  # one at a time makes it
    may_end.set()
    for thread in threading.enumerate():
        if thread.name == f"{KEY}:refresh":
            thread.join(10)
    assert public_counts.get(KEY, pytest.fail) == "new"


def test_a_count_rests_twenty_times_as_long_as_it_takes(clock):
    cache.set(KEY, public_counts._Count("old", clock[0], 10.0))
    clock[0] += 199
    assert public_counts.get(KEY, pytest.fail) == "old"


def test_what_was_hidden_meanwhile_is_not_kept(clock):
    def hide_meanwhile():
        public_counts.forget()
        return "with what is hidden now"

    public_counts.get(KEY, hide_meanwhile)
    assert cache.get(KEY) is None
    assert public_counts.get(KEY, Count()) == 1


def test_who_asks_at_once_waits_for_one_count(clock):
    count, answers = Count(), []
    gate = threading.Barrier(4)

    def ask():
        gate.wait(10)
        answers.append(public_counts.get(KEY, count))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (answers, count.calls) == ([1, 1, 1, 1], 1)
