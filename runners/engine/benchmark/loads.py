"""Rules about the configuration of a record: its load, what was tried for it, provider options.

`rules` asks whether readings are possible; here the choice of a rate and of a batch is made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runners.engine.benchmark import batches, bounds, provider_options, statistics
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import Document
from runners.engine.benchmark.rules import Broken

_CURE = "Send the record as `hub bench` wrote it."


def broken(record: Document, where: str = "") -> Iterator[Broken]:
    """The rules that one configuration breaks; asks for a record in shape (`record.check`)."""
    yield from _of_options(record, f"{where}provider.options")
    config, field = record["config"], f"{where}config."
    scenario = config["scenario"]
    for name, scenarios in (
        ("bound", (form.SERVER,)),
        ("rate_per_s", (form.SERVER,)),
        ("batches", (form.OFFLINE,)),
    ):
        if name in config and scenario not in scenarios:
            words = f"the scenario {scenario} has no {name}"
            yield Broken("load-of-scenario", f"{field}{name}", scenario, words, _CURE)
    if config.get("concurrency", 1) > 1 and scenario != form.SERVER:
        words = f"queries of the scenario {scenario} do not overlap"
        value = config["concurrency"]
        yield Broken("load-of-scenario", f"{field}concurrency", value, words, _CURE)
    if record["failure"] or not record["processes"]:
        return
    if "bound" in config:
        yield from _of_rate(config, f"{field}bound.trials", field)
    if "batches" in config:
        yield from _of_batch(config, field)


def _of_options(record: Document, field: str) -> Iterator[Broken]:
    provider, config = record["provider"], record["config"]
    options = provider.get("options", {})
    try:
        right = provider_options.read(
            provider["runtime"],
            next(iter(provider["requested"]), ""),
            options if isinstance(options, dict) else {"options": options},
            call_style=config["call_style"],
            concurrency=config.get("concurrency", 1),
        )
        words = "" if right == options else "their values have other types"
    except provider_options.ProviderOptionError as error:
        words = str(error).rstrip(".")
    if words:
        yield Broken("provider-options", field, options, words, _CURE)


def _of_rate(config: dict[str, Any], spot: str, field: str) -> Iterator[Broken]:
    bound, rate = config["bound"], config.get("rate_per_s")
    trials = [bounds.RateTrial.from_record(row) for row in bound["trials"]]
    for place, trial in enumerate(trials):
        allowed = (
            statistics.overruns_allowed(trial.samples, bound["percentile"]) if trial.samples else 0
        )
        estimate, bound_ms = trial.estimate_ms, bound["latency_ms"]
        if (estimate is None) is bool(allowed) or (
            estimate is not None and (estimate <= bound_ms) is not (trial.over_bound < allowed)
        ):
            words = f"{trial.over_bound} of {trial.samples} samples above the bound do not give it"
            yield Broken("rate-of-trials", f"{spot}[{place}].estimate_ms", estimate, words, _CURE)
            return
    if bound["rate"] == bounds.SEARCH:
        highest = bounds.highest(trials, bound["percentile"])
        if highest != rate:
            words = f"the highest rate within the bound is {highest}"
            yield Broken("rate-of-trials", f"{field}rate_per_s", rate, words, _CURE)


def _of_batch(config: dict[str, Any], field: str) -> Iterator[Broken]:
    batch = config["batches"]
    if batch["choice"] != batches.BY_THROUGHPUT:
        return
    best = batches.best([batches.BatchTrial.from_record(row) for row in batch["tried"]])
    if best != config["batch"]:
        words = f"{batches.RULE} is {best}"
        yield Broken("batch-of-trials", f"{field}batch", config["batch"], words, _CURE)
