"""Reads what the children of a conformance job answer, as data from somebody who may be lying.

A child has held an upload, so its answer is taken apart here: known keys of known types, names of
files that cannot lead elsewhere, and everything else dropped. Raises JobError where nothing fits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from hub.protocol import proofs
from runners.engine.jobs import JobError
from runners.engine.onnx_files import text

_MOST_ROWS = 200
# As deep as a model may nest its graphs.
_MOST_STEPS = 24
_EVIDENCE = re.compile(r"diverging-[A-Za-z0-9_-]{1,80}\.zip")
_FIGURES = frozenset({"max_abs", "max_rel", "p999_rel", "ulp_max", "cosine", "top1"})
_WORDS = frozenset({"dataset", "name", "dtype", "reason", "profile"})
_T = TypeVar("_T")


def _take(answer: Any, key: str, kind: type[_T]) -> _T:
    value = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(value, kind):
        raise JobError("engine-error", f"The response of a child process has no readable {key}.")
    return value


def _names(answer: Any, key: str) -> list[str]:
    return [text.clip(str(name), 200) for name in _take(answer, key, list)]


def prepared(answer: Any) -> dict[str, Any]:
    """Read what `trials.prepare` tells of a model."""
    return {
        "bundled": _names(answer, "bundled"),
        "unusable": _names(answer, "unusable"),
        "random": _names(answer, "random"),
        "left_out": _take(answer, "left_out", int),
        "problem": _take(answer, "problem", str),
        "profile": _take(answer, "profile", str),
        "half": _take(answer, "half", bool),
        "nodes": _take(answer, "nodes", int),
        "bodies": _take(answer, "bodies", bool),
        "inputs": _names(answer, "inputs"),
    }


def upgraded(answer: Any) -> tuple[bool, int]:
    """Read whether an upgrade made a file, and of which operator set."""
    return _take(answer, "changed", bool), _take(answer, "opset", int)


def problem(answer: Any) -> str:
    """Read why no inputs were generated; nothing where some were."""
    return "" if _names(answer, "generated") else _take(answer, "problem", str) or "none were made"


def ran(answer: Any) -> tuple[dict[str, str], int]:
    """Read which sets a runtime refused and why, and how many there were."""
    refused = _take(answer, "refused", dict)
    words = {text.clip(str(name), 200): text.message(str(why)) for name, why in refused.items()}
    return words, _take(answer, "sets", int)


def counted(answer: Any) -> int:
    """Read how many sets have results."""
    return _take(answer, "done", int)


def compared(answer: Any) -> tuple[tuple[str, ...], bool, list[dict[str, Any]], str]:
    """Read a comparison: its sets, whether all agrees, its rows, and the set to look into."""
    rows = _take(answer, "rows", list)[:_MOST_ROWS]
    agrees, worst = _take(answer, "agrees", bool), _take(answer, "worst", str)
    return tuple(_names(answer, "sets")), agrees, [_row(row) for row in rows], worst


def _row(row: Any) -> dict[str, Any]:
    first_bad = row.get("first_bad") if isinstance(row, dict) else None
    return {
        **{word: text.message(_take(row, word, str)) for word in sorted(_WORDS & set(row))},
        **{name: _figure(row.get(name)) for name in sorted(_FIGURES)},
        "shape": [size for size in _take(row, "shape", list) if isinstance(size, int)],
        "agrees": _take(row, "agrees", bool),
        "outside": _take(row, "outside", int),
        "first_bad": first_bad if isinstance(first_bad, int) else None,
        **({"noise": _figure(row["noise"])} if "noise" in row else {}),
    }


def _figure(value: Any) -> float | str | None:
    if isinstance(value, str):
        return value if value in {"inf", "-inf", "nan"} else None
    return float(value) if isinstance(value, int | float) else None


@dataclass(frozen=True, slots=True)
class OutputState:
    """What runs show about an output, and the operators that lead to it."""

    name: str
    state: proofs.State
    operators: frozenset[str]


def states(answer: Any) -> tuple[OutputState, ...]:
    """Read what runs show about each output."""
    if not isinstance(answer, dict):
        raise JobError("engine-error", "The response of a child process has no readable states.")
    known: dict[str, proofs.State] = {state: state for state in get_args(proofs.State)}
    return tuple(
        OutputState(
            text.clip(str(name), 200),
            known.get(_take(row, "state", str), "empty"),
            frozenset(map(str, _take(row, "operators", list))),
        )
        for name, row in list(answer.items())[:_MOST_ROWS]
    )


def traced(answer: Any, changed: frozenset[str]) -> Traced:
    """Read which graphs inside nodes were entered; `changed` are operators that a step changes."""
    branches = []
    for row in _take(answer, "branches", list)[:_MOST_ROWS]:
        zero = row.get("zero")
        branches.append(
            proofs.Branch(
                node=text.clip(_take(row, "node", str), 200),
                op=text.clip(_take(row, "op", str), 200),
                name=text.clip(_take(row, "name", str), 200),
                nodes=_take(row, "nodes", int),
                taken=_take(row, "taken", bool),
                zero=zero if isinstance(zero, bool) else None,
                unchanged=changed.isdisjoint(map(str, _take(row, "operators", list))),
                reachable=_take(row, "reachable", bool),
            )
        )
    return Traced(_take(answer, "nodes", int), _take(answer, "ran", int), tuple(branches))


@dataclass(frozen=True, slots=True)
class Traced:
    """How many nodes a model has, how many ran, and which of its inner graphs were entered."""

    nodes: int
    ran: int
    branches: tuple[proofs.Branch, ...] = ()


def inner(answer: Any) -> tuple[int, proofs.HiddenDifference | None]:
    """Read how many values inside were compared, and the first node that makes another one."""
    node = answer.get("node") if isinstance(answer, dict) else None
    count = _take(answer, "compared", int)
    if node is None:
        return count, None
    worst = _figure(node.get("worst")) if isinstance(node, dict) else None
    return count, proofs.HiddenDifference(
        text.clip(_take(node, "name", str), 200),
        text.clip(_take(node, "op", str), 200),
        worst if isinstance(worst, float) else None,
    )


def localised(answer: Any) -> dict[str, Any]:
    """Read which node was found, the name of its evidence, and what is to be said of it."""
    evidence = _take(answer, "evidence", str)
    node = answer.get("node")
    return {
        "node": None if node is None else _node(node),
        "evidence": evidence if _EVIDENCE.fullmatch(evidence) else "",
        "note": text.message(_take(answer, "note", str)),
    }


def _step(step: Any) -> dict[str, Any]:
    iteration = step.get("iteration") if isinstance(step, dict) else None
    return {
        "op": text.clip(_take(step, "op", str), 200),
        "name": text.clip(_take(step, "name", str), 200),
        "index": _take(step, "index", int),
        "body": text.clip(_take(step, "body", str), 200),
        "iteration": None if iteration is None else _take(step, "iteration", int),
    }


def _node(node: Any) -> dict[str, Any]:
    return {
        "name": text.clip(_take(node, "name", str), 200),
        "op": text.clip(_take(node, "op", str), 200),
        "index": _take(node, "index", int),
        "path": [_step(step) for step in _take(node, "path", list)[:_MOST_STEPS]],
        "figures": _row(_take(node, "figures", dict)),
        "alone": _take(node, "alone", bool),
    }
