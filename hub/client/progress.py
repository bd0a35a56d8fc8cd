"""Progress bars on transfers, by tqdm where it is installed and only where a person looks on."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType


class Bar:
    """A bar over `total` bytes; without tqdm, or away from a terminal, it shows nothing.

    `is_shown` forces it on or off; `None` shows it when standard error is a terminal. Drawing is
    serialised, so that any thread may report.
    """

    def __init__(self, text: str, total: int, *, is_shown: bool | None = None) -> None:
        self._lock = threading.Lock()
        self._bar = _make(text, total) if wants_bars(is_shown) and total else None

    def advance(self, count: int) -> None:
        """Report that many bytes more (or fewer, when some have to come again)."""
        if self._bar is not None:
            with self._lock:
                self._bar.update(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def wants_bars(is_shown: bool | None) -> bool:  # noqa: FBT001  (the caller's own three-way choice)
    """Say whether progress is to be shown: as asked, or else on a terminal."""
    if is_shown is not None:
        return is_shown
    return sys.stderr is not None and sys.stderr.isatty()


def say(text: str, *, is_shown: bool | None) -> None:
    """Write one line of progress to standard error."""
    if wants_bars(is_shown):
        print(text, file=sys.stderr, flush=True)  # noqa: T201  (what a person asked to see)


def _make(text: str, total: int) -> Any:
    try:
        from tqdm import tqdm  # noqa: PLC0415  (optional, and slow to import)
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
