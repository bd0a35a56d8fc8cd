"""Counts over sliding windows: exact under concurrency, and never for longer than they should."""

from __future__ import annotations

import threading

import pytest

from registry.core import rates


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    class Clock:
        now = 1_000_000_020.0

        def time(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(rates, "time", made)
    return made


def test_a_count_slides_out_of_the_window(clock):
    limit = rates.Limit("x", rates.Rate(4, 60))
    for _ in range(4):
        rates.reserve([limit])
    with pytest.raises(rates.RateExceededError) as refused:
        rates.reserve([limit])
    # As many seconds as are said, and no fewer.
    clock.now += refused.value.seconds - 1
    with pytest.raises(rates.RateExceededError):
        rates.reserve([limit])
    clock.now += 1
    rates.reserve([limit])
    clock.now += 130
    for _ in range(4):
        rates.reserve([limit])


def test_all_limits_count_or_none(clock):
    narrow, wide = rates.Limit("a", rates.Rate(1, 60)), rates.Limit("b", rates.Rate(2, 60))
    rates.reserve([wide, narrow])
    for _ in range(3):
        with pytest.raises(rates.RateExceededError):
            rates.reserve([wide, narrow])
    rates.release(rates.reserve([wide]))
    rates.reserve([wide])
    with pytest.raises(rates.RateExceededError):
        rates.reserve([wide])


def test_concurrent_events_pass_exactly_as_often_as_they_may(clock):
    limit = rates.Limit("x", rates.Rate(10, 60))
    passed, ready = [], threading.Barrier(24)

    def event():
        ready.wait()
        try:
            passed.append(rates.reserve([limit]))
        except rates.RateExceededError:
            return

    threads = [threading.Thread(target=event) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One that is refused counts until it is taken back, so fewer may pass, but never more.
    assert 1 <= len(passed) <= 10
    for _ in range(10 - len(passed)):
        rates.reserve([limit])
    with pytest.raises(rates.RateExceededError):
        rates.reserve([limit])


@pytest.mark.parametrize(
    ("text", "rate"), [("10/min", (10, 60)), ("50/hour", (50, 3_600)), ("3/d", (3, 86_400))]
)
def test_rates_are_written_as_settings_have_them(text, rate):
    assert rates.Rate.parse(text) == rate
