"""The loops that a stopwatch is held to: warm-up, and the four scenarios of MLPerf Inference.

Each asks a callable for inferences and keeps the times in their order. Nothing here knows what an
inference is.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from runners.engine.benchmark import record as form

Infer = Callable[[], object]

_clock = time.perf_counter_ns
LEAST_WARMUP = 10
_WINDOWS = 3
_STEADY_WITHIN = 0.05
_SPIN_NS = 200_000
# The share of its time that a model on a quiet host has a processor for itself, at least.
_SERVED = 0.8
_CLOCK_PAIRS = 1001
_MOST_UNSERVED = 1_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """Duration of the timed part: at least this long and this many queries, with a maximum."""

    seconds: float
    cap_seconds: float
    samples: int
    per_query: int = 1
    rate_per_s: float = 0.0
    seed: int = 0


@dataclass(slots=True)
class Span:
    """What one model's turns gave: nanoseconds of its queries in order, and seconds in all.

    ``last`` holds what each caller's last inference gave, by the caller's place: one that was never
    asked is not in it. ``unserved`` counts queries that arrived in time and had no turn before the
    cap.
    """

    samples: list[int] = field(default_factory=list)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    last: dict[int, object] = field(default_factory=dict)
    unserved: int = 0


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


def in_turns(
    scenario: str,
    infers: Sequence[Infer],
    pace: Pace,
    turn_seconds: float,
    others: Sequence[Infer] = (),
) -> list[Span]:
    """Run one scenario with several models, A B B A, until each had the time of the pace.

    ``others`` are further callers of a model alone, for queries that overlap.

    A turn is one query at least. Where neighbours hold the processors, each goes on until it had
    most of that time of a processor, or the cap is reached. A model alone has one turn, which is
    the whole.
    """
    spans = [Span() for _ in infers]
    each = pace
    if len(infers) > 1:
        each = replace(pace, seconds=turn_seconds, cap_seconds=turn_seconds, samples=1)
    order = list(zip(spans, infers, strict=True))
    while True:
        for span, infer in order:
            turn = timed(scenario, infer, each, others)
            span.wall_s += turn.wall_s
            span.cpu_s += turn.cpu_s
            span.samples += turn.samples
            span.unserved += turn.unserved
            span.last = turn.last
        order.reverse()
        if len(infers) == 1 or all(_had_its_time(span, pace) for span in spans):
            return spans


def _had_its_time(span: Span, pace: Pace) -> bool:
    served = span.cpu_s >= _SERVED * pace.seconds or span.wall_s >= pace.cap_seconds
    return served and span.wall_s >= pace.seconds


def timed(scenario: str, infer: Infer, pace: Pace, others: Sequence[Infer] = ()) -> Span:
    """Run one scenario; gives each query's nanoseconds, in order, and what they took in all."""
    used, began = time.process_time(), time.perf_counter()
    desk = _Desk(pace, is_shared=bool(others))
    if scenario == form.SERVER:
        samples, last = desk.serve([infer, *others])
    elif scenario == form.MULTI_STREAM:
        samples, last = _one_after_another(lambda: _several(infer, pace.per_query), pace)
    else:
        # Offline is the loop of a single stream: its figure is the throughput.
        samples, last = _one_after_another(infer, pace)
    wall_s = time.perf_counter() - began
    cpu_s = max(time.process_time() - used - desk.waited_s, 0.0)
    return Span(samples, wall_s, cpu_s, last, desk.unserved)


def _several(infer: Infer, count: int) -> object:
    output = None
    for _ in range(count):
        output = infer()
    return output


def _one_after_another(infer: Infer, pace: Pace) -> tuple[list[int], dict[int, object]]:
    """Query after query; gives their times, and what the last one gave."""
    clock, samples = _clock, []
    begin = clock()
    least, most = begin + int(pace.seconds * 1e9), begin + int(pace.cap_seconds * 1e9)
    while True:
        before = clock()
        output = infer()
        after = clock()
        samples.append(after - before)
        if after >= most or (after >= least and len(samples) >= pace.samples):
            return samples, {0: output}


