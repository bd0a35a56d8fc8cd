"""Compared models as a table: what differs, what is equal, and which is best of each.

Every row says where its values come from; a row has a best value only where one direction is
better for everyone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.parts.svg import bars, latency_strips
from frontend.presenters import comparison_facts
from hub.protocol.accuracy import ERRORS, SHARES

if TYPE_CHECKING:
    from frontend.presenters.comparison import Column
    from frontend.presenters.comparison_facts import Fact
    from runners.models import Evaluation

# Rows that decide between models: they come first, and are shown where they are equal too.
ACCURACY, LATENCY, CONFORMANCE = "accuracy", "latency", "conformance"
DECISIVE = (ACCURACY, LATENCY, CONFORMANCE)
# Rows whose amounts are drawn as bars from zero.
BARS = ("size", "macs", "memory", "parameters")
# What a chart can be of, and the word of an address that asks for none.
CHARTS = (ACCURACY, LATENCY, *BARS)
NO_CHART = "none"
TIMES = "\u00d7"


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact of every compared model."""

    key: str
    title: str
    kind: str
    cells: tuple[Fact, ...]

    @property
    def is_folded(self) -> bool:
        """Whether all models have the same of a fact that does not decide between them."""
        is_equal = len(self.cells) > 1 and len({cell.same for cell in self.cells}) == 1
        return is_equal and self.key.partition("-")[0] not in DECISIVE

    @property
    def has_chart(self) -> bool:
        return any(cell.picture for cell in self.cells)


def rows(columns: Sequence[Column]) -> list[FactRow]:
    """Every fact of these: those that decide first, the others as people ask for them."""
    table = {
        key: FactRow(key, title, kind, _ranked([cell(column) for column in columns], order))
        for key, (title, kind, order, cell) in comparison_facts.FACTS.items()
    }
    accuracy = _with_accuracy(table.pop(ACCURACY), columns)
    latency = _with_strips(table.pop(LATENCY), columns)
    others = [_with_bars(row) for row in table.values()]
    return [accuracy, latency, *_conformance(columns), *others]


def read_charts(texts: Sequence[str]) -> tuple[str, ...]:
    """The charts that an address asks for, in the order of the table; empty: as is usual."""
    names = tuple(name for name in CHARTS if name in texts)
    return names or ((NO_CHART,) if NO_CHART in texts else ())


def charts(rows: Sequence[FactRow], selection: Sequence[str]) -> list[tuple[FactRow, bool]]:
    """The rows that have a chart, and whether it is drawn: without a choice, what decides."""
    offered = [row for row in rows if row.has_chart]
    usual = [row.key for row in offered if row.key in DECISIVE] or [row.key for row in offered[:1]]
    keys = selection or usual
    return [(row, row.key in keys) for row in offered]


def _with_strips(row: FactRow, columns: Sequence[Column]) -> FactRow:
    speeds = [column.speed if column.is_comparable else None for column in columns]
    strips = latency_strips.together([speed for speed in speeds if speed is not None])
    cells = [
        replace(cell, picture=strips.drawings[speed.pk])
        if speed is not None and speed.pk in strips.drawings
        else cell
        for cell, speed in zip(row.cells, speeds, strict=True)
    ]
    return replace(row, cells=tuple(cells))


def _with_bars(row: FactRow) -> FactRow:
    """The row with a bar for each amount, where amounts differ and have a size to compare."""
    values = [cell.value for cell in row.cells if cell.value is not None and cell.value >= 0]
    if row.key not in BARS or len(values) < 2 or len(set(values)) == 1:
        return row
    most = max(values)
    cells = (
        cell if cell.value is None else replace(cell, picture=bars.bar(cell.value, most))
        for cell in row.cells
    )
    return replace(row, cells=tuple(cells))


