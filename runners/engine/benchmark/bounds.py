"""The highest rate of arrivals at which a percentile of latency stays under a bound.

The rule is that of MLPerf's server scenario: a rate is within the bound if the percentile's
estimate by early stopping (99 % confidence) is at most the bound, and every query was served. Pure
functions: whoever doubts a rate takes the decision again from the counts of each trial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hub.protocol.intervals import Level
from runners.engine.benchmark import statistics

RULE = (
    f"the percentile's estimate by early stopping, at {int(Level.COMPARISON)} % confidence, is at "
    "most the bound, and every query was served"
)
PERCENTILES = tuple(statistics.PERCENTILES)
SEARCH, PRESET = "search", "given"
MOST_TRIALS = 16
# The search ends when the lowest rate above the bound is so close to the highest below it.
_STEP = 1.05
# One process is luckier than all of them: below a rate that failed in the whole measurement the
# next one is this much lower, and the search does not come nearer to it.
_WIDE_STEP = 1.25
_UP, _DOWN = 1.5, 0.5
_MOST_UP = 4


@dataclass(frozen=True, slots=True)
class RateTrial:
    """What one rate gave: samples, those above the bound, and queries that were never served.

    ``processes`` is 1 for a trial of the search, more for a measurement that was not in the bound.
    """

    rate_per_s: float
    samples: int
    over_bound: int
    unserved: int
    estimate_ms: float | None
    processes: int

    @classmethod
    def of(
        cls,
        rate_per_s: float,
        processes: Sequence[dict[str, Any]],
        bound_ms: float,
        percentile: str,
    ) -> RateTrial:
        """Count the samples of these processes."""
        pooled = sorted(sample for process in processes for sample in process["samples_ns"])
        allowed = statistics.overruns_allowed(len(pooled), percentile) if pooled else 0
        return cls(
            rate_per_s=rate_per_s,
            samples=len(pooled),
            over_bound=sum(sample / 1e6 > bound_ms for sample in pooled),
            unserved=sum(process.get("unserved", 0) for process in processes),
            estimate_ms=pooled[-allowed] / 1e6 if allowed else None,
            processes=len(processes),
        )

    @classmethod
    def from_record(cls, row: dict[str, Any]) -> RateTrial:
        """Read a trial of a checked record."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def is_decided(self, percentile: str) -> bool:
        """Whether the samples suffice for an estimate of the percentile."""
        return bool(self.samples and statistics.overruns_allowed(self.samples, percentile))

    def is_within(self, percentile: str) -> bool:
        """Whether this rate is within the bound by the rule of this module."""
        allowed = statistics.overruns_allowed(self.samples, percentile) if self.samples else 0
        return self.over_bound < allowed and not self.unserved


def highest(trials: Sequence[RateTrial], percentile: str) -> float | None:
    """The highest rate of which every trial is within the bound; None without one."""
    outside = {trial.rate_per_s for trial in trials if not trial.is_within(percentile)}
    within = {trial.rate_per_s for trial in trials} - outside
    return max(within, default=None)


class Search:
    """Chooses the rates to try: up or down from a first one, then by halves in logarithms.

    Whoever tries a rate adds what it gave to ``trials``.
    """

    def __init__(self, start: float, percentile: str) -> None:
        self.trials: list[RateTrial] = []
        self._start = start
        self._percentile = percentile

    def highest(self) -> float | None:
        """The highest rate within the bound until now."""
        return highest(self.trials, self._percentile)

    def next_rate(self) -> float | None:
        """The rate to try next, in arrivals a second; None where the search has ended.

        Rates have three digits, so that no two of them differ by less than can be told.
        """
        if len(self.trials) >= MOST_TRIALS:
            return None
        if not self.trials:
            return _digits(self._start)
        low = self.highest()
        outside = [trial for trial in self.trials if not trial.is_within(self._percentile)]
        above = [trial for trial in outside if low is None or trial.rate_per_s > low]
        if self.trials[-1] in outside and self.trials[-1].processes > 1:
            rate = _digits(self.trials[-1].rate_per_s / _WIDE_STEP)
        elif low is None:
            rate = _digits(min(trial.rate_per_s for trial in outside) * _DOWN)
        elif not above:
            # Far beyond what its callers can serve the bound does not bind, at whatever rate.
            rate = _digits(low * _UP) if low < _MOST_UP * self._start else 0.0
        elif any(trial.rate_per_s <= _digits(low * _step(trial)) for trial in above):
            return None
        else:
            rate = _digits(math.sqrt(low * min(trial.rate_per_s for trial in above)))
        return None if rate <= 0 or rate in {trial.rate_per_s for trial in self.trials} else rate


def _step(trial: RateTrial) -> float:
    return _WIDE_STEP if trial.processes > 1 else _STEP


def _digits(rate: float) -> float:
    return float(f"{rate:.3g}")
