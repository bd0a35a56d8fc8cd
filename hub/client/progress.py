"""Progress of transfers: a bar by tqdm on a terminal and in notebooks, else counted lines.

tqdm is optional. Without it there are lines on a terminal as well.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Self

from hub import counting
from hub.client import forks


class Bar:
    """A bar over `total` bytes, and over `files` where their number is given.

    `is_shown` forces it on or off; `None` shows it in a notebook, and when standard error is a
    terminal. Elsewhere it is a plain line every ten seconds. Drawing is serialised, so that any
    thread may report.
    """

    def __init__(
        self, text: str, total: int, *, files: int = 0, is_shown: bool | None = None
    ) -> None:
        self._lock = threading.Lock()
        self._files, self._ended = files, 0
        self._bar: Any = None
        self._counter: counting.Counter | None = None
        if wants_bars(is_shown) and total:
            self._bar = _make(text, total)
            if self._bar is None:
                self._counter = counting.Counter(text, total, words=counting.size)
            self._note()

    def advance(self, count: int) -> None:
        """Report that many bytes more (or fewer, when some have to come again)."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(count)
            elif self._counter is not None:
                self._counter.advance(count)

    def end_file(self) -> None:
        """Report that one file more is in place."""
        with self._lock:
            self._ended += 1
            self._note()

    def _note(self) -> None:
        if not self._files:
            return
        words = f"{self._ended} of {counting.plural(self._files, 'file')}"
        if self._bar is not None:
            self._bar.set_postfix_str(words, refresh=False)
        elif self._counter is not None:
            self._counter.note = words

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._counter is not None:
            self._counter.close()


def wants_bars(is_shown: bool | None) -> bool:  # noqa: FBT001  (the caller's own three-way choice)
    """Say whether progress is to be shown: as asked, or else on a terminal and in a notebook."""
    if is_shown is not None:
        return is_shown
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def in_notebook() -> bool:
    """Say whether this process is a kernel of Jupyter, of an editor or of Colab."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython(), "kernel") if ipython else False


def say(text: str, *, is_shown: bool | None) -> None:
    """Write one line of progress to standard error."""
    if wants_bars(is_shown):
        print(text, file=sys.stderr, flush=True)  # noqa: T201  (what a person asked to see)


def _free_bars() -> None:
    """Give the bars of tqdm another lock: a thread of the parent may have been drawing."""
    if bars := sys.modules.get("tqdm"):
        bars.tqdm.set_lock(threading.RLock())


forks.in_child(_free_bars)


def _make(text: str, total: int) -> Any:
    """A bar; None where one would fill a log, and without tqdm."""
    is_notebook = in_notebook()
    if not (is_notebook or sys.stderr.isatty()):
        return None
    try:  # optional, and slow to import
        if is_notebook:
            from tqdm.auto import tqdm  # noqa: PLC0415  (a widget where ipywidgets is installed)
        else:
            from tqdm import tqdm  # noqa: PLC0415
    except ImportError:
        return None
    return tqdm(
        total=total,
        desc=text,
        unit="B",
        unit_scale=True,
        unit_divisor=1024,
        file=sys.stderr,
        dynamic_ncols=True,
        leave=True,
    )
