"""Progress of transfers: lines for a log, a bar for a person, nothing where nobody asked."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from hub import counting
from hub.client import progress
from hub.client.progress import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def bring(**options):
    with Bar("zoo/net", 3000, files=2, **options) as bar:
        for size in (1000, 2000):
            bar.advance(size)
            bar.end_file()


def test_a_log_gets_plain_lines_with_files_and_bytes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(counting, "LINE_SECONDS", 0.0)
    bring(is_shown=True)
    lines = sys.stderr.getvalue().splitlines()
    assert lines[0].startswith("zoo/net: 1.0 kB of 3.0 kB, 0 of 2 files, ")
    assert lines[-1].startswith("zoo/net: 3.0 kB of 3.0 kB, 2 of 2 files, ")
    assert "\r" not in sys.stderr.getvalue()


def test_nothing_is_shown_away_from_a_terminal_unless_asked(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(counting, "LINE_SECONDS", 0.0)
    bring()
    assert sys.stderr.getvalue() == ""


def test_a_person_sees_files_beside_the_bytes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(counting, "TERMINAL_SECONDS", 0.0)
    bring()
    assert "of 2 files" in sys.stderr.getvalue()


@pytest.fixture
def notebook(monkeypatch):
    """A kernel, which has no terminal, and what tqdm would draw in it."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_a_notebook_gets_the_bar_that_tqdm_has_for_it(notebook, monkeypatch):
    bars = []

    class Widget:
        def __init__(self, **options):
            self.total, self.count, self.is_closed = options["total"], 0, False
            bars.append(self)

        def update(self, count):
            self.count += count

        def set_postfix_str(self, words, **_):
            self.words = words

        def close(self):
            self.is_closed = True

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Widget))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bring()
    [bar] = bars
    assert (bar.total, bar.count, bar.words, bar.is_closed) == (3000, 3000, "2 of 2 files", True)
    bring(is_shown=False)
    assert len(bars) == 1


def test_a_notebook_without_tqdm_gets_lines(notebook, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(counting, "LINE_SECONDS", 0.0)
    bring()
    assert sys.stderr.getvalue().splitlines()[-1].startswith("zoo/net: 3.0 kB of 3.0 kB, 2 of 2")


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=SimpleNamespace))
    assert not progress.in_notebook()
