"""Latency measured by a reader's browser, as a record that the reader contributes.

A page is one process, which is too few for a firm figure: such a result is noisy, shown separately
and never ranked. About the machine it contains only what the reader saw and sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

from hub.protocol import problems, stored
from registry.core.permissions import Actor
from registry.models import File, Variant
from runners.benchmarks import contributions
from runners.engine.benchmark import record as form
from runners.engine.benchmark import rules, summary
from runners.models import Measurement

RUNTIME, PROVIDER = rules.PAGE, "WasmExecutionProvider"
MOST_RUNS = 1000
_MOST_MS = 3_600_000.0
_MOST_WORDS = 80
_HIDDEN = ("psi_cpu_some", "foreign_cpu", "steal", "throttled")


def contribute(
    actor: Actor, *, variant: Variant, run: Mapping[str, Any], runtime_version: str
) -> Measurement:
    """Keep what a page measured of a variant, as a contribution of its reader.

    ``run`` has `browser` and `device` (text of the reader), `threads`, `inputs` (name, dtype and
    shape of each), `times_ms` in order, `first_ms`, `loading_ms` and `clock_ms`, the step of the
    browser's clock. Raises RecordInvalid, and what `contributions.contribute` raises.
    """
    record = summary.complete(_measured(variant, run, runtime_version))
    rows = contributions.contribute_page_run(
        actor, version=variant.version, text=json.dumps(record), variant=variant.name
    )
    return rows[0]


def _measured(variant: Variant, run: Mapping[str, Any], runtime_version: str) -> dict[str, Any]:
    times = _times(run.get("times_ms"))
    browser, device = _words(run, "browser"), _words(run, "device")
    if not browser:
        raise _wrong("browser", "name the browser")
    threads = run.get("threads")
    if type(threads) is not int or not 1 <= threads <= 256:
        raise _wrong("threads", "it must be an integer from 1 to 256")
    inputs = _inputs(run.get("inputs"))
    ended = datetime.now(UTC)
    began = ended - timedelta(milliseconds=sum(times) + _milliseconds(run, "first_ms"))
    return {
        "format": form.FORMAT,
        "format_version": form.FORMAT_VERSION,
        "challenge": form.NOT_APPLICABLE,
        "method": form.METHOD_VERSION,
        "engine": "a page of the hub",
        "started_at": f"{began:%Y-%m-%dT%H:%M:%SZ}",
        "ended_at": f"{ended:%Y-%m-%dT%H:%M:%SZ}",
        "model": _model(variant),
        "config": {
            "scenario": form.SINGLE_STREAM,
            "inputs": inputs,
            "input_source": "the reader's own",
            "seed": 0,
            "batch": _batch(variant, inputs),
            "samples_per_query": 1,
            "call_style": "run",
            "intra_op_threads": threads,
        },
        "provider": {
            "runtime": RUNTIME,
            "requested": [PROVIDER],
            "claimed": PROVIDER,
            "partial": False,
            "nodes_by_provider": {},
            "kernels_by_provider": {},
        },
        "environment": {
            # In place of the processor, which browsers hide.
            "cpu_model": f"{browser}, {device}" if device else browser,
            "browser": browser,
            "device": device or form.NOT_EXPOSED,
            "runtime": RUNTIME,
            "runtime_version": runtime_version,
        },
        "gate": dict(summary.PROVISIONAL),
        "quiet": {"is_quiet": False, "waited_s": 0.0},
        "processes": [_process(times, run)],
        "per_operator": {"status": form.NOT_EXPOSED, "operators": []},
        "power": {"provenance": "none"},
        "grid": None,
        "failure": None,
        "sweeps": [],
    }


def _process(times: Sequence[float], run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ordinal": 0,
        "samples_ns": [round(time * 1e6) for time in times],
        "kept_every": 1,
        "queries": len(times),
        "inferences": len(times),
        "unserved": 0,
        "wall_s": round(sum(times) / 1e3, 9),
        "cpu_time_s": form.NOT_EXPOSED,
        "warmup_count": 1,
        "warmup_s": _milliseconds(run, "first_ms") / 1e3,
        # The page does not wait for a steady state.
        "steady": False,
        "session_load_ms": _milliseconds(run, "loading_ms"),
        "first_inference_ms": _milliseconds(run, "first_ms"),
        "peak_rss_bytes": form.NOT_EXPOSED,
        "floor_rss_bytes": form.NOT_EXPOSED,
        "peak_device_bytes": form.NOT_APPLICABLE,
        "involuntary_switches": form.NOT_EXPOSED,
        "timer_ns": round(_milliseconds(run, "clock_ms") * 1e6),
        "clock_khz": form.NOT_EXPOSED,
        "meter_j": {},
        "interference": dict.fromkeys(_HIDDEN, form.NOT_EXPOSED)
        | {"foreign_gpu_pids": form.NOT_APPLICABLE},
        "failure": None,
        "outputs": {"sha256": form.NOT_EXPOSED, "repeat": form.NOT_EXPOSED, "tensors": []},
    }


def _model(variant: Variant) -> dict[str, Any]:
    paths = [file.path for file in variant.typed_facts.external_files]
    rows = File.objects.filter(version=variant.version_id, path__in=paths).select_related("blob")
    files = list(rows.order_by("path"))
    entry = variant.entry
    return {
        "entry": entry.path,
        "sha256": entry.blob_id,
        "size": entry.blob.size + sum(file.blob.size for file in files),
        "files": [
            {"path": file.path, "sha256": file.blob_id, "size": file.blob.size} for file in files
        ],
    }


def _batch(variant: Variant, inputs: Sequence[Mapping[str, Any]]) -> int:
    """The common first size of all inputs if the model leaves it free; else 1."""
    firsts = {(port.type.shape or [0])[0] for port in variant.typed_facts.inputs}
    sizes = {(port["shape"] or [0])[0] for port in inputs}
    free = bool(firsts) and not any(isinstance(first, int) for first in firsts)
    return sizes.pop() if free and len(sizes) == 1 and 0 not in sizes else 1


def _inputs(rows: Any) -> list[dict[str, Any]]:
    """The ports as a record has them; the check of records finds what is wrong with them."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _wrong("inputs", "they must be a list of objects")
    inputs = [{name: row.get(name) for name in ("name", "dtype", "shape")} for row in rows]
    for row in inputs:
        shape = row["shape"]
        if not isinstance(shape, list) or not all(type(size) is int for size in shape):
            raise _wrong("inputs", "a shape must be a list of integers")
        row["dtype"] = str(row["dtype"])
    return inputs


def _times(values: Any) -> list[float]:
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_RUNS:
        raise _wrong("times_ms", f"there must be 2 to {MOST_RUNS} of them")
    if not all(_is_span(value) for value in values):
        raise _wrong("times_ms", "each value must be a number of milliseconds")
    return [float(value) for value in values]


def _milliseconds(run: Mapping[str, Any], name: str) -> float:
    value = run.get(name)
    if not _is_span(value):
        raise _wrong(name, "it must be a number of milliseconds")
    return value


def _is_span(value: Any) -> TypeGuard[float]:
    # The comparison also refuses NaN.
    is_number = stored.is_number(value)
    return is_number and 0 <= value <= _MOST_MS


def _words(run: Mapping[str, Any], name: str) -> str:
    value = run.get(name, "")
    if not isinstance(value, str) or len(value) > _MOST_WORDS or not value.isprintable():
        raise _wrong(name, f"it must be at most {_MOST_WORDS} printable characters")
    return " ".join(value.split())


def _wrong(where: str, words: str) -> problems.RecordInvalid:
    return problems.RecordInvalid.at(f"/{where}", f"{where}: {words}.")
