"""What a filled form of a card changes: the changed fields with their whole new values.

A field that was not touched is not changed, whatever form its author gave it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from frontend.pages.cards import forms
from frontend.pages.cards.fields import GROUPS, Input, Table
from hub.protocol.cards import MAIN_PARTS
from registry.cards import source
from registry.cards.findings import Notes
from registry.core import parsing

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def of(front: dict[str, Any], posted: Mapping[str, str]) -> dict[str, Any]:
    """The fields that a filled form changes, each with its whole new value (None: it goes)."""
    new: dict[str, Any] = {}
    for _, _, parts in GROUPS:
        for part in parts:
            if isinstance(part, Table):
                _change_rows(front, part, posted, new)
            else:
                _change(front, part, posted, new)
    return new


def _change(
    front: dict[str, Any], field: Input, posted: Mapping[str, str], new: dict[str, Any]
) -> None:
    name = "-".join(field.path)
    top = field.path[0]
    whole = new.get(top, front.get(top))
    current = forms.show_field(field, front, name, "")
    typed = posted.get(name)
    if typed is None or current.locked or _same(typed, current.value):
        return
    value = _value(field, typed, forms.value_at(front, field.path))
    if len(field.path) == 1:
        new[top] = value
        return
    main = MAIN_PARTS[top]
    parts = dict(whole) if isinstance(whole, dict) else {} if whole is None else {main: whole}
    parts[field.path[1]] = value
    parts = {key: part for key, part in parts.items() if part is not None}
    # One value alone stays as short as it was.
    short = not isinstance(front.get(top), dict) and set(parts) <= {main}
    new[top] = (parts.get(main) if short else parts) or None
    if short and parts.get(main) == 0:
        new[top] = 0


def _change_rows(
    front: dict[str, Any], table: Table, posted: Mapping[str, str], new: dict[str, Any]
) -> None:
    current = forms.show_table(front, table)
    if current.locked or f"{table.name}-count" not in posted:
        return
    before = forms.items_of(front, table) or []
    after = []
    for number in _numbers(table, posted):
        at = posted.get(f"{table.name}-{number}-at", "")
        index = int(at) if at.isdecimal() and int(at) < len(before) else None
        old = before[index] if index is not None else {}
        row = _row_value(table, old, posted, f"{table.name}-{number}")
        if row not in ({}, "", None):
            after.append((index, row))
    if [row for _, row in after] == before:
        return
    if table.name == "model-index":
        new[table.name] = _index(front, before, after)
    else:
        new[table.name] = [row for _, row in after] or None


def _row_value(table: Table, old: Any, posted: Mapping[str, str], prefix: str) -> Any:
    """A row as it is after the form; parts that the form does not show stay."""
    whole = {table.inputs[0].path[0]: old} if isinstance(old, str) else dict(old)
    plain = isinstance(old, str) or (table.name == "creators" and not old)
    for field in table.inputs:
        typed = posted.get(f"{prefix}-{'-'.join(field.path)}")
        now = forms.as_text(field, forms.value_at(whole, field.path))
        if typed is None or now is forms.LOCKED or _same(typed, str(now)):
            continue
        _put(whole, field.path, _value(field, typed, forms.value_at(whole, field.path)))
    if plain and set(whole) <= {table.inputs[0].path[0]}:
        return whole.get(table.inputs[0].path[0], "")
    return whole


def _put(whole: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    if len(path) == 2:
        inner = whole.get(path[0])
        inner = dict(inner) if isinstance(inner, dict) else {}
        _put(inner, path[1:], value)
        path, value = path[:1], inner or None
    old = whole.get(path[0])
    main = MAIN_PARTS.get(path[0])
    if main and isinstance(old, dict) and value is not None:
        value = {**old, main: value}
    if value is None:
        whole.pop(path[0], None)
    else:
        whole[path[0]] = value


def _index(
    front: dict[str, Any], before: list[Any], after: list[tuple[int | None, Any]]
) -> list[Any] | None:
    """``model-index`` with the changed rows; results that were not edited stay as they are."""
    remaining = {index: row for index, row in after if index is not None}
    number = 0
    models = []
    for model in front.get("model-index") or []:
        results = []
        for result in model.get("results") or []:
            rows = range(number, number + len(result["metrics"]))
            number = rows.stop
            results += _results(
                result, [remaining.get(at) for at in rows], [before[at] for at in rows]
            )
        models.append({**model, "results": results})
    fresh = [
        {**{key: row[key] for key in ("task", "dataset") if key in row}, "metrics": [metric]}
        for index, row in after
        if index is None and (metric := row.get("metrics"))
    ]
    if fresh:
        models = models or [{"name": str(front.get("name") or "model"), "results": []}]
        models[0] = {**models[0], "results": [*models[0]["results"], *fresh]}
    models = [model for model in models if model["results"]]
    return models or None


def _results(result: dict[str, Any], now: list[Any], before: list[Any]) -> list[dict[str, Any]]:
    """A result after the form; metrics whose data set or task changed become others."""
    if now == before:
        return [result]
    same: list[Any] = []
    others = []
    for row, old in zip(now, before, strict=True):
        if row is None or not row.get("metrics"):
            continue
        if {**row, "metrics": 0} == {**old, "metrics": 0}:
            same.append(row["metrics"])
        else:
            parts = {key: row[key] for key in ("task", "dataset") if key in row}
            rest = {
                key: value
                for key, value in result.items()
                if key not in ("task", "dataset", "metrics")
            }
            others.append({**parts, "metrics": [row["metrics"]], **rest})
    return [*([{**result, "metrics": same}] if same else []), *others]


def _numbers(table: Table, posted: Mapping[str, str]) -> list[int]:
    count = posted.get(f"{table.name}-count", "0")
    total = min(int(count), forms.ROWS_SHOWN + 1) if count.isdecimal() and len(count) < 4 else 0
    gone = posted.get("do", "").removeprefix(f"remove:{table.name}:")
    return [at for at in range(total) if str(at) != gone]


def _value(field: Input, typed: str, old: Any) -> Any:
    """What the user typed, as the card stores it; None for an empty input."""
    text = typed.replace("\r\n", "\n").strip()
    if not text:
        return None
    if field.kind == "number":
        return _number(text)
    if field.kind == "words":
        items: list[Any] = [part.strip() for part in text.split(",") if part.strip()]
        items_before = {str(item): item for item in old} if isinstance(old, list) else {}
        items = [items_before.get(item, item) for item in items]
        alone = len(items) == 1 and field.path[0] in ("base_model", "precision", "language")
        return items[0] if alone and not isinstance(old, list) else items
    if field.kind == "mapping":
        return _mapping(text)
    return text if field.kind == "area" else " ".join(text.split())


def _mapping(text: str) -> Any:
    """Lines of `name: value` as a mapping; the text itself where they are none."""
    mapping = parsing.run(_parsed, text)
    return text if mapping is None else mapping


def _parsed(text: str) -> dict[str, Any] | None:
    notes = Notes()
    try:
        node = source.compose(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    mapping = source.plain(node, notes, "", 0) if node is not None else None
    return mapping if isinstance(mapping, dict) and not notes.findings else None


def _number(text: str) -> Any:
    """A number where it is one; else the text itself, which the check then explains."""
    if not _NUMBER.fullmatch(text) or len(text) > 40:
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _same(typed: str, current: str) -> bool:
    return typed.replace("\r\n", "\n").strip() == current.strip()
