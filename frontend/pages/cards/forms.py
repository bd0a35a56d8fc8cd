"""The fields of a card as a form: what stands in them, and what a filled form changes.

A field that was not touched is not changed, whatever form its author gave it; one that the form
cannot show (a list where the form has one line) is left to the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import yaml

from frontend.pages.cards.fields import GROUPS, Input, Table
from registry.cards import edits, source
from registry.cards.findings import Notes, escaped
from registry.core import parsing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from registry.cards.findings import Finding

ROWS_SHOWN = 40
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LOCKED = object()
# A mapping that may also be written as its main value alone.
_MAIN = {"personal_data": "status", "co2_eq_emissions": "emissions", "energy": "kwh"}


@dataclass(slots=True)
class Shown:
    """An input with what stands in it."""

    input: Input
    name: str
    value: str
    pointer: str
    locked: bool = False
    findings: list[Finding] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"card-{self.name}"

    @property
    def wrong(self) -> bool:
        """Whether an error is about it."""
        return any(one.severity == "error" for one in self.findings)


@dataclass(slots=True)
class Row:
    """A row of a table: its place in the list before, empty for a new one."""

    number: int
    at: str
    inputs: list[Shown]
    title: str
    pointer: str
    findings: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """Fields under one heading."""

    title: str
    words: str
    inputs: list[Shown] = field(default_factory=list)
    tables: list[ShownTable] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """How many of its fields and rows are wrong."""
        rows = [row for table in self.tables for row in table.rows]
        told: list[Shown | Row] = [
            *self.inputs,
            *rows,
            *(one for row in rows for one in row.inputs),
        ]
        return sum(any(found.severity == "error" for found in one.findings) for one in told)

    @property
    def open(self) -> bool:
        """Whether it shows what it holds: something is said in it, or about it."""
        rows = any(table.rows for table in self.tables)
        said = any(one.value or one.locked or one.findings for one in self.inputs)
        return rows or said or bool(self.wrong)


@dataclass(slots=True)
class ShownTable:
    """A table with its rows; locked where the text has another form, or too many rows."""

    table: Table
    rows: list[Row]
    locked: bool = False


def show(
    front: dict[str, Any], findings: Iterable[Finding] = (), extra: Collection[str] = ()
) -> list[Group]:
    """The form of a card; the tables named in ``extra`` have one empty row more."""
    groups = []
    for title, about, parts in GROUPS:
        group = Group(title, about)
        for part in parts:
            if isinstance(part, Table):
                group.tables.append(_table(front, part, more=part.name in extra))
            else:
                group.inputs.append(_shown(part, front, "-".join(part.path), ""))
        groups.append(group)
    _place(groups, findings)
    return groups


def changes(front: dict[str, Any], posted: Mapping[str, str]) -> dict[str, Any]:
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
    front: dict[str, Any], one: Input, posted: Mapping[str, str], new: dict[str, Any]
) -> None:
    name = "-".join(one.path)
    top = one.path[0]
    whole = new.get(top, front.get(top))
    shown = _shown(one, front, name, "")
    said = posted.get(name)
    if said is None or shown.locked or _same(said, shown.value):
        return
    value = _value(one, said, _found(front, one.path))
    if len(one.path) == 1:
        new[top] = value
        return
    main = _MAIN[top]
    parts = dict(whole) if isinstance(whole, dict) else {} if whole is None else {main: whole}
    parts[one.path[1]] = value
    parts = {key: part for key, part in parts.items() if part is not None}
    # One value alone stays as short as it was.
    short = not isinstance(front.get(top), dict) and set(parts) <= {main}
    new[top] = (parts.get(main) if short else parts) or None
    if short and parts.get(main) == 0:
        new[top] = 0


def _change_rows(
    front: dict[str, Any], table: Table, posted: Mapping[str, str], new: dict[str, Any]
) -> None:
    shown = _table(front, table)
    if shown.locked or f"{table.name}-count" not in posted:
        return
    before = _items(front, table) or []
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
    for one in table.inputs:
        said = posted.get(f"{prefix}-{'-'.join(one.path)}")
        now = _text(one, _found(whole, one.path))
        if said is None or now is _LOCKED or _same(said, str(now)):
            continue
        _put(whole, one.path, _value(one, said, _found(whole, one.path)))
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
    if path == ("personal_data",) and isinstance(old, dict) and value is not None:
        value = {**old, "status": value}
    if value is None:
        whole.pop(path[0], None)
    else:
        whole[path[0]] = value


def _items(front: dict[str, Any], table: Table) -> list[Any] | None:
    """The rows of a table; None where its field has a form that the table cannot show."""
    said = front.get(table.name)
    if said is None:
        return []
    if table.name == "model-index":
        return _flat(said)
    if isinstance(said, str) and table.name == "creators":
        said = [said]
    if not isinstance(said, list) or not all(isinstance(row, dict | str) for row in said):
        return None
    return said


def _flat(said: Any) -> list[Any] | None:
    """Each metric of ``model-index`` as a row of its own, with its data set and task."""
    rows: list[Any] = []
    try:
        for model in said:
            for result in model.get("results") or []:
                base = {key: result[key] for key in ("dataset", "task") if result.get(key)}
                if not all(isinstance(part, dict) for part in base.values()):
                    return None
                rows += [{**base, "metrics": dict(metric)} for metric in result["metrics"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return rows


def _index(
    front: dict[str, Any], before: list[Any], after: list[tuple[int | None, Any]]
) -> list[Any] | None:
    """``model-index`` with the changed rows: results that nobody touched stay as they are."""
    kept = {index: row for index, row in after if index is not None}
    number = 0
    models = []
    for model in front.get("model-index") or []:
        results = []
        for result in model.get("results") or []:
            rows = range(number, number + len(result["metrics"]))
            number = rows.stop
            results += _results(result, [kept.get(at) for at in rows], [before[at] for at in rows])
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


def _table(front: dict[str, Any], table: Table, *, more: bool = False) -> ShownTable:
    items = _items(front, table)
    if items is None or len(items) > ROWS_SHOWN:
        return ShownTable(table, [], locked=True)
    rows = []
    for number, item in enumerate([*items, *([{}] if more else [])]):
        whole = {table.inputs[0].path[0]: item} if isinstance(item, str) else item
        pointer = _row_pointer(front, table, number)
        inputs = [
            _shown(one, whole, f"{table.name}-{number}-{'-'.join(one.path)}", pointer)
            for one in table.inputs
        ]
        at = str(number) if number < len(items) else ""
        rows.append(Row(number, at, inputs, f"{table.one.capitalize()} {number + 1}", pointer))
    return ShownTable(table, rows)


def _row_pointer(front: dict[str, Any], table: Table, at: int) -> str:
    if table.name != "model-index":
        return f"/{table.name}/{at}"
    number = 0
    for model, row in enumerate(front.get("model-index") or []):
        for result, told in enumerate(row.get("results") or []):
            many = len(told["metrics"])
            if at < number + many:
                return f"/model-index/{model}/results/{result}|{at - number}"
            number += many
    return f"/model-index/new|{at}"


def _numbers(table: Table, posted: Mapping[str, str]) -> list[int]:
    count = posted.get(f"{table.name}-count", "0")
    total = min(int(count), ROWS_SHOWN + 1) if count.isdecimal() and len(count) < 4 else 0
    gone = posted.get("do", "").removeprefix(f"remove:{table.name}:")
    return [at for at in range(total) if str(at) != gone]


def _shown(one: Input, whole: Any, name: str, pointer: str) -> Shown:
    text = _text(one, _found(whole, one.path))
    if pointer.startswith("/model-index/"):
        base, _, metric = pointer.partition("|")
        step = f"metrics/{metric}" if one.path[0] == "metrics" else one.path[0]
        place = f"{base}/{step}/{one.path[1]}"
    else:
        place = pointer + "".join(f"/{escaped(step)}" for step in one.path)
    if text is _LOCKED:
        return Shown(one, name, "", place, locked=True)
    value = str(text)
    if one.choices and value and value not in dict(one.choices):
        one = replace(one, choices=(*one.choices, (value, value)))
    return Shown(one, name, value, place)


def _found(whole: Any, path: tuple[str, ...]) -> Any:
    """The value at a path; of a mapping written as its main value alone, that value."""
    said = whole.get(path[0]) if isinstance(whole, dict) else None
    if len(path) == 1:
        return said
    if isinstance(said, dict):
        return said.get(path[1])
    return said if _MAIN.get(path[0]) == path[1] else None


def _text(one: Input, value: Any) -> Any:
    """A value as text in an input; ``_LOCKED`` where the input cannot show it."""
    if one.kind == "personal" and isinstance(value, dict):
        value = value.get("status")
    if value is None or value == {}:
        return ""
    if isinstance(value, bool) and one.choices:
        return "yes" if value else "no"
    if one.kind == "mapping" and isinstance(value, dict):
        return edits.as_yaml(value).rstrip("\n")
    if one.kind == "words" and isinstance(value, list):
        plain = all(isinstance(item, str | int | float) and "," not in str(item) for item in value)
        return ", ".join(map(str, value)) if plain else _LOCKED
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return _LOCKED
    return str(value).strip("\n") if one.kind == "area" else str(value)


def _value(one: Input, said: str, old: Any) -> Any:
    """What somebody typed, as the card has it; None for an empty input."""
    text = said.replace("\r\n", "\n").strip()
    if not text:
        return None
    if one.kind == "number":
        return _number(text)
    if one.kind == "words":
        items: list[Any] = [part.strip() for part in text.split(",") if part.strip()]
        known = {str(item): item for item in old} if isinstance(old, list) else {}
        items = [known.get(item, item) for item in items]
        alone = len(items) == 1 and one.path[0] in ("base_model", "precision", "language")
        return items[0] if alone and not isinstance(old, list) else items
    if one.kind == "mapping":
        return _mapping(text)
    return text if one.kind == "area" else " ".join(text.split())


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
    found = source.plain(node, notes, "", 0) if node is not None else None
    return found if isinstance(found, dict) and not notes.found else None


def _number(text: str) -> Any:
    """A number where it is one; else the text itself, which the check then explains."""
    if not _NUMBER.fullmatch(text) or len(text) > 40:
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _same(said: str, shown: str) -> bool:
    return said.replace("\r\n", "\n").strip() == shown.strip()


def _place(groups: list[Group], findings: Iterable[Finding]) -> None:
    """Put each finding beside the input that it is about, where there is one."""
    rows = [row for group in groups for table in group.tables for row in table.rows]
    shown = [one for group in groups for one in group.inputs]
    shown += [one for row in rows for one in row.inputs]
    by_pointer = {one.pointer: one for one in shown}
    for top, main in _MAIN.items():
        by_pointer.setdefault(f"/{top}", by_pointer[f"/{top}/{main}"])
    for finding in findings:
        pointer = finding.pointer
        while pointer and pointer not in by_pointer:
            pointer = pointer.rpartition("/")[0]
        if pointer:
            by_pointer[pointer].findings.append(finding)
            continue
        for row in rows:
            if finding.pointer == row.pointer:
                row.findings.append(finding)


def targets(groups: Iterable[Group]) -> dict[str, str]:
    """The id of the input that each finding stands beside, by the finding's pointer."""
    found: dict[str, str] = {}
    for group in groups:
        inputs = [*group.inputs, *(one for t in group.tables for r in t.rows for one in r.inputs)]
        for one in inputs:
            found |= {finding.pointer: one.id for finding in one.findings}
        for table in group.tables:
            for row in table.rows:
                at = row.inputs[0].id
                found |= {finding.pointer: at for finding in row.findings}
    return found
