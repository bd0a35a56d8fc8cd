"""Putting proposed fields into a card without losing what it says already."""

from __future__ import annotations

import copy
from typing import Any

_ROWS = frozenset(
    {"training_data", "validated_on", "tested_on", "creators", "eval_results", "risks"}
)
_WORDS = frozenset({"tags", "datasets", "metrics", "language"})
_MAPPINGS = frozenset({"energy", "hyperparameters"})


def merged(front: dict[str, Any], proposed: dict[str, Any]) -> dict[str, Any]:
    """The whole new value of each field that changes; what is equal already is left out.

    Lists grow, one entry for each name; mappings gain parts; other values are replaced.
    """
    changes = {}
    for name, value in proposed.items():
        now = front.get(name)
        new = _joined(name, copy.deepcopy(now), value)
        if new != now:
            changes[name] = new
    return changes


def _joined(name: str, now: Any, value: Any) -> Any:
    if now in (None, "", [], {}):
        return value
    if name == "model-index":
        return _results(now, value)
    if name in _ROWS and isinstance(value, list):
        return _rows(now if isinstance(now, list) else [now], value)
    if name in _WORDS and isinstance(value, list):
        items = now if isinstance(now, list) else [now]
        return [*items, *(item for item in value if item not in items)]
    if name in _MAPPINGS and isinstance(now, dict) and isinstance(value, dict):
        return {**now, **value}
    return value


def _rows(now: list[Any], value: list[Any]) -> list[Any]:
    for new in value:
        at = next((at for at, old in enumerate(now) if _names(old) & _names(new)), None)
        if at is None:
            now.append(new)
        elif isinstance(new, dict):
            old = now[at] if isinstance(now[at], dict) else {"name": now[at]}
            # What a person wrote stays; a proposal fills what was left open.
            now[at] = {**new, **{key: part for key, part in old.items() if part is not None}}
            now[at] = {key: now[at][key] for key in [*old, *(key for key in new if key not in old)]}
    return now


def _names(row: Any) -> set[str]:
    names: list[Any] = [row] if isinstance(row, str) else []
    if isinstance(row, dict):
        names = [row.get(key) for key in ("iri", "orcid", "name", "title") if row.get(key)]
    return {str(name).strip().lower() for name in names}


def _results(now: Any, value: list[Any]) -> Any:
    if not isinstance(now, list) or not all(isinstance(model, dict) for model in now):
        return now
    results = now[0].get("results")
    rows = list(results) if isinstance(results, list) else []
    fresh = [row for model in value for row in model.get("results", []) if row not in rows]
    return [{**now[0], "results": [*rows, *fresh]}, *now[1:]]
