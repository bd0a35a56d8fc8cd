"""The fields of a card as a form, with what stands in them and what was found about them.

A field that the form cannot show (a list where the form has one line) is left to the text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from frontend.pages.cards.fields import GROUPS, Input, Table
from hub.protocol import stored
from hub.protocol.cards import MAIN_PARTS
from registry.cards import edits
from registry.cards.findings import Finding, escaped

ROWS_SHOWN = 40
LOCKED = object()


@dataclass(slots=True)
class Field:
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
        return any(finding.severity == "error" for finding in self.findings)


@dataclass(slots=True)
class TableRow:
    """A row of a table: its place in the list before, empty for a new one."""

    number: int
    at: str
    inputs: list[Field]
    title: str
    pointer: str
    findings: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """Fields under one heading."""

    title: str
    words: str
    inputs: list[Field] = field(default_factory=list)
    tables: list[FieldTable] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """How many of its fields and rows are wrong."""
        rows = [row for table in self.tables for row in table.rows]
        parts: list[Field | TableRow] = [
            *self.inputs,
            *rows,
            *(field for row in rows for field in row.inputs),
        ]
        return sum(any(finding.severity == "error" for finding in part.findings) for part in parts)

    @property
    def open(self) -> bool:
        """Whether it shows what it holds: something is said in it, or about it."""
        rows = any(table.rows for table in self.tables)
        filled = any(field.value or field.locked or field.findings for field in self.inputs)
        return rows or filled or bool(self.wrong)


@dataclass(slots=True)
class FieldTable:
    """A table with its rows; locked where the text has another form, or too many rows."""

    table: Table
    rows: list[TableRow]
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
                group.tables.append(show_table(front, part, more=part.name in extra))
            else:
                group.inputs.append(show_field(part, front, "-".join(part.path), ""))
        groups.append(group)
    _place(groups, findings)
    return groups


def items_of(front: dict[str, Any], table: Table) -> list[Any] | None:
    """Give the rows of a table; None where the text has another form."""
    rows = front.get(table.name)
    if rows is None:
        return []
    if table.name == "model-index":
        return _flat(rows)
    if isinstance(rows, str) and table.name == "creators":
        rows = [rows]
    if not isinstance(rows, list) or not all(isinstance(row, dict | str) for row in rows):
        return None
    return rows


def _flat(index: Any) -> list[Any] | None:
    """Each metric of ``model-index`` as a row of its own, with its data set and task."""
    rows: list[Any] = []
    try:
        for model in index:
            for result in model.get("results") or []:
                base = {key: result[key] for key in ("dataset", "task") if result.get(key)}
                if not all(isinstance(part, dict) for part in base.values()):
                    return None
                rows += [{**base, "metrics": dict(metric)} for metric in result["metrics"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return rows


def show_table(front: dict[str, Any], table: Table, *, more: bool = False) -> FieldTable:
    """Show a table of a card; with ``more`` it has one empty row at its end."""
    items = items_of(front, table)
    if items is None or len(items) > ROWS_SHOWN:
        return FieldTable(table, [], locked=True)
    rows = []
    for number, item in enumerate([*items, *([{}] if more else [])]):
        whole = {table.inputs[0].path[0]: item} if isinstance(item, str) else item
        pointer = _row_pointer(front, table, number)
        inputs = [
            show_field(field, whole, f"{table.name}-{number}-{'-'.join(field.path)}", pointer)
            for field in table.inputs
        ]
        at = str(number) if number < len(items) else ""
        rows.append(TableRow(number, at, inputs, f"{table.one.capitalize()} {number + 1}", pointer))
    return FieldTable(table, rows)


def _row_pointer(front: dict[str, Any], table: Table, at: int) -> str:
    if table.name != "model-index":
        return f"/{table.name}/{at}"
    number = 0
    for model, row in enumerate(front.get("model-index") or []):
        for result, part in enumerate(row.get("results") or []):
            many = len(part["metrics"])
            if at < number + many:
                return f"/model-index/{model}/results/{result}|{at - number}"
            number += many
    return f"/model-index/new|{at}"


def show_field(field: Input, whole: Any, name: str, pointer: str) -> Field:
    """Show what stands in an input, below ``pointer`` of the card."""
    text = as_text(field, value_at(whole, field.path))
    if pointer.startswith("/model-index/"):
        base, _, metric = pointer.partition("|")
        step = f"metrics/{metric}" if field.path[0] == "metrics" else field.path[0]
        place = f"{base}/{step}/{field.path[1]}"
    else:
        place = pointer + "".join(f"/{escaped(step)}" for step in field.path)
    if text is LOCKED:
        return Field(field, name, "", place, locked=True)
    value = str(text)
    if field.choices and value and value not in dict(field.choices):
        field = replace(field, choices=(*field.choices, (value, value)))
    return Field(field, name, value, place)


def value_at(whole: Any, path: tuple[str, ...]) -> Any:
    """The value at a path; of a mapping written as its main value alone, that value."""
    value = whole.get(path[0]) if isinstance(whole, dict) else None
    if len(path) == 1:
        return value
    if isinstance(value, dict):
        return value.get(path[1])
    return value if MAIN_PARTS.get(path[0]) == path[1] else None


def as_text(field: Input, value: Any) -> Any:
    """A value as text in an input; ``LOCKED`` where the input cannot show it."""
    if field.kind == "personal" and isinstance(value, dict):
        value = value.get("status")
    if value is None or value == {}:
        return ""
    if isinstance(value, bool) and field.choices:
        return "yes" if value else "no"
    if field.kind == "mapping" and isinstance(value, dict):
        return edits.as_yaml(value).rstrip("\n")
    if field.kind == "words" and isinstance(value, list):
        plain = all(isinstance(item, str | int | float) and "," not in str(item) for item in value)
        return ", ".join(map(str, value)) if plain else LOCKED
    if not stored.is_scalar(value):
        return LOCKED
    return str(value).strip("\n") if field.kind == "area" else str(value)


def _place(groups: list[Group], findings: Iterable[Finding]) -> None:
    rows = [row for group in groups for table in group.tables for row in table.rows]
    visible = [field for group in groups for field in group.inputs]
    visible += [field for row in rows for field in row.inputs]
    by_pointer = {field.pointer: field for field in visible}
    for top, main in MAIN_PARTS.items():
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
    ids: dict[str, str] = {}
    for group in groups:
        inputs = [
            *group.inputs,
            *(field for t in group.tables for r in t.rows for field in r.inputs),
        ]
        for shown_input in inputs:
            ids |= {finding.pointer: shown_input.id for finding in shown_input.findings}
        for table in group.tables:
            for row in table.rows:
                at = row.inputs[0].id
                ids |= {finding.pointer: at for finding in row.findings}
    return ids
