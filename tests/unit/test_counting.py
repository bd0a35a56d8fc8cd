"""How far long work is: counted with rate and rest, and never more lines than are wanted."""

from __future__ import annotations

import io

import pytest

from hub.counting import Counter, size, span


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.at = 100.0

    def __call__(self):
        return self.at


def work(stream, *, steps, seconds, total=None):
    """Count steps, each of which takes so many seconds."""
    clock = Clock()
    with Counter("graphs made", total or steps, stream=stream, now=clock) as counter:
        for _ in range(steps):
            clock.at += seconds
            counter.advance()
    return stream.getvalue()


def test_a_log_gets_a_line_every_ten_seconds_at_most():
    lines = work(io.StringIO(), steps=500, seconds=0.25).splitlines()
    assert len(lines) == 12 + 1
    assert lines[0] == "graphs made: 40 of 500, 4/s, 2 min left"
    assert lines[-1] == "graphs made: 500 of 500, in 2 min"


def test_short_work_says_nothing_in_a_log():
    assert work(io.StringIO(), steps=39, seconds=0.25) == ""


def test_a_terminal_has_one_line_that_is_written_over():
    said = work(Terminal(), steps=40, seconds=0.25)
    assert said.count("\n") == 1
    assert said.endswith("\rgraphs made: 40 of 40, in 10 s\x1b[K\n")
    assert "\rgraphs made: 20 of 40, 4/s, 5 s left\x1b[K" in said


def test_a_note_and_bytes():
    clock = Clock()
    counter = Counter("read", 10**9, words=size, stream=io.StringIO(), now=clock)
    counter.note = "3 of 12 files"
    clock.at += 5
    counter.advance(25 * 10**7)
    assert counter.line() == "read: 250.0 MB of 1.0 GB, 3 of 12 files, 50.0 MB/s, 15 s left"
    counter.advance(-25 * 10**7)  # what has to come again
    assert counter.line() == "read: 0 B of 1.0 GB, 3 of 12 files"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (89, "89 s"), (120, "2 min"), (9000, "2.5 h")]
)
def test_spans(seconds, words):
    assert span(seconds) == words
