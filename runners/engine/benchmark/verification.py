"""Whether a record's figures follow from its samples: the sums are made again and compared.

What was measured must also be possible: counts that belong together, sweeps of the same file, and
the rules between fields (`rules`). That shows a record which was changed afterwards, or that no
machine can have made. It cannot show that the samples were ever measured: for that one has to
repeat them.
"""

from __future__ import annotations

from typing import Any

from runners.engine.benchmark import loads, record_shape, rules, summary, verdicts
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import Document, Process
from runners.engine.benchmark.rules import Broken

_MOST = 20
# How far apart the samples' own time and that of the whole timed part may be: so many times, and
# seconds for what lies between samples, more where only some of them were kept.
_TIMES, _BETWEEN_S, _UNSEEN_S = 4.0, 0.25, 1.0
_SWEPT = {"batch": "batch", "threads": "intra_op_threads"}
# What a change in a measured field shows itself by first comes first.
_ORDER = ("environment_digest", "comparability_key", "status", "reasons", "stats", "accounting")


def problems(data: Any) -> list[Broken]:
    """Each field that does not follow, and each rule that is broken; of a field the rule is `sums`.

    Takes a comparison, too. Raises record.InvalidRecordError for what is neither.
    """
    faults: list[Broken] = []
    if isinstance(data, dict) and data.get("format") == verdicts.FORMAT:
        comparison = verdicts.check(data)
        for name in ("baseline", "candidate"):
            _compare_record(comparison[name], f"{name}.", faults)
        verdict = verdicts.judge(comparison["baseline"], comparison["candidate"])
        _compare(comparison["verdict"], verdict, "verdict", faults)
    else:
        _compare_record(record_shape.check(data), "", faults)
    return faults[:_MOST]


def _compare_record(record: Document, where: str, faults: list[Broken]) -> None:
    right = summary.summarise(record)
    rest = sorted(form.DERIVED - set(_ORDER))
    for name in (*_ORDER, *rest):
        _compare(record[name], right[name], f"{where}{name}", faults)
    for place, (process, other) in enumerate(
        zip(record["processes"], right["processes"], strict=True)
    ):
        for name in sorted(form.DERIVED_OF_PROCESS):
            _compare(process[name], other[name], f"{where}processes[{place}].{name}", faults)
    for place, process in enumerate(record["processes"]):
        _count(process, record["config"], f"{where}processes[{place}]", faults)
    faults += [*rules.broken(record, where), *loads.broken(record, where)]
    for place, sweep in enumerate(record["sweeps"]):
        spot, inner = f"{where}sweeps[{place}]", sweep["record"]
        _compare(sweep["value"], inner["config"][_SWEPT[sweep["axis"]]], f"{spot}.value", faults)
        same = (inner["model"]["sha256"], record["model"]["sha256"])
        _compare(*same, f"{spot}.record.model.sha256", faults)
        _compare_record(inner, f"{spot}.record.", faults)


def _count(process: Process, config: dict[str, Any], where: str, faults: list[Broken]) -> None:
    """Hold the counts and times of a process against its samples, as `measuring` makes them."""
    queries, every, sample_count = (
        process["queries"],
        process["kept_every"],
        len(process["samples_ns"]),
    )
    _compare(
        process["inferences"], queries * config["samples_per_query"], f"{where}.inferences", faults
    )
    _compare(sample_count, -(-queries // every) if every else 0, f"{where}.samples_ns", faults)
    if not sample_count or config["scenario"] == form.SERVER:
        return
    total = sum(process["samples_ns"]) * every / 1e9
    largest = max(process["samples_ns"]) * every / 1e9
    room = _BETWEEN_S if every == 1 else _UNSEEN_S
    # Where all were kept, the rule samples-within-wall is exact. The largest of those that were
    # kept need not stand for others.
    above = every > 1 and total - largest > _TIMES * process["wall_s"] + room
    if above or process["wall_s"] > _TIMES * total + room:
        faults.append(_wrong(f"{where}.wall_s", process["wall_s"], total))


def _compare(value: Any, right: Any, where: str, faults: list[Broken]) -> None:
    if isinstance(value, dict) and isinstance(right, dict) and value.keys() == right.keys():
        for name in right:
            _compare(value[name], right[name], f"{where}.{name}", faults)
    elif value != right or isinstance(value, bool) is not isinstance(right, bool):
        faults.append(_wrong(where, value, right))


def _wrong(field: str, value: Any, right: Any) -> Broken:
    message = "it does not follow from what was measured"
    return Broken("sums", field, value, message, "Send the record as `hub bench` wrote it.", right)
