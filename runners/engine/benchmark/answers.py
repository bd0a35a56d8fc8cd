"""Reads what a benchmark's children answer: they may have been taken over, so shape decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from hub.protocol import strict
from runners.engine.benchmark.requests import Kernels, Profile, Row, SessionFacts
from runners.engine.jobs import JobError

_T = TypeVar("_T")
_MOST_ROWS, _MOST_NAMES = 1000, 200
_TEXT = 500
# What a row of a profile may have.
_ROW: dict[str, type] = {
    **dict.fromkeys(("operator", "provider", "node"), str),
    **dict.fromkeys(("nodes", "calls", "parameter_bytes", "activation_bytes"), int),
    **dict.fromkeys(("time_ms", "share"), float),
    "contains_others": bool,
}


@dataclass(frozen=True, slots=True)
class Port:
    """An input as it is fed."""

    name: str
    dtype: str
    shape: list[int]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The inputs of a configuration: ports, source, and the rows of one call.

    ``fixed_batch`` are the rows that the model itself fixes, 0 where they are free;
    ``batch_by_sizes`` says that somebody chose the rows by a size of an input.
    """

    ports: list[Port]
    source: str
    batch: int
    fixed_batch: int
    batch_by_sizes: bool


@dataclass(frozen=True, slots=True)
class Profiled:
    """What is known of a session, and its profile."""

    facts: SessionFacts
    profile: Profile


def read(kind: type[_T], answer: Any) -> _T:
    """Read an answer as one of these classes; raises JobError."""
    try:
        return _READER.read(kind, answer)
    except strict.UnreadableError as error:
        words = f"The response of a child process has an unexpected format: {error}."
        raise JobError("engine-error", words) from None


def _text(value: Any, place: str) -> str:
    return strict.check(value, str, place)[:_TEXT]


def _row(value: Any, place: str) -> Row:
    row = strict.check(value, dict, place)
    return {name: _READER.read(kind, row[name], name) for name, kind in _ROW.items() if name in row}


def _kernels(value: Any, place: str) -> Kernels:
    row = strict.check(value, dict, place)
    count = strict.count(row.get("count"), f"{place}.count")
    return {"count": count, "time_ms": strict.number(row.get("time_ms"), f"{place}.time_ms")}


def _limited(kind: Any, values: list[Any], _place: str) -> list[Any]:
    (item,) = get_args(kind)
    most = {Row: _MOST_ROWS, str: _MOST_NAMES}.get(item)
    return values[:most]


_READER = strict.Reader(
    {int: strict.count, str: _text, Row: _row, Kernels: _kernels}, _limited, is_complete=True
)
