"""What is tried before a measurement: rates of a server within a bound, batches of offline.

Each rate and each batch has a fresh process of its own, like the processes that are measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace

from runners.engine.benchmark import batches, bounds, environments, summary
from runners.engine.benchmark.record import Process
from runners.engine.benchmark.subjects import Subject, TroubleError

NOT_MET = "latency-bound-not-met"
# How often a rate may turn out to be above the bound when it is measured in all processes.
_MEASUREMENTS = 3
_BATCH_SECONDS = 1.0


def under_bound(subject: Subject, collect: Callable[[], list[Process]]) -> list[Process]:
    """Search the highest rate within the bound and measure there; gives the processes.

    A rate that passed alone and fails in the measurement counts as a trial that failed, and the
    search goes on below it. Raises TroubleError where no rate is within the bound.
    """
    options, percentile = subject.options, subject.options.bound_percentile
    alone = subject.seconds_alone()
    bound_ms = options.latency_bound_ms
    if alone * 1e3 > bound_ms:
        words = f"One inference alone takes {alone * 1e3:.4g} ms, and the bound is {bound_ms:g} ms."
        raise TroubleError(NOT_MET, words)
    search = bounds.Search(options.concurrency / alone, percentile)
    subject.trials = search.trials
    until = time.monotonic() + options.budget_seconds
    samples = subject.samples_wanted
    processes: list[Process] = []
    for _ in range(_MEASUREMENTS):
        while time.monotonic() < until and (rate := search.next_rate()) is not None:
            subject.rate_per_s = rate
            trial = subject.time(0, samples=samples)
            if trial["failure"]:
                words = f"The trial of {rate:g} arrivals per second ended early: "
                raise TroubleError("benchmark-failed", words + trial["failure"]["message"])
            search.trials.append(bounds.RateTrial.of(rate, [trial], bound_ms, percentile))
        highest = search.highest()
        if highest is None:
            raise TroubleError(NOT_MET, _not_met(search, percentile, bound_ms))
        subject.rate_per_s = highest
        processes = collect()
        used = summary.pool(processes, options.gate_in_force())
        whole = bounds.RateTrial.of(highest, used, bound_ms, percentile)
        if whole.is_within(percentile):
            return processes
        search.trials.append(whole)
    # The last measurement is what the record holds, and not one of its trials.
    search.trials.pop()
    return processes


def _not_met(search: bounds.Search, percentile: str, bound_ms: float) -> str:
    lowest = min(search.trials, key=lambda trial: trial.rate_per_s, default=None)
    if lowest is None:
        return "There was no time for a trial. Raise --budget."
    if not lowest.is_decided(percentile):
        return (
            f"At {lowest.rate_per_s:g} arrivals per second {lowest.samples} samples are too few "
            f"for {percentile}. Measure longer (--seconds), or choose another percentile."
        )
    return (
        f"At no rate is {percentile} within {bound_ms:g} ms: at {lowest.rate_per_s:g} arrivals per "
        f"second its estimate is {lowest.estimate_ms:.4g} ms. Raise the bound or --concurrency."
    )


def choose_batch(subject: Subject) -> None:
    """Set the batch of offline: fixed by the model, or the one of the highest throughput."""
    options = subject.options
    if subject.fixed_batch:
        subject.batches = {
            "choice": batches.FIXED,
            "most": options.most_batch,
            "ended": "fixed",
            "reason": "",
            "tried": [],
            "inputs_of_one": [],
        }
        subject.options = replace(options, batch=subject.fixed_batch)
        return
    of_one = subject.ports
    limit = min(subject.job.limits().memory_bytes, environments.memory_bytes())
    trials: list[batches.BatchTrial] = []
    until = time.monotonic() + options.budget_seconds
    size, ended, reason = 1, "maximum", ""
    while size <= options.most_batch:
        if trials and batches.is_too_large(trials, limit):
            ended = "memory"
            break
        if trials and time.monotonic() > until:
            ended = "time"
            break
        trial = subject.under(replace(options, batch=size), f"{subject.name}-{size}")
        try:
            trial.make_inputs()
            trial.engine_cache.mkdir(exist_ok=True)
            seconds = min(options.timed_seconds, _BATCH_SECONDS)
            process = trial.time(0, samples=1, timed_seconds=seconds)
            reason = process["failure"]["message"] if process["failure"] else ""
        except TroubleError as trouble:
            reason = str(trouble)
        if reason:
            ended = "failed"
            break
        trials.append(batches.BatchTrial.of(size, process))
        if batches.is_slower(trials):
            ended = "slower"
            break
        size *= 2
    if not trials:
        raise TroubleError("benchmark-failed", reason)
    subject.batches = {
        "choice": batches.BY_THROUGHPUT,
        "most": options.most_batch,
        "ended": ended,
        "reason": reason,
        "tried": list(map(asdict, trials)),
        "inputs_of_one": of_one,
    }
    subject.options = replace(options, batch=batches.best(trials))
