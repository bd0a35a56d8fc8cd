"""Progress of long work as text: the part done, the rate, and the time left.

On a terminal one line is written over; elsewhere there is a line every ten seconds at most, so that
short work says nothing and logs stay short.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

TERMINAL_SECONDS, LINE_SECONDS = 0.2, 10.0


def number(value: float) -> str:
    """A count: 1 234."""
    return f"{value:,.0f}".replace(",", " ")


def noun(count: int, one: str, many: str = "") -> str:
    """The form of a word for a count: file for 1, files for any other; `many` if not one with s."""
    return one if count == 1 else many or f"{one}s"


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 file, 1 234 files."""
    return f"{number(count)} {noun(count, one, many)}"


def quantity(value: float) -> str:
    """A count with its decimal multiple: 4.09 G."""
    for unit in ("", "k", "M", "G", "T"):
        if value < 1000 or unit == "T":
            break
        value /= 1000
    return f"{value:.3g} {unit}".rstrip()


def size(value: float) -> str:
    """Bytes in decimal units: 12.3 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def span(seconds: float) -> str:
    """A time that is left: 12 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Counter:
    """Counts up to ``total``; ``words`` writes amounts, ``note`` adds what else there is to say."""

    def __init__(
        self,
        text: str,
        total: int,
        *,
        words: Callable[[float], str] = number,
        stream: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.note = ""
        self._text, self._total, self._words = text, total, words
        self._stream = stream or sys.stderr
        self._now = now
        self._is_terminal = self._stream.isatty()
        self._pause = TERMINAL_SECONDS if self._is_terminal else LINE_SECONDS
        self._done = 0
        self._began = self._told_at = now()
        self._last: tuple[int, str] | None = None

    def advance(self, count: int = 1) -> None:
        """Count on (or back, where something has to come again), and tell it when it is due."""
        self._done += count
        if self._now() - self._told_at >= self._pause:
            self._tell()

    def line(self) -> str:
        """The progress as a line of text."""
        seconds = self._now() - self._began
        parts = [f"{self._words(self._done)} of {self._words(self._total)}"]
        parts += [self.note] if self.note else []
        if seconds > 0 and self._done > 0:
            rate = self._done / seconds
            parts.append(f"{self._words(rate)}/s")
            if self._done < self._total:
                parts.append(f"{span((self._total - self._done) / rate)} left")
            else:
                parts[-1] = f"in {span(seconds)}"
        return f"{self._text}: {', '.join(parts)}"

    def _tell(self) -> None:
        self._last, self._told_at = (self._done, self.note), self._now()
        line = f"\r{self.line()}\x1b[K" if self._is_terminal else f"{self.line()}\n"
        self._stream.write(line)
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the last line, where there was one before."""
        if self._last is None:
            return
        if self._last != (self._done, self.note):
            self._tell()
        if self._is_terminal:
            self._stream.write("\n")
            self._stream.flush()
