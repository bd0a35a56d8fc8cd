"""Urgent work beside a measurement: users wait for it, so it begins at once on any host.

The measurement pauses between its processes. A process that ran beside urgent work is repeated; it
is cut if it takes long. After `CUTS` cuts, or once that took as long as the measurement itself may,
it continues beside the work, and those processes do not count.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from runners.engine.confine.children import Stop
from runners.engine.onnx_files import staging

CUTS = 3
# How long a process may go on after urgent work began beside it.
CUT_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_PAUSE_SECONDS = 0.5
_TICK_SECONDS = 0.25


@dataclass(slots=True)
class UrgentWork:
    """The urgent work beside a measurement, and what the measurement lost to it.

    ``lost_seconds`` are those of pauses and of processes that were repeated, at most about
    ``most_seconds``.
    """

    stop: Stop
    most_seconds: float
    cuts: int = 0
    repeats: int = 0
    lost_seconds: float = 0.0

    @property
    def is_given_way(self) -> bool:
        """Whether the measurement still pauses and repeats."""
        return self.cuts < CUTS and self.lost_seconds < self.most_seconds

    def pause(self) -> None:
        """Wait until no urgent work runs; raises StoppedError."""
        while self.is_given_way and self.stop.urgent_since(began := time.monotonic()):
            sleep(self.stop, _PAUSE_SECONDS)
            self.lost_seconds += time.monotonic() - began

    def repeat(self, began: float, *, is_cut: bool) -> None:
        """Count a process that began at ``began`` and is repeated."""
        self.repeats += 1
        self.cuts += is_cut
        self.lost_seconds += time.monotonic() - began

    def to_json(self) -> dict[str, float | int]:
        """What a record says of it."""
        seconds = round(self.lost_seconds, 3)
        return {"lost_s": seconds, "repeated": self.repeats, "cut": self.cuts}


@dataclass(slots=True)
class Cutter(Stop):
    """A cut of the process that continues for `CUT_SECONDS` after urgent work began beside it."""

    work: UrgentWork
    began: float = field(default_factory=time.monotonic)
    has_cut: bool = False
    _look_at: float = 0.0
    _beside_since: float | None = None

    def fileno(self) -> int | None:
        return self.work.stop.fileno()

    def requested(self) -> bool:
        """Whether the job was cancelled, or the process is cut."""
        if self.has_cut or self.work.stop.requested():
            return True
        now = time.monotonic()
        if not self.work.is_given_way:
            return False
        if self._beside_since is not None:
            self.has_cut = now - self._beside_since >= CUT_SECONDS
        elif now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            self._beside_since = now if self.work.stop.urgent_since(self.began) else None
        return self.has_cut


def sleep(stop: Stop, seconds: float) -> None:
    """Sleep, unless the job is cancelled meanwhile; raises StoppedError."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if stop.requested():
            raise staging.StoppedError
        time.sleep(min(left, _TICK_SECONDS))
