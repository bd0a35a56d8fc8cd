"""How a model is timed: a quiet host, fresh processes one after another, until the figure is firm.

Every process is kept in the record, whatever became of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runners.engine.benchmark import summary, trials, verdicts
from runners.engine.benchmark.assembling import assemble, now
from runners.engine.benchmark.options import Options
from runners.engine.benchmark.record import NOT_EXPOSED, Document, Process
from runners.engine.benchmark.subjects import Subject, TroubleError
from runners.engine.benchmark.urgent_work import sleep
from runners.engine.hardware import devices, readings
from runners.engine.jobs import Job

_SWEEP_PROCESSES = 5


def wait_until_quiet(job: Job, options: Options) -> dict[str, Any]:
    """Wait for a host that is at rest; tells how long that took, and whether it came to it."""
    gate = options.gate_in_force()
    began = time.monotonic()
    instruments = readings.Instruments(with_gpu=devices.is_gpu(options.provider))
    while True:
        before = instruments.look()
        sleep(job.stop, options.quiet_seconds)
        after = instruments.look()
        reading = readings.interference(before, after)
        reading["foreign_gpu_pids"] = devices.others(options.provider)
        is_quiet = not (summary.loud(reading, gate) or summary.shares_gpu(reading))
        waited = time.monotonic() - began
        if is_quiet or waited + options.quiet_seconds > options.quiet_wait_seconds:
            spent = instruments.energy_between(before, after)
            instruments.close()
            idle = sum(spent.values()) / (after.clock - before.clock) if spent else None
            return {
                "is_quiet": is_quiet,
                "waited_s": round(waited, 3),
                "last_reading": {name: reading[name] for name in sorted(reading)},
                "idle_power_w": NOT_EXPOSED if idle is None else round(idle, 3),
            }


class Collector:
    """Gathers the processes of one subject, and says when there are enough."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.processes: list[Process] = []
        self._gate = subject.options.gate_in_force()
        self._until = time.monotonic() + subject.options.budget_seconds
        self._lost_before = subject.urgent_work.lost_seconds

    def go(self) -> None:
        """Run one process more."""
        self.processes.append(self.subject.time(len(self.processes) + 1))

    def is_done(self) -> bool:
        """Whether the figure is firm enough, or no further process may be run."""
        options, count = self.subject.options, len(self.processes)
        counting = [
            process for process in self.processes if not summary.faults(process, self._gate)
        ]
        dead = count >= 2 and not any(process["samples_ns"] for process in self.processes)
        most = max(options.processes, options.most_processes)
        if count >= most:
            lacking = options.least_processes - len(counting)
            spare = most + options.spare_processes - count
            return dead or lacking <= 0 or lacking > spare or self._is_late()
        if dead:
            return True
        if self._is_late():
            return count >= min(options.processes, options.least_processes)
        if count < options.processes:
            return False
        width = summary.half_width(summary.medians_ms(counting))
        firm = width is not None and width <= self._gate["widest_interval"]
        return firm and len(counting) >= options.least_processes

    def _is_late(self) -> bool:
        """Whether the budget is spent, without what was lost to urgent work."""
        lost = self.subject.urgent_work.lost_seconds - self._lost_before
        return time.monotonic() > self._until + lost


def measure(subject: Subject, tell: Callable[[int], None]) -> Document:
    """Measure one configuration; gives its record, that of a failure included."""
    began = now()
    processes: list[Process] = []
    quiet = {"is_quiet": False, "waited_s": 0.0}
    try:
        subject.prepare()
        tell(15)
        subject.urgent_work.pause()
        quiet = wait_until_quiet(subject.job, subject.options)
        if quiet["is_quiet"] or subject.options.if_busy == "measure":
            if not subject.options.batch:
                trials.choose_batch(subject)
                if subject.options.batch > 1 and not subject.fixed_batch:
                    subject.prepare()
            if subject.options.is_searched:
                processes = trials.under_bound(subject, lambda: _collected(subject, tell))
            else:
                subject.settle_rate()
                processes = _collected(subject, tell)
    except TroubleError as trouble:
        failure = {"code": trouble.code, "message": str(trouble)}
        return assemble(subject, processes, quiet, began, failure)
    return assemble(subject, processes, quiet, began)


def _collected(subject: Subject, tell: Callable[[int], None]) -> list[Process]:
    """Run processes until their figure is firm."""
    collector = Collector(subject)
    while not collector.is_done():
        collector.go()
        tell(20 + 75 * len(collector.processes) // max(subject.options.processes, 1))
    return collector.processes


def alternate(
    baseline: Subject, candidate: Subject, tell: Callable[[int], None]
) -> tuple[Document, Document, str]:
    """Measure two subjects in turns; gives both records, and who was first in each process.

    The number of processes is fixed beforehand: whoever stops when the figures please finds what
    was looked for. Raises TroubleError where one of them does not run, or where their inputs
    differ.
    """
    began = now()
    for subject in (baseline, candidate):
        subject.prepare()
    kinds = [
        sorted((port["dtype"], str(port["shape"])) for port in subject.ports)
        for subject in (baseline, candidate)
    ]
    if kinds[0] != kinds[1]:
        words = "The two models take inputs of different types or shapes."
        raise TroubleError("interfaces-differ", words)
    options = baseline.options
    baseline.urgent_work.pause()
    quiet = wait_until_quiet(baseline.job, options)
    pairs: list[list[Process]] = []
    order = ""
    until = time.monotonic() + options.budget_seconds - baseline.urgent_work.lost_seconds
    if quiet["is_quiet"] or options.if_busy == "measure":
        while not _are_enough(
            pairs, options, is_late=time.monotonic() > until + baseline.urgent_work.lost_seconds
        ):
            first = "AB"[len(order) % 2]
            pairs.append(baseline.time_with(candidate, len(pairs) + 1, first))
            order += first
            tell(20 + 75 * len(pairs) // options.processes)
    sides = [[pair[place] for pair in pairs] for place in (0, 1)]
    return (
        assemble(baseline, sides[0], quiet, began),
        assemble(candidate, sides[1], quiet, began),
        order,
    )


def _are_enough(pairs: list[list[Process]], options: Options, *, is_late: bool) -> bool:
    count = len(pairs)
    dead = count >= 2 and not any(process["samples_ns"] for pair in pairs for process in pair)
    least = min(options.processes, verdicts.LEAST_PAIRS)
    return dead or count >= options.processes or (is_late and count >= least)


def sweep(subject: Subject, tell: Callable[[int], None]) -> list[dict[str, Any]]:
    """Measure the further configurations that the options name, each with fewer processes."""
    options = subject.options
    few = min(options.processes, _SWEEP_PROCESSES)
    plain = replace(options, processes=few, most_processes=few, sweep_batch=(), sweep_threads=())
    configurations = [
        *(("batch", value, replace(plain, batch=value)) for value in options.sweep_batch),
        *(("threads", value, replace(plain, threads=value)) for value in options.sweep_threads),
    ]
    return [
        {
            "axis": axis,
            "value": value,
            "record": measure(subject.under(changed, f"{axis}-{value}"), tell),
        }
        for axis, value, changed in configurations
    ]
