"""Reads what the children of a conformance job answer, as data from somebody who may be lying.

A child has held an upload, so its answer is taken apart here: known keys of known types, names of
files that cannot lead elsewhere, and everything else dropped. Raises JobError where nothing fits.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from runners.engine import text
from runners.engine.jobs import JobError

_MOST_ROWS = 200
_EVIDENCE = re.compile(r"diverging-[A-Za-z0-9_-]{1,80}\.zip")
_FIGURES = frozenset({"max_abs", "max_rel", "p999_rel", "ulp_max", "cosine", "top1"})
_WORDS = frozenset({"dataset", "name", "dtype", "reason", "profile"})
_T = TypeVar("_T")


def _take(answer: Any, key: str, kind: type[_T]) -> _T:
    value = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(value, kind):
        raise JobError("engine-error", f"A child's answer has no readable {key}.")
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
    }


def _figure(value: Any) -> float | str | None:
    if isinstance(value, str):
        return value if value in {"inf", "-inf", "nan"} else None
    return float(value) if isinstance(value, int | float) else None


def localised(answer: Any) -> dict[str, Any]:
    """Read which node was found, the name of its evidence, and what is to be said of it."""
    evidence = _take(answer, "evidence", str)
    node = answer.get("node")
    return {
        "node": None if node is None else _node(node),
        "evidence": evidence if _EVIDENCE.fullmatch(evidence) else "",
        "note": text.message(_take(answer, "note", str)),
    }


def _node(node: Any) -> dict[str, Any]:
    return {
        "name": text.clip(_take(node, "name", str), 200),
        "op": text.clip(_take(node, "op", str), 200),
        "index": _take(node, "index", int),
        "figures": _row(_take(node, "figures", dict)),
        "alone": _take(node, "alone", bool),
    }
