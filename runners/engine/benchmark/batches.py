"""The batch of the offline scenario: the one of the highest throughput, unless the model fixes it.

Batches of 1, 2, 4 … are tried, each in a fresh process, up to a maximum or what memory allows. The
choice is a pure function of what was tried, so that it can be made again from a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BY_THROUGHPUT, FIXED = "highest throughput", "fixed by the model"
ENDS = ("maximum", "memory", "slower", "failed", "time", "fixed")
RULE = "the smallest batch within 3 % of the highest throughput"
_WITHIN = 0.97
# Two larger batches in a row that are this much slower end the trials.
_SLOWER = 0.9
_MOST_MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class BatchTrial:
    """What the process of one batch gave; ``peak_rss_bytes`` is text where it is not exposed."""

    batch: int
    inferences: int
    wall_s: float
    peak_rss_bytes: float | str

    @classmethod
    def of(cls, batch: int, process: Mapping[str, Any]) -> BatchTrial:
        """The trial that a process made."""
        return cls(batch, process["inferences"], process["wall_s"], process["peak_rss_bytes"])

    @classmethod
    def from_record(cls, row: dict[str, Any]) -> BatchTrial:
        """Read a trial of a checked record."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    @property
    def throughput_per_s(self) -> float:
        """Rows of the batch per second."""
        return self.batch * self.inferences / self.wall_s if self.wall_s else 0.0


def best(trials: Sequence[BatchTrial]) -> int:
    """The batch that RULE chooses; 1 where nothing was tried."""
    most = max((trial.throughput_per_s for trial in trials), default=0.0)
    near = (trial.batch for trial in trials if trial.throughput_per_s >= _WITHIN * most)
    return min(near, default=1)


def is_slower(trials: Sequence[BatchTrial]) -> bool:
    """Whether the last two batches are so much slower than the best that the trials end."""
    most = max((trial.throughput_per_s for trial in trials), default=0.0)
    return len(trials) > 2 and all(trial.throughput_per_s < _SLOWER * most for trial in trials[-2:])


def is_too_large(trials: Sequence[BatchTrial], memory_bytes: int) -> bool:
    """Whether twice the last batch would come near the limit of memory, by the growth until now.

    A batch adds what its rows need, so that the step to twice the batch is twice the last step.
    """
    peaks = [trial.peak_rss_bytes for trial in trials if not isinstance(trial.peak_rss_bytes, str)]
    if len(peaks) < 2:
        return False
    step = max(peaks[-1] - peaks[-2], 0)
    return peaks[-1] + 2 * step > _MOST_MEMORY * memory_bytes
