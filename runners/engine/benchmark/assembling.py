"""Puts a record together: what was measured in its fields, and all that follows from it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runners.engine.benchmark import (
    bounds,
    environments,
    power,
    provider_options,
    sessions,
    summary,
)
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import NOT_APPLICABLE, NOT_EXPOSED, Document, Process

if TYPE_CHECKING:
    from runners.engine.benchmark.subjects import Subject


def assemble(
    subject: Subject,
    processes: list[Process],
    quiet: dict[str, Any],
    began: str,
    failure: dict[str, Any] | None = None,
) -> Document:
    """Put together what was measured, and all that follows from it."""
    options, job = subject.options, subject.job
    idle = quiet.get("idle_power_w")
    version = subject.facts.runtime_version or job.versions.get(options.runtime, "")
    environment = environments.describe(
        cores=subject.slot,
        layers=job.layers,
        facts=replace(subject.facts, runtime_version=version),
        options=options,
    )
    measured = {
        "format": form.FORMAT,
        "format_version": form.FORMAT_VERSION,
        "challenge": options.challenge or NOT_APPLICABLE,
        "method": (
            form.COMPARISON_METHOD_VERSION
            if subject.turn_seconds
            else form.method_of(options.scenario)
        ),
        "engine": job.versions.get("engine", NOT_EXPOSED),
        "started_at": began,
        "ended_at": now(),
        "model": _model(subject),
        "config": _config(subject),
        "provider": _provider(subject),
        "environment": environment,
        "gate": options.gate_in_force(),
        "quiet": quiet | {"urgent_work": subject.urgent_work.to_json()},
        "processes": processes,
        "per_operator": _per_operator(subject),
        "power": power.sources(
            options,
            None if isinstance(idle, str) else idle,
            virtualized=environment["virtualized"],
        ),
        "grid": power.grid(options.grid_region),
        "failure": failure,
        "sweeps": [],
    }
    return summary.complete(measured)


def now() -> str:
    """The time of day in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _model(subject: Subject) -> dict[str, Any]:
    files = []
    for path in (subject.entry, *subject.files):
        # What the engine made itself has no path in a version.
        place = subject.job.input.joinpath(*path.split("/")) if path else subject.model
        with place.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        files.append({"path": path, "sha256": sha256, "size": place.stat().st_size})
    return {
        "entry": subject.entry,
        "sha256": files[0]["sha256"],
        "size": sum(file["size"] for file in files),
        "files": files,
        "variant": subject.options.variant,
    }


def _config(subject: Subject) -> dict[str, Any]:
    options = subject.options
    load = _load(subject)
    turns = {"turn_s": subject.turn_seconds} if subject.turn_seconds else {}
    return {
        "scenario": options.scenario,
        **load,
        "inputs": subject.ports,
        "input_source": subject.input_source,
        "seed": options.seed,
        "batch": options.batch or 1,
        "samples_per_query": options.samples_per_query,
        "concurrency": options.concurrency,
        "call_style": options.call_style,
        "intra_op_threads": options.threads,
        "inter_op_threads": 1,
        "spinning": options.spinning,
        "graph_opt_level": subject.facts.graph_opt_level,
        "execution_mode": subject.facts.execution_mode,
        "cores": subject.facts.affinity or subject.pinned,
        "warmup": {
            "least_inferences": 10,
            "least_s": options.warmup_seconds,
            "cap_s": options.warmup_cap_seconds,
            "steady": "the medians of the last three windows agree within 5 %",
        },
        "timed": {
            "least_s": options.timed_seconds,
            "cap_s": options.timed_cap_seconds,
            "most_samples_kept": options.most_samples,
            **turns,
        },
        "processes": options.processes,
        "most_processes": options.most_processes,
        "budget_s": options.budget_seconds,
    }


def _load(subject: Subject) -> dict[str, Any]:
    """What only the server and offline scenarios have: rate, bound and its trials, batches."""
    options = subject.options
    if options.scenario == form.OFFLINE:
        return {"batches": subject.batches} if subject.batches else {}
    if options.scenario != form.SERVER:
        return {}
    rate = {"rate_per_s": subject.rate_per_s}
    if not options.latency_bound_ms:
        return rate
    return rate | {
        "bound": {
            "latency_ms": options.latency_bound_ms,
            "percentile": options.bound_percentile,
            "rate": bounds.SEARCH if options.is_searched else bounds.PRESET,
            "rule": bounds.RULE,
            "trials": list(map(asdict, subject.trials)),
        }
    }


def _provider(subject: Subject) -> dict[str, Any]:
    options, facts, profile = subject.options, subject.facts, subject.profile
    is_native = options.runtime == "onnxruntime"
    requested = options.provider if is_native else sessions.OPENVINO_CPU
    claimed = facts.claimed or requested
    nodes = profile.nodes_by_provider
    others = {name: count for name, count in nodes.items() if name != claimed and count}
    kinds = profile.operators_by_provider
    return {
        "runtime": options.runtime,
        "requested": [requested],
        "claimed": claimed,
        "options": options.provider_options,
        "engine_cache": (
            "engines built by the profiled process"
            if requested == provider_options.TENSORRT
            else NOT_APPLICABLE
        ),
        "strict": options.strict_provider,
        "nodes_by_provider": nodes,
        "kernels_by_provider": profile.kernels_by_provider,
        "partial": bool(others),
        "operators_elsewhere": {name: kinds.get(name, []) for name in sorted(others)},
        "optimised_model_sha256": facts.optimised_model_sha256,
    }


def _per_operator(subject: Subject) -> dict[str, Any]:
    profile = subject.profile
    if not profile.runs:
        return {"status": "not profiled", "operators": [], "nodes": []}
    return {
        "status": "from one profiled process, which was not timed",
        "runs": profile.runs,
        "operators": profile.operators,
        "nodes": profile.nodes,
        "nodes_left_out": profile.nodes_left_out,
    }
