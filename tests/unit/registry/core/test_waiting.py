"""How long a thread may wait for a backend, and callers of one that does not answer."""

from __future__ import annotations

import math

import pytest

from registry.core import breakers, waiting
from registry.core.breakers import Breaker


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    """A process without a limit of its own, as workers are."""
    monkeypatch.setattr(waiting, "_default", math.inf)


def test_only_the_time_without_an_answer_counts():
    assert waiting.left() == math.inf
    with waiting.within(5.0):
        assert waiting.left() == 5.0
        waiting.spend(2.0)
        with waiting.within(1.0):
            assert waiting.left() == 1.0
            waiting.spend(4.0)
            assert waiting.left() == 0.0
        assert waiting.left() == 2.0
        with waiting.within(9.0):
            assert waiting.left() == 2.0
    assert waiting.left() == math.inf


def test_errors_of_another_kind_cost_nothing():
    with waiting.within(5.0):
        with pytest.raises(KeyError), waiting.spent_if(TimeoutError):
            raise KeyError
        assert waiting.left() == 5.0


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(breakers.time, "monotonic", lambda: now[0])
    return now


def test_a_breaker_opens_after_failures_in_a_row(clock):
    breaker = Breaker("bucket")
    for _ in range(breakers.FAILURES - 1):
        breaker.fail()
    assert breaker.allows()
    breaker.succeed()
    for _ in range(breakers.FAILURES):
        assert breaker.allows()
        breaker.fail()
    assert not breaker.allows()


def test_an_open_breaker_lets_one_call_try(clock):
    breaker = Breaker("bucket")
    for _ in range(breakers.FAILURES):
        breaker.fail()
    clock[0] += breakers.RETRY_SECONDS
    assert breaker.allows()
    assert not breaker.allows()
    breaker.fail()
    assert not breaker.allows()
    clock[0] += breakers.RETRY_SECONDS
    assert breaker.allows()
    breaker.succeed()
    assert breaker.allows()
    assert breaker.allows()


def test_a_request_that_waited_for_a_thread_has_less_time_left():
    try:
        waiting.begin_request(2.0)
        assert waiting.read_seconds() == waiting.READ_SECONDS - 2.0
        waiting.begin_request(60.0)
        assert waiting.read_seconds() == waiting.LEAST_SECONDS
    finally:
        waiting.begin_request(0.0)
    assert waiting.read_seconds() == waiting.READ_SECONDS
