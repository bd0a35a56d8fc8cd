"""Whether a record's figures follow from its samples: the sums are made again and compared.

That shows a record which was changed afterwards. It cannot show that the samples were ever
measured: for that one has to repeat them.
"""

from __future__ import annotations

from typing import Any

from runners.engine.benchmark import record as form
from runners.engine.benchmark import summary, verdicts

_MOST = 20
# What a change in a measured field shows itself by first comes first.
_ORDER = ("environment_digest", "comparability_key", "status", "reasons", "stats", "accounting")


def problems(data: Any) -> list[dict[str, Any]]:
    """Each field that does not follow: its path, what the record says and what comes out.

    Takes a comparison, too. Raises record.InvalidRecordError for what is neither.
    """
    found: list[dict[str, Any]] = []
    if isinstance(data, dict) and data.get("format") == verdicts.FORMAT:
        _compare_comparison(verdicts.check(data), found)
    else:
        _compare_record(form.check(data), "", found)
    return found[:_MOST]


def _compare_comparison(said: dict[str, Any], found: list[dict[str, Any]]) -> None:
    for name in ("baseline", "candidate"):
        _compare_record(said[name], f"{name}.", found)
    right = verdicts.judge(said["baseline"], said["candidate"])
    _compare(said["verdict"], right, "verdict", found)


def _compare_record(said: dict[str, Any], where: str, found: list[dict[str, Any]]) -> None:
    right = summary.summarise(said)
    rest = sorted(form.DERIVED - set(_ORDER))
    for name in (*_ORDER, *rest):
        _compare(said[name], right[name], f"{where}{name}", found)
    for place, (one, other) in enumerate(zip(said["processes"], right["processes"], strict=True)):
        for name in sorted(form.DERIVED_OF_PROCESS):
            _compare(one[name], other[name], f"{where}processes[{place}].{name}", found)
    for place, one in enumerate(said["sweeps"]):
        _compare_record(one["record"], f"{where}sweeps[{place}].record.", found)


def _compare(said: Any, right: Any, where: str, found: list[dict[str, Any]]) -> None:
    if isinstance(said, dict) and isinstance(right, dict) and said.keys() == right.keys():
        for name in right:
            _compare(said[name], right[name], f"{where}.{name}", found)
    elif said != right or isinstance(said, bool) is not isinstance(right, bool):
        found.append({"field": where, "said": said, "computed": right})
