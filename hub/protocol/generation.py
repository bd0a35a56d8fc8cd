"""Generation of a decoder with a cache: whether it is consistent, and how fast it is.

The engine makes one from a package, the hub stores it, and clients read it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from hub.protocol import intervals, strict
from hub.protocol.figures import Figure, Status, Unit, absent
from hub.protocol.intervals import Interval, IntervalMethod

# How generation is checked and timed; a higher number has each version judged again.
METHOD = 1
# An interval that is wider than this share of its figure on one side is noisy.
MOST_SPREAD = 0.1
_WIDE = "interval-too-wide"


class CheckKind(StrEnum):
    """What is compared; docs/packages.md describes each."""

    STEPS = "steps"
    BATCH = "batch"
    CACHE_END = "cache-end"
    GREEDY = "greedy"

    @property
    def label(self) -> str:
        """The comparison in words."""
        return _LABELS[self]


_LABELS = {
    CheckKind.STEPS: "Steps with the cache equal one pass",
    CheckKind.BATCH: "A batch of two equals two of one",
    CheckKind.CACHE_END: "A position past the cache is refused",
    CheckKind.GREEDY: "ONNX Runtime and GenAI choose equal tokens",
}


class Outcome(StrEnum):
    """What came of a comparison."""

    PASSED = "passed"
    FAILED = "failed"
    UNMEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class GenerationCheck:
    """A comparison: ``position`` is the first token of the sequence that differs, from 0.

    ``difference`` is the largest absolute one of its scores.
    """

    kind: CheckKind
    outcome: Outcome
    message: str
    position: int | None = None
    difference: float | None = None

    @property
    def title(self) -> str:
        """The comparison in words."""
        return self.kind.label


@dataclass(frozen=True, slots=True)
class Sample:
    """One process: seconds to the first token and of each further one, and its memory in bytes.

    ``memory_bytes`` is what the process had at most beyond what it had before it loaded the model.
    """

    first_seconds: float
    step_seconds: tuple[float, ...]
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Generation after a prompt of ``context`` tokens, by the raw samples of each process."""

    context: int
    cache_bytes: int
    samples: tuple[Sample, ...] = ()

    @property
    def first_token(self) -> Figure:
        """Milliseconds from the prompt to its first token."""
        values = [row.first_seconds * 1e3 for row in self.samples]
        return _figure(values, Unit.MILLISECOND)

    @property
    def tokens_per_second(self) -> Figure:
        """Tokens a second after the first, by the median step of each process."""
        steps = [statistics.median(row.step_seconds) for row in self.samples if row.step_seconds]
        return _figure([1 / step for step in steps if step > 0], Unit.PER_SECOND)

    @property
    def memory(self) -> Figure:
        """Bytes of weights, cache and working memory together: the most of all processes."""
        most = max((row.memory_bytes for row in self.samples), default=None)
        return absent(Unit.BYTE) if most is None else Figure(most, Unit.BYTE)


@dataclass(frozen=True, slots=True)
class Generation:
    """What was found of one decoder: ``model`` is its ONNX file.

    ``context_length`` is what its config states, ``versions`` those of the runtimes, and ``reason``
    why nothing was measured.
    """

    model: str
    context_length: int | None = None
    reason: str = ""
    versions: dict[str, str] | None = None
    checks: tuple[GenerationCheck, ...] = ()
    speeds: tuple[Speed, ...] = ()

    @classmethod
    def read(cls, value: object) -> Generation:
        """Read what the engine or the database has; raises strict.UnreadableError."""
        return strict.Reader().read(cls, value)

    def to_json(self) -> dict[str, Any]:
        """Plain data that ``read`` reads."""
        return asdict(self)

    @property
    def failures(self) -> tuple[GenerationCheck, ...]:
        """The comparisons that differ."""
        return tuple(row for row in self.checks if row.outcome == Outcome.FAILED)

    @property
    def fastest(self) -> Figure:
        """Tokens a second after the shortest prompt."""
        return self.speeds[0].tokens_per_second if self.speeds else absent(Unit.PER_SECOND)


def _figure(values: Sequence[float], unit: Unit) -> Figure:
    """The geometric mean of the processes with its interval."""
    estimate = intervals.geometric_mean(values)
    if estimate is None:
        return Figure(values[0], unit, status=Status.NOISY) if values else absent(unit)
    middle, low, high = estimate
    is_noisy = max(high / middle, middle / low) > 1 + MOST_SPREAD
    return Figure(
        middle,
        unit,
        status=Status.NOISY if is_noisy else Status.ACCEPTED,
        interval=Interval(low, high, IntervalMethod.LOG_MEDIANS),
        reasons=(_WIDE,) if is_noisy else (),
    )
