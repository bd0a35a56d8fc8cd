"""What must be equal where two figures are ranked together."""

from __future__ import annotations

from typing import Any

from runners.engine.benchmark import batches, bounds
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import NOT_APPLICABLE, NOT_EXPOSED, Document

_MACHINE = (
    "cpu_family",
    "cpu_model_number",
    "cpu_stepping",
    "cpu_microcode",
    "governor",
    "turbo",
    "smt",
    "kernel",
    "runtime_build",
)
_GIB = 1 << 30


def machine_of(environment: dict[str, Any]) -> dict[str, Any]:
    """What of a machine changes figures beside its processor's name, for the comparability key."""
    return {name: environment.get(name, NOT_EXPOSED) for name in _MACHINE}


def key_fields(measured: Document) -> dict[str, Any]:
    """The hard fields: figures may be ranked together only where all of these are equal."""
    config, provider = measured["config"], measured["provider"]
    around = measured["environment"]
    is_gpu = provider["claimed"] in form.GPU_PROVIDERS
    memory = around.get("memory_limit_bytes")
    if isinstance(memory, str | None):
        memory = around.get("memory_total_bytes")
    names = ("runtime", "runtime_version", "ep_version", "isa", "isolation", "power_cap_w")
    return {
        **machine_of(around),
        "cgroup_cpu_limit": around.get("cgroup_cpu_limit", NOT_EXPOSED),
        "method": measured["method"],
        "device": "gpu" if is_gpu else "cpu",
        "hardware": around.get("gpu_model" if is_gpu else "cpu_model", NOT_EXPOSED),
        "cpu_model": around.get("cpu_model", NOT_EXPOSED),
        "usable_cpus": around.get("usable_cpus", NOT_EXPOSED),
        "memory_gib": round(memory / _GIB) if isinstance(memory, int) else NOT_EXPOSED,
        "driver_major": str(around.get("driver", NOT_APPLICABLE)).split(".", 1)[0],
        **{name: around.get(name, NOT_EXPOSED) for name in names},
        "provider": provider["claimed"],
        "provider_options": provider.get("options", {}),
        "inputs": sorted([port["dtype"], port["shape"]] for port in config["inputs"]),
        **{
            name: config.get(name, NOT_APPLICABLE)
            for name in (
                "scenario",
                "rate_per_s",
                "samples_per_query",
                "batch",
                "concurrency",
                "call_style",
                "intra_op_threads",
                "inter_op_threads",
                "spinning",
                "graph_opt_level",
                "execution_mode",
                "warmup",
                "timed",
            )
        },
        **_load(config),
    }


def _load(config: dict[str, Any]) -> dict[str, Any]:
    """What stands in the key for a rate that was searched and a batch that was chosen.

    Those are results: the conditions are the bound, and how large a batch may be.
    """
    load: dict[str, Any] = {}
    if "bound" in config:
        bound = config["bound"]
        load |= {"latency_bound_ms": bound["latency_ms"], "bound_percentile": bound["percentile"]}
        if bound["rate"] == bounds.SEARCH:
            load["rate_per_s"] = bounds.SEARCH
    if "batches" in config and config["batches"]["choice"] == batches.BY_THROUGHPUT:
        inputs = config["batches"]["inputs_of_one"]
        load |= {
            "batch": batches.BY_THROUGHPUT,
            "most_batch": config["batches"]["most"],
            "inputs": sorted([port["dtype"], port["shape"]] for port in inputs),
        }
    return load
