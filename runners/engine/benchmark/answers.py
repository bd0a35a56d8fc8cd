"""Reads what a benchmark's children answer: they may have been taken over, so shape decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.engine.benchmark.requests import Profile, SessionFacts
from runners.engine.jobs import JobError

if TYPE_CHECKING:
    from collections.abc import Callable

    Reader = Callable[[Any], Any]

_MOST_ROWS, _MOST_NAMES = 1000, 200
_TEXT = 500


@dataclass(frozen=True, slots=True)
class Prepared:
    """The inputs of a configuration: ports, source, and the rows of one call.

    ``fixed_batch`` are the rows that the model itself fixes, 0 where they are free;
    ``batch_by_sizes`` says that somebody chose the rows by a size of an input.
    """

    ports: list[dict[str, Any]]
    source: str
    batch: int
    fixed_batch: int
    batch_by_sizes: bool


def prepared(answer: Any) -> Prepared:
    """What the stage that made the inputs says of them."""
    try:
        ports = [
            {name: read(port[name]) for name, read in _PORT.items()} for port in answer["ports"]
        ]
        batch = max(1, _whole(answer["batch"]))
        fixed, by_sizes = _whole(answer["fixed_batch"]), bool(answer["batch_by_sizes"])
        return Prepared(ports, _text(answer["source"]), batch, fixed, by_sizes)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _unexpected("prepare") from None


def profiled(answer: Any) -> tuple[SessionFacts, Profile]:
    """What is known of a session, and its profile."""
    try:
        facts, profile = answer
        return (
            SessionFacts(**{name: read(facts[name]) for name, read in _FACTS.items()}),
            Profile(**{name: read(profile[name]) for name, read in _PROFILE.items()}),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _unexpected("profile") from None


def _unexpected(stage: str) -> JobError:
    return JobError("engine-error", f"The response of stage {stage} has an unexpected format.")


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


def _list(read: Reader, most: int | None = None) -> Reader:
    return lambda values: [read(value) for value in values[:most]]


def _mapping(read: Reader) -> Reader:
    return lambda values: {_text(name): read(value) for name, value in values.items()}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: read(row[name]) for name, read in _ROW.items() if name in row}


_PORT: dict[str, Reader] = {"name": _text, "dtype": _text, "shape": _list(_whole)}
_FACTS: dict[str, Reader] = {
    **dict.fromkeys(("runtime_version", "runtime_build", "claimed", "graph_opt_level"), _text),
    **dict.fromkeys(("execution_mode", "optimised_model_sha256", "ep_version"), _text),
    "affinity": _list(_whole),
}
_PROFILE: dict[str, Reader] = {
    "nodes_by_provider": _mapping(_whole),
    "operators_by_provider": _mapping(_list(_text, _MOST_NAMES)),
    "kernels_by_provider": _mapping(
        lambda row: {"count": _whole(row["count"]), "time_ms": _number(row["time_ms"])}
    ),
    "runs": _whole,
    "operators": _list(_row, _MOST_ROWS),
    "nodes": _list(_row, _MOST_ROWS),
    "nodes_left_out": _whole,
}
_ROW: dict[str, Reader] = {
    **dict.fromkeys(("operator", "provider", "node"), _text),
    **dict.fromkeys(("nodes", "calls", "parameter_bytes", "activation_bytes"), _whole),
    **dict.fromkeys(("time_ms", "share"), _number),
    "contains_others": bool,
}
