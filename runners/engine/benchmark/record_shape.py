"""The shape that the record of a benchmark has, field by field; others may have written it.

A checker takes data and where it stands in the record, and raises InvalidRecordError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from hub.protocol import stored
from runners.engine.benchmark import batches, bounds
from runners.engine.benchmark.record import (
    CALL_STYLES,
    DERIVED,
    DESCRIBED_OUTPUTS,
    FORMAT,
    FORMAT_VERSION,
    MEASURED,
    MOST_PROCESSES,
    MOST_SAMPLES,
    MOST_SWEEPS,
    NOT_APPLICABLE,
    NOT_EXPOSED,
    READABLE_VERSIONS,
    REPEATS,
    SAMPLED_ELEMENTS,
    SCENARIOS,
    STATISTICS,
    STATUSES,
    Document,
    InvalidRecordError,
)

Check = Callable[[Any, str], None]

_MOST_TEXT = 2000
_MOST_ROWS = 5000
_MOST_NS = 10**15


def check(data: Any) -> Document:
    """Give the data back if it has the shape of a record; raises InvalidRecordError.

    It says nothing about whether the sums are right: that is `verification.problems`.
    """
    _check(data, "record", is_nested=False)
    record: Document = data
    return record


def _check(data: Any, where: str, *, is_nested: bool) -> None:
    if not isinstance(data, dict):
        raise InvalidRecordError(f"{where}: it must be an object")
    version = data.get("format_version")
    if type(version) is not int or version not in READABLE_VERSIONS:
        raise InvalidRecordError(
            f"{where}.format_version: it must be {FORMAT_VERSION}; measure again with the "
            "`hub bench` of this version"
        )
    _object(data, where, MEASURED | DERIVED)
    if data["format"] != FORMAT:
        raise InvalidRecordError(f"{where}.format: it must be {FORMAT!r}")
    for name, checker in _FIELDS.items():
        checker(data[name], f"{where}.{name}")
    _list(data["processes"], f"{where}.processes", MOST_PROCESSES)
    for place, process in enumerate(data["processes"]):
        check_process(process, f"{where}.processes[{place}]", format_version=version)
    _list(data["sweeps"], f"{where}.sweeps", 0 if is_nested else MOST_SWEEPS)
    for place, sweep in enumerate(data["sweeps"]):
        spot = f"{where}.sweeps[{place}]"
        _object(sweep, spot, frozenset({"axis", "value", "record"}))
        _word(sweep["axis"], f"{spot}.axis", ("batch", "threads"))
        _whole(sweep["value"], f"{spot}.value")
        _check(sweep["record"], f"{spot}.record", is_nested=True)


def check_process(data: Any, where: str, *, format_version: int = FORMAT_VERSION) -> None:
    """Check one process of a record of a format; raises InvalidRecordError."""
    _object(data, where, frozenset(_OF_PROCESS) | {"samples_ns"})
    for name, checker in _OF_PROCESS.items():
        checker(data[name], f"{where}.{name}")
    if format_version >= FORMAT_VERSION:
        _keyed({"tensors": _each(_TENSOR, DESCRIBED_OUTPUTS)})(data["outputs"], f"{where}.outputs")
    samples = data["samples_ns"]
    _list(samples, f"{where}.samples_ns", MOST_SAMPLES)
    if not all(type(sample) is int and 0 <= sample < _MOST_NS for sample in samples):
        raise InvalidRecordError(f"{where}.samples_ns: it must hold whole nanoseconds")


def _object(data: Any, where: str, keys: frozenset[str]) -> None:
    if not isinstance(data, dict):
        raise InvalidRecordError(f"{where}: it must be an object")
    if data.keys() != keys:
        strange = sorted(str(key)[:40] for key in data.keys() ^ keys)
        raise InvalidRecordError(f"{where}: unknown or missing {', '.join(strange[:5])}")


def _list(data: Any, where: str, most: int) -> None:
    if not isinstance(data, list) or len(data) > most:
        raise InvalidRecordError(f"{where}: it must be a list of at most {most}")


def _word(data: Any, where: str, allowed: tuple[str, ...]) -> None:
    if data not in allowed:
        raise InvalidRecordError(f"{where}: it must be one of {', '.join(allowed)}")


def _text(data: Any, where: str) -> None:
    if not isinstance(data, str) or len(data) > _MOST_TEXT:
        raise InvalidRecordError(f"{where}: it must be text of at most {_MOST_TEXT} characters")


def _matching(pattern: str) -> Check:
    form = re.compile(pattern)

    def checker(data: Any, where: str) -> None:
        if not isinstance(data, str) or not form.fullmatch(data):
            raise InvalidRecordError(f"{where}: it must look like {form.pattern}")

    return checker


def _whole(data: Any, where: str) -> None:
    if type(data) is not int or not 0 <= data < _MOST_NS:
        raise InvalidRecordError(f"{where}: it must be a whole number of at least 0")


def _positive(data: Any, where: str) -> None:
    _whole(data, where)
    if not data:
        raise InvalidRecordError(f"{where}: it must be a whole number of at least 1")


def _number(data: Any, where: str) -> None:
    # The comparison also refuses NaN.
    if not stored.is_number(data) or not 0 <= data < _MOST_NS:
        raise InvalidRecordError(f"{where}: it must be a number of at least 0")


def _reading(data: Any, where: str) -> None:
    if data not in (NOT_EXPOSED, NOT_APPLICABLE):
        _number(data, where)


def _flag(data: Any, where: str) -> None:
    if not isinstance(data, bool):
        raise InvalidRecordError(f"{where}: it must be true or false")


def _plain(data: Any, where: str) -> None:
    """Any JSON object, bounded in depth and in the number of values."""
    if not isinstance(data, dict):
        raise InvalidRecordError(f"{where}: it must be an object")
    _bounded(data, where, 6)


def _bounded(data: Any, where: str, depth: int) -> None:
    values: list[Any] = []
    if isinstance(data, dict):
        if not all(isinstance(key, str) and len(key) <= 200 for key in data):
            raise InvalidRecordError(f"{where}: its names must be short text")
        values = list(data.values())
    elif isinstance(data, list):
        values = data
    elif isinstance(data, str):
        _text(data, where)
    elif isinstance(data, float) and not abs(data) < float("inf"):
        raise InvalidRecordError(f"{where}: it contains an invalid number")
    if values and (depth == 0 or len(values) > _MOST_ROWS):
        raise InvalidRecordError(f"{where}: it is too deep or too long")
    for value in values:
        _bounded(value, where, depth - 1)


def _keyed(checkers: dict[str, Check], may_have: dict[str, Check] | None = None) -> Check:
    """Check an object that has at least these fields, and some others where it has them.

    What else it has is plain data.
    """

    def checker(data: Any, where: str) -> None:
        _plain(data, where)
        for name, inner in checkers.items():
            if name not in data:
                raise InvalidRecordError(f"{where}: missing {name}")
            inner(data[name], f"{where}.{name}")
        for name in data.keys() & (may_have or {}).keys():
            (may_have or {})[name](data[name], f"{where}.{name}")

    return checker


def _each(inner: Check, most: int) -> Check:
    def checker(data: Any, where: str) -> None:
        _list(data, where, most)
        for item in data:
            inner(item, where)

    return checker


def _optional(inner: Check) -> Check:
    return lambda data, where: None if data is None else inner(data, where)


def _one_of(*words: str) -> Check:
    return lambda data, where: _word(data, where, words)


def _mapped(inner: Check) -> Check:
    def checker(data: Any, where: str) -> None:
        _plain(data, where)
        for name, value in data.items():
            inner(value, f"{where}.{name}")

    return checker


def _power(data: Any, where: str) -> None:
    _keyed({"provenance": _one_of("measured", "estimated", "declared", "none")})(data, where)
    figure_names = {"estimated": "watts_per_core", "declared": "j_per_inference"}
    name = figure_names.get(data["provenance"])
    if name:
        _keyed({name: _number, "source": _text})(data, where)


_SHA256 = _matching(r"[0-9a-f]{64}")
_MAYBE_SHA256 = _matching(rf"[0-9a-f]{{64}}|{NOT_EXPOSED}|{NOT_APPLICABLE}")


def _time(data: Any, where: str) -> None:
    try:
        datetime.strptime(data, "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007 - the Z is matched
    except (TypeError, ValueError):
        raise InvalidRecordError(
            f"{where}: it must be a time in UTC such as 2026-11-22T00:00:00Z"
        ) from None


_TEXTS = _each(_text, 100)
_FILE = _keyed({"path": _text, "sha256": _SHA256, "size": _whole})
_PORT = _keyed({"name": _text, "dtype": _text, "shape": _each(_whole, 32)})


def _element(data: Any, where: str) -> None:
    if not stored.is_scalar(data):
        raise InvalidRecordError(f"{where}: it must be a number or text")


def _signed(data: Any, where: str) -> None:
    if not stored.is_number(data):
        raise InvalidRecordError(f"{where}: it must be a number")


# One output of the last inference, as `outputs.tensors` describes it.
_TENSOR = _keyed(
    {
        "dtype": _text,
        "shape": _each(_whole, 32),
        "elements": _each(_element, SAMPLED_ELEMENTS),
        "finite": _optional(_whole),
        **dict.fromkeys(STATISTICS, _optional(_signed)),
    }
)
_TRIAL = _keyed(
    {
        "rate_per_s": _number,
        "samples": _whole,
        "over_bound": _whole,
        "unserved": _whole,
        "estimate_ms": _optional(_number),
        "processes": _positive,
    }
)
_BOUND = _keyed(
    {
        "latency_ms": _number,
        "percentile": _one_of(*bounds.PERCENTILES),
        "rate": _one_of(bounds.SEARCH, bounds.PRESET),
        "rule": _text,
        "trials": _each(_TRIAL, 4 * bounds.MOST_TRIALS),
    }
)
_TRIED = _keyed(
    {
        "batch": _positive,
        "inferences": _whole,
        "wall_s": _number,
        "peak_rss_bytes": _reading,
    }
)
_BATCHES = _keyed(
    {
        "choice": _one_of(batches.BY_THROUGHPUT, batches.FIXED),
        "most": _positive,
        "ended": _one_of(*batches.ENDS),
        "reason": _text,
        "tried": _each(_TRIED, 32),
        "inputs_of_one": _each(_PORT, 200),
    }
)
_LIMITS = (
    "psi_cpu_some",
    "foreign_cpu",
    "steal",
    "between_process_cv",
    "least_processes",
    "widest_interval",
)
_FIELDS: dict[str, Check] = {
    "method": _text,
    "engine": _text,
    "challenge": _matching(rf"[0-9a-f]{{64}}|{NOT_APPLICABLE}"),
    "started_at": _time,
    "ended_at": _time,
    "model": _keyed(
        {"entry": _text, "sha256": _SHA256, "size": _whole, "files": _each(_FILE, 500)}
    ),
    "config": _keyed(
        {
            "scenario": _one_of(*SCENARIOS),
            "inputs": _each(_PORT, 200),
            "input_source": _text,
            "seed": _whole,
            "batch": _whole,
            "samples_per_query": _whole,
            "call_style": _one_of(*CALL_STYLES),
            "intra_op_threads": _whole,
        },
        {"concurrency": _positive, "rate_per_s": _number, "bound": _BOUND, "batches": _BATCHES},
    ),
    "provider": _keyed(
        {
            "runtime": _text,
            "requested": _TEXTS,
            "claimed": _text,
            "partial": _flag,
            "nodes_by_provider": _mapped(_whole),
            "kernels_by_provider": _mapped(_keyed({"count": _whole, "time_ms": _number})),
        }
    ),
    "environment": _plain,
    "gate": _keyed(dict.fromkeys(_LIMITS, _number)),
    "quiet": _keyed({"is_quiet": _flag, "waited_s": _number}),
    "per_operator": _keyed({"status": _text, "operators": _each(_plain, _MOST_ROWS)}),
    "power": _power,
    "grid": _optional(
        _keyed({"region": _text, "g_per_kwh": _number, "year": _whole, "source": _text})
    ),
    "failure": _optional(_plain),
    "environment_digest": _SHA256,
    "accounting": _plain,
    "stats": _optional(_plain),
    "energy": _plain,
    "carbon": _plain,
    "comparability": _plain,
    "comparability_key": _SHA256,
    "status": _one_of(*STATUSES),
    "reasons": _TEXTS,
    "content_sha256": _SHA256,
}
_OF_PROCESS: dict[str, Check] = {
    "ordinal": _whole,
    "kept_every": _whole,
    "queries": _whole,
    "inferences": _whole,
    # Queries of the server that arrived in the timed part and had no turn.
    "unserved": _whole,
    "wall_s": _number,
    "cpu_time_s": _reading,
    "warmup_count": _whole,
    "warmup_s": _number,
    "steady": _flag,
    "session_load_ms": _number,
    "first_inference_ms": _number,
    "peak_rss_bytes": _reading,
    "floor_rss_bytes": _reading,
    "peak_device_bytes": _reading,
    "involuntary_switches": _reading,
    "timer_ns": _number,
    "clock_khz": _reading,
    "meter_j": _mapped(_number),
    "interference": _keyed(
        dict.fromkeys(
            ("psi_cpu_some", "foreign_cpu", "steal", "throttled", "foreign_gpu_pids"), _reading
        )
    ),
    "failure": _optional(_plain),
    # The last timed inference's, and whether they repeat those of an inference before it.
    "outputs": _keyed({"sha256": _MAYBE_SHA256, "repeat": _one_of(*REPEATS)}),
    "rejected": _flag,
    "reasons": _TEXTS,
}