class _Desk:
    """Queries that arrive at random moments, and callers that each take the next one.

    The gaps are exponential, so that arrivals are Poisson's. A query's time runs from its arrival,
    whether or not a caller was free. One caller at a time waits for the next arrival, while the
    others infer; queries that arrive while all of them infer wait in their order.
    """

    def __init__(self, pace: Pace, *, is_shared: bool) -> None:
        self.waited_s = 0.0
        self.unserved = 0
        self._pace = pace
        # Of several threads the processor time of the waiting one alone is that of waiting.
        self._used = time.thread_time if is_shared else time.process_time
        self._draw = random.Random(pace.seed)  # noqa: S311 - a schedule that anybody can repeat
        self._turn = threading.Lock()
        self._count = 0
        self._arrival = self._least = self._most = 0
        self._is_over = False
        self._errors: list[BaseException] = []

    def serve(self, infers: Sequence[Infer]) -> tuple[list[int], dict[int, object]]:
        """Serve all queries that arrive in the time of the pace.

        Gives their times in order of arrival, and what each caller's last inference gave. Raises
        what an inference raises.
        """
        self._arrival = _clock()
        self._least = self._arrival + int(self._pace.seconds * 1e9)
        self._most = self._arrival + int(self._pace.cap_seconds * 1e9)
        last: dict[int, object] = {}
        times: list[list[tuple[int, int]]] = [[] for _ in infers]
        calls = [
            partial(self._call, infer, times[place], last, place)
            for place, infer in enumerate(infers)
        ]
        _together(calls)
        if self._errors:
            raise self._errors[0]
        return [sample for _, sample in sorted(pair for own in times for pair in own)], last

    def _call(
        self, infer: Infer, times: list[tuple[int, int]], last: dict[int, object], place: int
    ) -> None:
        try:
            while (query := self._next()) is not None:
                number, arrival = query
                last[place] = infer()
                times.append((number, _clock() - arrival))
        except BaseException as error:  # noqa: BLE001 - raised again where the threads are joined
            self._is_over = True
            self._errors.append(error)

    def _next(self) -> tuple[int, int] | None:
        """Wait for the next query: its number and its arrival; None after the last one."""
        with self._turn:
            if self._is_over:
                return None
            self._arrival += self._gap()
            is_enough = self._arrival >= self._least and self._count >= self._pace.samples
            if is_enough or max(self._arrival, _clock()) >= self._most:
                self._is_over = True
                while self._arrival < self._least and self.unserved < _MOST_UNSERVED:
                    self.unserved += 1
                    self._arrival += self._gap()
                return None
            self._count += 1
            self.waited_s += _wait_until(self._arrival, self._used)
            return self._count, self._arrival

    def _gap(self) -> int:
        # At least a nanosecond, so that the queries of any rate come to an end.
        return max(1, int(self._draw.expovariate(self._pace.rate_per_s) * 1e9))


def overlap(infers: Sequence[Infer], each: int) -> None:
    """Have several callers infer at the same time, so that what they need for it is there."""
    _together([partial(_several, infer, each) for infer in infers])


def _together(calls: Sequence[Callable[[], object]]) -> None:
    """Run calls at the same time, the first one in this thread, and wait for all of them."""
    threads = [threading.Thread(target=call) for call in calls[1:]]
    for thread in threads:
        thread.start()
    calls[0]()
    for thread in threads:
        thread.join()


def _wait_until(moment: int, used: Callable[[], float]) -> float:
    """Sleep for most of the time, and watch the clock for the rest: sleep is not exact.

    Gives the processor seconds that it took by the clock ``used``, read before the moment: after it
    they would cost time.
    """
    left = moment - _clock()
    if left <= 0:
        return 0.0
    began = now = used()
    if left > 2 * _SPIN_NS:
        time.sleep((left - _SPIN_NS) / 1e9)
    while _clock() < moment:
        now = used()
        # Lets callers go on whose inference has ended: only one thread runs Python.
        time.sleep(0)
    return now - began


def clock_ns() -> float:
    """What reading the clock twice takes, in nanoseconds: the least that a sample can be."""
    pairs = []
    for _ in range(_CLOCK_PAIRS):
        before = _clock()
        pairs.append(_clock() - before)
    return float(sorted(pairs)[_CLOCK_PAIRS // 2])
