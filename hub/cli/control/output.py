"""What commands print: tables and details for people, JSON for programs, questions first."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from hub import counting
from hub.cli.failures import ConfirmationNeeded
from hub.client.rest import answers
from hub.terminal import plain

NOTHING = "-"
_BYTES = ("bytes", "size")


def as_json(value: object) -> None:
    """Print an answer as the API gives it; an iterator as a list."""
    content = (
        [answers.plain(item) for item in value]
        if isinstance(value, Iterable) and not isinstance(value, dict | str)
        else answers.plain(value)
    )
    print(json.dumps(content, indent=2))


def table(rows: Iterable[object], columns: Sequence[str], nothing: str) -> None:
    """Print the columns of some rows, aligned; say `nothing` on standard error where none is.

    A column is an attribute, or several with dots: `latest.number`; another title follows an `=`.
    """
    paths, titles = [], []
    for column in columns:
        path, _, title = column.partition("=")
        paths.append(path)
        titles.append((title or path.rpartition(".")[2]).replace("_", " ").upper())
    lines = [[text(_at(row, path), path) for path in paths] for row in rows]
    if not lines:
        print(f"hub: {nothing}", file=sys.stderr)
        return
    aligned([titles, *lines])


def aligned(lines: Sequence[Sequence[str]]) -> None:
    """Print lines of cells in aligned columns, clipped to the width of a terminal."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        print(_clipped("  ".join(cells).rstrip()))


def details(value: object) -> None:
    """Print the fields of an answer, one a line; lists of objects as tables below them."""
    fields = [
        (item.name.removesuffix("_"), getattr(value, item.name))
        for item in dataclasses.fields(value)  # type: ignore[arg-type]  # one of the answers
    ]
    simple = [
        (name, value)
        for name, value in fields
        if value not in (None, "", (), {}) and not _rows(value)
    ]
    width = max((len(name) for name, _ in simple), default=0)
    for name, simple_value in simple:
        print(f"{name.replace('_', ' '):<{width}}  {text(simple_value, name)}")
    for name, rows in fields:
        if _rows(rows):
            print(f"\n{name.replace('_', ' ')}")
            table(rows, _columns(rows[0]), "")


def raw(content: str) -> None:
    """Print a text of the hub as it is; on a terminal without what would drive that."""
    if sys.stdout.isatty():
        content = plain(content, keep="\n\t")
    print(content, end="" if content.endswith("\n") else "\n")


def text(value: object, name: str = "") -> str:
    """A value in a line: times in UTC, sizes with a unit, and what is missing as a dash."""
    if value is None or value in ("", (), {}):
        return NOTHING
    if isinstance(value, bool):
        words = "yes" if value else "no"
    elif isinstance(value, datetime):
        words = f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    elif isinstance(value, int) and name.rpartition(".")[2].rpartition("_")[2] in _BYTES:
        words = counting.size(value)
    elif isinstance(value, float):
        words = f"{value:.4g}"
    elif isinstance(value, tuple) and all(isinstance(item, str | int) for item in value):
        words = ", ".join(str(item) for item in value)
    elif isinstance(value, dict | tuple | list) or dataclasses.is_dataclass(value):
        words = json.dumps(answers.plain(value))
    else:
        words = str(value)
    return plain(words)


def confirm(question: str, *, yes: bool) -> None:
    """Ask on a terminal whether to go on, unless `yes`.

    Raises:
        ConfirmationNeeded: There is no terminal to ask on.
        KeyboardInterrupt: The answer is not yes.

    """
    if yes:
        return
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise ConfirmationNeeded(
            f"{question}\nThere is no terminal to confirm this on. Pass --yes to confirm it."
        )
    print(f"{question}\nContinue? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        cancelled = KeyboardInterrupt()
        cancelled.add_note("Nothing was changed.")
        raise cancelled


def _rows(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and dataclasses.is_dataclass(value[0])


def _columns(row: Any) -> list[str]:
    """The fields of a row that fit a table: no lists of objects, no free JSON."""
    names = [
        item.name
        for item in dataclasses.fields(row)
        if not isinstance(getattr(row, item.name), dict | tuple)
        and not dataclasses.is_dataclass(getattr(row, item.name))
    ]
    return [name for name in names if name != "url"] or names


def _at(row: object, path: str) -> object:
    value: object = row
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def _clipped(line: str) -> str:
    """A line that fits a terminal; whole elsewhere."""
    if not sys.stdout.isatty():
        return line
    width = shutil.get_terminal_size().columns
    return line if len(line) <= width else f"{line[: max(1, width - 1)]}\N{HORIZONTAL ELLIPSIS}"
