"""The loops that a stopwatch is held to: warm-up, and the four scenarios of MLPerf Inference.

Each asks a callable for inferences and keeps the times in their order. Nothing here knows what an
inference is.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runners.engine.benchmark import record as form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Infer = Callable[[], object]

_clock = time.perf_counter_ns
LEAST_WARMUP = 10
_WINDOWS = 3
_STEADY_WITHIN = 0.05
_SPIN_NS = 200_000
# The share of its time that a model on a quiet host has a processor for itself, at least.
_SERVED = 0.8
_CLOCK_PAIRS = 1001


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the timed part goes on: at least this long and so many queries, but not longer."""

    seconds: float
    cap_seconds: float
    wanted: int
    per_query: int = 1
    rate_per_s: float = 0.0
    seed: int = 0


@dataclass(slots=True)
class Span:
    """What one model's turns gave: nanoseconds of its queries in order, and seconds in all.

    ``last`` is what the last inference gave.
    """

    samples: list[int] = field(default_factory=list)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    last: object = None


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What came before the timed part."""

    count: int
    seconds: float
    is_steady: bool
    # What its last inference gave.
    last: object = None


def warm_up(infer: Infer, seconds: float, cap_seconds: float) -> WarmUp:
    """Infer until the medians of the last three windows agree within 5 %, or the cap is reached.

    A window lasts a quarter of the warm-up, or one inference where that is longer.
    """
    began = _clock()
    each = int(seconds * 1e9 / 4)
    count, now, opened = 0, began, began
    window: list[int] = []
    medians: list[int] = []
    while True:
        before = now
        output = infer()
        now = _clock()
        count += 1
        window.append(now - before)
        if now - opened >= each:
            medians.append(sorted(window)[len(window) // 2])
            window.clear()
            opened = now
        spent = (now - began) / 1e9
        last = medians[-_WINDOWS:]
        is_steady = len(last) == _WINDOWS and max(last) <= min(last) * (1 + _STEADY_WITHIN)
        if spent >= cap_seconds or (count >= LEAST_WARMUP and spent >= seconds and is_steady):
            return WarmUp(count, spent, is_steady, output)


def in_turns(scenario: str, infers: Sequence[Infer], pace: Pace, turn_seconds: float) -> list[Span]:
    """Run one scenario with several models, A B B A, until each had the time of the pace.

    A turn is one query at least. Where neighbours hold the processors, each goes on until it had
    most of that time of a processor, or the cap is reached. A model alone has one turn, which is
    the whole.
    """
    spans = [Span() for _ in infers]
    each = pace
    if len(infers) > 1:
        each = replace(pace, seconds=turn_seconds, cap_seconds=turn_seconds, wanted=1)
    order = list(zip(spans, infers, strict=True))
    while True:
        for span, infer in order:
            turn = timed(scenario, infer, each)
            span.wall_s += turn.wall_s
            span.cpu_s += turn.cpu_s
            span.samples += turn.samples
            span.last = turn.last
        order.reverse()
        if len(infers) == 1 or all(_had_its_time(span, pace) for span in spans):
            return spans


def _had_its_time(span: Span, pace: Pace) -> bool:
    served = span.cpu_s >= _SERVED * pace.seconds or span.wall_s >= pace.cap_seconds
    return served and span.wall_s >= pace.seconds


def timed(scenario: str, infer: Infer, pace: Pace) -> Span:
    """Run one scenario; gives each query's nanoseconds, in order, and what they took in all."""
    waited = 0.0
    used, began = time.process_time(), time.perf_counter()
    if scenario == form.SERVER:
        samples, last, waited = _by_arrival(infer, pace)
    elif scenario == form.MULTI_STREAM:
        samples, last = _one_after_another(lambda: _several(infer, pace.per_query), pace)
    else:
        # Offline is the loop of a single stream: its figure is the throughput.
        samples, last = _one_after_another(infer, pace)
    wall_s = time.perf_counter() - began
    return Span(samples, wall_s, max(time.process_time() - used - waited, 0.0), last)


def _several(infer: Infer, count: int) -> object:
    output = None
    for _ in range(count):
        output = infer()
    return output


def _one_after_another(infer: Infer, pace: Pace) -> tuple[list[int], object]:
    """Query after query; gives their times, and what the last one gave."""
    clock, samples = _clock, []
    begin = clock()
    least, most = begin + int(pace.seconds * 1e9), begin + int(pace.cap_seconds * 1e9)
    while True:
        before = clock()
        output = infer()
        after = clock()
        samples.append(after - before)
        if after >= most or (after >= least and len(samples) >= pace.wanted):
            return samples, output


def _by_arrival(infer: Infer, pace: Pace) -> tuple[list[int], object, float]:
    """Queries arrive at random moments, and each waits for those before it.

    The gaps are exponential, so that arrivals are Poisson's. A query's time runs from its arrival,
    whether or not the one before had ended. Gives what the last one gave, and the processor
    seconds of the waiting: they are no part of an inference.
    """
    draw = random.Random(pace.seed)  # noqa: S311 - a schedule that anybody can repeat
    samples, waited = [], 0.0
    begin = _clock()
    least, most = begin + int(pace.seconds * 1e9), begin + int(pace.cap_seconds * 1e9)
    arrival = begin
    while True:
        arrival += int(draw.expovariate(pace.rate_per_s) * 1e9)
        waited += _wait_until(arrival)
        output = infer()
        after = _clock()
        samples.append(after - arrival)
        if after >= most or (after >= least and len(samples) >= pace.wanted):
            return samples, output, waited


def _wait_until(moment: int) -> float:
    """Sleep for most of the time, and watch the clock for the rest: sleep is not exact.

    Gives the processor seconds that it took, read before the moment: after it they would cost time.
    """
    left = moment - _clock()
    if left <= 0:
        return 0.0
    began = used = time.process_time()
    if left > 2 * _SPIN_NS:
        time.sleep((left - _SPIN_NS) / 1e9)
    while _clock() < moment:
        used = time.process_time()
    return used - began


def clock_ns() -> float:
    """What reading the clock twice takes, in nanoseconds: the least that a sample can be."""
    pairs = []
    for _ in range(_CLOCK_PAIRS):
        before = _clock()
        pairs.append(_clock() - before)
    return float(sorted(pairs)[_CLOCK_PAIRS // 2])
