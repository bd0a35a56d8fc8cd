"""Reads what a benchmark's children answer: they may have been taken over, so shape decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.engine.jobs import JobError

if TYPE_CHECKING:
    from collections.abc import Callable

_FACTS = (
    *("runtime_version", "runtime_build", "claimed", "graph_opt_level", "execution_mode"),
    *("optimised_model_sha256", "ep_version"),
)
_MOST_ROWS, _MOST_NAMES = 1000, 200
_TEXT = 500


def prepared(answer: Any) -> tuple[list[dict[str, Any]], str]:
    """The ports that inputs were made for, and where the values came from."""
    try:
        ports = [
            {
                "name": _text(one["name"]),
                "dtype": _text(one["dtype"]),
                "shape": [_whole(side) for side in one["shape"]],
            }
            for one in answer["inputs"]
        ]
        return ports, _text(answer["input_source"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _strange("prepare") from None


def profiled(answer: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is known of a session, and its profile."""
    try:
        facts: dict[str, Any] = {name: _text(answer["facts"][name]) for name in _FACTS}
        facts["affinity"] = [_whole(core) for core in answer["facts"]["affinity"]]
        said = answer["profile"]
        profile = {
            "nodes_by_provider": {
                _text(name): _whole(count) for name, count in said["nodes_by_provider"].items()
            },
            "operators_by_provider": {
                _text(name): [_text(kind) for kind in kinds[:_MOST_NAMES]]
                for name, kinds in said["operators_by_provider"].items()
            },
            "kernels_by_provider": {
                _text(name): {"count": _whole(one["count"]), "time_ms": _number(one["time_ms"])}
                for name, one in said["kernels_by_provider"].items()
            },
            "runs": _whole(said["runs"]),
            "operators": [_row(one) for one in said["operators"][:_MOST_ROWS]],
            "nodes": [_row(one) for one in said["nodes"][:_MOST_ROWS]],
            "nodes_left_out": _whole(said["nodes_left_out"]),
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _strange("profile") from None
    return facts, profile


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: read(row[name]) for name, read in _ROW.items() if name in row}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value[:_TEXT]


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 10**15:
        raise ValueError
    return value


def _number(value: Any) -> float:
    # The comparison refuses what is no number, too.
    if isinstance(value, bool) or not 0 <= value < 10**15:
        raise ValueError
    return float(value)


_ROW: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("operator", "provider", "node"), _text),
    **dict.fromkeys(("nodes", "calls", "parameter_bytes", "activation_bytes"), _whole),
    **dict.fromkeys(("time_ms", "share"), _number),
    "contains_others": bool,
}


def _strange(stage: str) -> JobError:
    return JobError("engine-error", f"The response of stage {stage} has an unexpected format.")