def _with_accuracy(row: FactRow, columns: Sequence[Column]) -> FactRow:
    """The row with pictures of its intervals; those of one metric and split are compared."""
    figures = [column.accuracy for column in columns]
    same = Counter(_measured_as(figure) for figure in figures if figure is not None)
    shared, many = (same.most_common(1) or [(("", 0, ""), 0)])[0]
    if many < 2:
        return row
    alike = [figure for figure in figures if figure is not None and _measured_as(figure) == shared]
    ends = [end for figure in alike for end in (figure.low, figure.high, figure.value)]
    axis = (min(ends), max(ends))
    values = {figure.value for figure in alike}
    # Equal figures have no best one.
    best = (min if alike[0].metric in ERRORS else max)(values) if len(values) > 1 else None
    first = figures[0] if figures[0] in alike else None
    cells = list(row.cells)
    for at, figure in enumerate(figures):
        if figure is not None and figure in alike:
            cells[at] = replace(
                cells[at],
                picture=bars.interval(figure.value, figure.low, figure.high, axis),
                best=figure.value == best,
                difference=_points(figure, first) if at else "",
            )
    return replace(row, cells=tuple(cells))


def _measured_as(row: Evaluation) -> tuple[str, int, str]:
    return row.metric, row.dataset_version_id, row.split


def _points(row: Evaluation, first: Evaluation | None) -> str:
    """How much more or less a figure is than the first; shares in percentage points."""
    change = row.value - first.value if first else 0.0
    if not change:
        return ""
    sign = "+" if change > 0 else formatting.MINUS
    if row.metric in SHARES:
        return f"{sign}{abs(100 * change):.3g}{formatting.NARROW}points"
    return f"{sign}{abs(change):.4g}"


def csv(columns: Sequence[Column]) -> list[list[str]]:
    """The table as rows of a CSV file: numbers plain, in bytes, kilograms and counts."""
    head = ["fact", "kind", *(column.pinned for column in columns)]
    return [
        head,
        *([row.title, row.kind, *(_plain(cell) for cell in row.cells)] for row in rows(columns)),
    ]


def _plain(cell: Fact) -> str:
    if cell.value is not None:
        return f"{cell.value:.12g}" if cell.value % 1 else str(int(cell.value))
    text = "; ".join(cell.lines) or cell.text
    # Spreadsheets would run what begins so.
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def _ranked(cells: list[Fact], order: str) -> tuple[Fact, ...]:
    """The best marked and the differences to the first told, where a fact has an order."""
    values = [cell.value for cell in cells if cell.value is not None]
    if not order or len(values) < 2 or len(set(values)) == 1:
        return tuple(cells)
    best = min(values)
    first = cells[0].value
    return tuple(
        replace(cell, best=cell.value == best, difference=_difference(cell.value, first))
        for cell in cells
    )


def _difference(value: float | None, first: float | None) -> str:
    """How much more or less than the first, as a percentage or as a multiple; empty for none."""
    if value is None or not first or value == first:
        return ""
    ratio = value / first
    if ratio >= 10:
        return f"{TIMES}{formatting.NARROW}{formatting.rounded(ratio)}"
    if 0 < ratio <= 0.1:
        return f"1/{formatting.rounded(1 / ratio)}"
    percent = (ratio - 1) * 100
    rounded = round(percent) if abs(percent) >= 1 else float(f"{percent:.1g}")
    sign = "+" if percent > 0 else ""
    return f"{sign}{formatting.rounded(rounded)}{formatting.NARROW}%"


def _conformance(columns: Sequence[Column]) -> list[FactRow]:
    names = sorted({result.runtime for column in columns for result in column.results})
    table = []
    for name in names or [""]:
        cells = [
            comparison_facts.verdict(
                column, [result for result in column.results if result.runtime == name]
            )
            for column in columns
        ]
        title = f"Conformance, {words.runtime(name)}" if name else "Conformance"
        table.append(
            FactRow(f"{CONFORMANCE}-{name}", title, comparison_facts.MEASURED, tuple(cells))
        )
    return table
