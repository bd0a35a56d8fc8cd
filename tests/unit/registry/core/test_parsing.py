"""Long texts are read in children: with limits, few at once, and with errors that arrive."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from hub.protocol import problems
from registry.core import parsing
from tests.faults.conftest import wait_for
from tests.unit.registry import hostile_readers as readers

LONG = "x" * 10_000


@pytest.fixture
def parsers(settings):
    settings.HUB_TEXT_SECONDS = 1
    settings.HUB_TEXT_PROCESSES = 1
    made = parsing.Parsers()
    yield made
    made.close()


def ask(parsers, function):
    return parsers.run(function, json.dumps([LONG]))


def test_a_short_text_is_read_at_once_and_a_long_one_in_a_child_that_stays():
    assert parsing.run(readers.name_process, "short") == os.getpid()
    child = parsing.run(readers.name_process, LONG)
    assert child != os.getpid()
    assert parsing.run(readers.name_process, LONG) == child


def test_a_child_that_takes_too_long_is_replaced(parsers):
    first = ask(parsers, readers.name_process)
    with pytest.raises(problems.TextTooCostly, match="more than 1 s"):
        ask(parsers, readers.spin)
    assert ask(parsers, readers.name_process) != first


def test_a_child_that_takes_too_much_memory_is_replaced(parsers):
    first = ask(parsers, readers.name_process)
    with pytest.raises(problems.TextTooCostly):
        ask(parsers, readers.swell)
    assert ask(parsers, readers.name_process) != first


def test_problems_arrive_as_they_were_raised(parsers):
    with pytest.raises(problems.InvalidRequest) as refused:
        ask(parsers, readers.refuse)
    assert refused.value.detail == "10000 characters are refused."
    assert refused.value.errors == ({"pointer": "/a", "detail": "10000 characters are refused."},)
    with pytest.raises(problems.InternalError):
        ask(parsers, readers.fall)


def test_a_child_that_waits_for_long_is_ended_and_the_next_text_has_a_new_one(parsers, monkeypatch):
    monkeypatch.setattr(parsers._pool, "_idle_seconds", 0.3)
    first = ask(parsers, readers.name_process)
    assert ask(parsers, readers.name_process) == first
    wait_for(lambda: not Path(f"/proc/{first}").exists(), "the end of the child")
    second = ask(parsers, readers.name_process)
    assert second != first
    wait_for(lambda: not Path(f"/proc/{second}").exists(), "the end of its successor")


def test_a_child_has_nothing_of_the_hubs_environment(parsers, monkeypatch):
    monkeypatch.setenv("HUB_SECRET_KEY", "secret")
    names = ask(parsers, readers.name_environment)
    assert set(names) - {"LC_CTYPE"} == {  # Python sets that one itself
        *("PATH", "LANG", "HOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    }


def test_those_for_whom_there_is_no_place_are_sent_away_at_once(parsers):
    answers = []

    def rest():
        try:
            answers.append(ask(parsers, readers.rest))
        except problems.Problem as problem:
            answers.append(problem)

    asking = [threading.Thread(target=rest) for _ in range(parsing.WAITING + 6)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    away = [one for one in answers if isinstance(one, problems.Unavailable)]
    assert len(answers) == len(asking)
    assert len(away) >= 5
    assert all(one.extensions == {"retry_after": 2} for one in away)
