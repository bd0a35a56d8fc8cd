"""Progress of transfers: lines for a log, a bar for a person, nothing where nobody asked."""

from __future__ import annotations

import io
import sys

from hub import counting
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
