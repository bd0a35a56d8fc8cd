"""What a profiled session says: which provider holds each node, and how long each kernel took.

A profile slows a small model down several times, so it comes from a process that is not timed.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from runners.engine.benchmark.requests import Profile

_KERNEL = "_kernel_time"
# They run other nodes, whose time is their own already.
_CONTAINERS = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_MOST_NODES = 200
Row = tuple[str, str, str, float, dict[str, Any]]
MOST_EVENTS = 200_000


def of_onnxruntime(session: Any, warm: int) -> Profile:
    """End the session's profile; the first `warm` runs of it are passed over."""
    nodes: Counter[str] = Counter()
    types: dict[str, list[str]] = {}
    for part in session.get_provider_graph_assignment_info():
        for node in part.get_nodes():
            nodes[part.ep_name] += 1
            types.setdefault(part.ep_name, []).append(node.op_type)
    place = Path(session.end_profiling())
    events = json.loads(place.read_text(encoding="utf-8", errors="replace"))
    place.unlink()
    runs = [event for event in events if event.get("name") == "model_run"][warm:]
    since = runs[0]["ts"] if runs else 0
    kernels = [
        event
        for event in events
        if event.get("cat") == "Node" and event["ts"] >= since and event["name"].endswith(_KERNEL)
    ]
    rows = [
        (
            kernel["name"].removesuffix(_KERNEL),
            kernel["args"].get("op_name", ""),
            kernel["args"].get("provider", ""),
            kernel["dur"] / 1e3,
            kernel["args"],
        )
        for kernel in kernels
    ]
    return replace(
        _table(rows, max(len(runs), 1)),
        nodes_by_provider=dict(sorted(nodes.items())),
        operators_by_provider={name: sorted(set(kinds)) for name, kinds in sorted(types.items())},
    )


def of_openvino(compiled: Any, request: Any, provider: str) -> Profile:
    """Read the last run's counters, and the graph that the plugin made of the model."""
    rows: list[Row] = [
        (entry.node_name, entry.node_type, provider, entry.real_time.total_seconds() * 1e3, {})
        for entry in request.get_profiling_info()
        if entry.status == entry.Status.EXECUTED
    ]
    kinds = [op.get_friendly_name() for op in compiled.get_runtime_model().get_ops()]
    return replace(
        _table(rows, 1),
        nodes_by_provider={provider: len(kinds)},
        operators_by_provider={provider: sorted({kind for _, kind, _, _, _ in rows})},
    )


def _table(rows: list[Row], runs: int) -> Profile:
    by_operator: dict[tuple[str, str], list[Any]] = {}
    by_node: dict[tuple[str, str, str], list[Any]] = {}
    kernels: dict[str, dict[str, Any]] = {}
    for name, kind, provider, took, arguments in rows:
        of_kind = by_operator.setdefault((kind, provider), [0, 0.0, set()])
        of_kind[0] += 1
        of_kind[1] += took
        of_kind[2].add(name)
        of_node = by_node.setdefault((name, kind, provider), [0, 0.0, arguments])
        of_node[0] += 1
        of_node[1] += took
        tally = kernels.setdefault(provider, {"count": 0, "time_ms": 0.0})
        if kind not in _CONTAINERS:
            tally["count"] += 1
            tally["time_ms"] += took
    whole = sum(tally["time_ms"] for tally in kernels.values()) or 1.0
    operators = [
        {
            "operator": kind,
            "provider": provider,
            "nodes": len(names),
            "calls": count,
            "time_ms": round(took / runs, 6),
            "share": round(took / whole, 4),
            "contains_others": kind in _CONTAINERS,
        }
        for (kind, provider), (count, took, names) in by_operator.items()
    ]
    nodes = [
        {
            "node": name[:200],
            "operator": kind,
            "provider": provider,
            "calls": count,
            "time_ms": round(took / runs, 6),
            **_sizes(arguments),
        }
        for (name, kind, provider), (count, took, arguments) in by_node.items()
    ]
    return Profile(
        kernels_by_provider={
            name: {"count": tally["count"], "time_ms": round(tally["time_ms"] / runs, 6)}
            for name, tally in sorted(kernels.items())
        },
        runs=runs,
        operators=sorted(operators, key=_by_time),
        nodes=sorted(nodes, key=_by_time)[:_MOST_NODES],
        nodes_left_out=max(0, len(nodes) - _MOST_NODES),
    )


def _by_time(row: dict[str, Any]) -> tuple[float, str]:
    return -row["time_ms"], row.get("node") or row["operator"]


def _sizes(arguments: dict[str, Any]) -> dict[str, int]:
    names = {"parameter_size": "parameter_bytes", "activation_size": "activation_bytes"}
    return {
        ours: int(arguments[theirs])
        for theirs, ours in names.items()
        if str(arguments.get(theirs, "")).isdigit()
    }
