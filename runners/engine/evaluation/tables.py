"""Tables as columns of numbers or text: CSV files, and Parquet files where pyarrow is installed.

Reading takes time in proportion to the file. Of a table only the columns that are wanted are kept.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hub.protocol import stored
from runners.engine.evaluation.archives import UnreadableDataError
from runners.engine.onnx_files import text

Array = np.ndarray[Any, Any]

MOST_ROWS = 1_000_000
# Values of a table: rows times the columns that are read; and columns that its header may have.
MOST_VALUES, MOST_HEADER = 50_000_000, 10_000
# Characters of one value.
_FIELD = 1 << 20
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})


class Table(NamedTuple):
    """The columns of a table by name: arrays of numbers, or lists of text as it was written."""

    rows: int
    columns: dict[str, Array | list[str]]


def read_csv(path: Path, name: str, schema: dict[str, bool], most: int) -> Table:
    """A CSV file (RFC 4180) with a header line."""
    csv.field_size_limit(_FIELD)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            places = _places(name, header, schema)
            columns: dict[str, list[Any]] = {column: [] for column in schema}
            for row_number, row in enumerate(_rows(lines), start=1):
                if row_number > most or row_number * len(schema) > MOST_VALUES:
                    raise too_many(name)
                if len(row) != len(header):
                    raise UnreadableDataError(
                        f"Row {row_number:,} of {name} has {len(row):,} fields; the header has "
                        f"{len(header):,}."
                    )
                for column, is_text in schema.items():
                    cell = row[places[column]].strip()
                    columns[column].append(cell if is_text else number(cell, column, row_number))
    except (csv.Error, UnicodeDecodeError) as error:
        raise UnreadableDataError(f"{name} is not a readable CSV file: {error}.") from None
    count = len(next(iter(columns.values())))
    return Table(
        count,
        {
            column: cells if schema[column] else np.asarray(cells, dtype=np.float64)
            for column, cells in columns.items()
        },
    )


def _rows(lines: Iterator[list[str]]) -> Iterator[list[str]]:
    return (row for row in lines if row)


def _places(name: str, header: list[str], schema: dict[str, bool]) -> dict[str, int]:
    if len(header) > MOST_HEADER:
        raise UnreadableDataError(
            f"{name} has {len(header):,} columns; at most {MOST_HEADER:,} are read."
        )
    names = [column.strip() for column in header]
    places = {column: place for place, column in enumerate(names)}
    for column in schema:
        if column not in places:
            raise UnreadableDataError(f"{name} has no column {column!r}.")
        if names.count(column) > 1:
            raise UnreadableDataError(f"{name} has several columns {column!r}.")
    return places


def number(cell: str, column: str, row: int) -> float:
    if cell.lower() in MISSING:
        return math.nan
    try:
        if "_" not in cell:
            return float(cell)
    except ValueError:
        pass
    raise UnreadableDataError(
        f"{text.clip(cell, 60)!r} in row {row:,} of the column {column!r} is no number."
    )


def read_parquet(path: Path, name: str, schema: dict[str, bool], most: int) -> Table:
    """An Apache Parquet file, where pyarrow is installed."""
    try:
        import pyarrow  # noqa: PLC0415 - an extra of its own, and only in a child
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UnreadableDataError(
            "This worker cannot read Parquet files because pyarrow is not installed. Install "
            "onnx-hub[parquet] on the worker, or publish the data as CSV."
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            _places(name, file.schema_arrow.names, schema)
            if file.metadata.num_rows > most or file.metadata.num_rows * len(schema) > MOST_VALUES:
                raise too_many(name)
            columns: dict[str, list[Any]] = {column: [] for column in schema}
            for batch in file.iter_batches(10_000, columns=list(schema), use_threads=False):
                for column in schema:
                    columns[column] += batch.column(column).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableDataError(f"{name} is not a readable Parquet file: {error}.") from None
    count = len(next(iter(columns.values())))
    if count > most:
        raise too_many(name)
    table: dict[str, Array | list[str]] = {}
    for column, cells in columns.items():
        if schema[column]:
            table[column] = [_text(cell, column, row) for row, cell in enumerate(cells, 1)]
        else:
            numbers = [_plain(cell, column, row) for row, cell in enumerate(cells, 1)]
            table[column] = np.asarray(numbers, dtype=np.float64)
    return Table(count, table)


def _text(cell: Any, column: str, row: int) -> str:
    if cell is None:
        return ""
    if stored.is_scalar(cell):
        return str(cell).strip()
    if isinstance(cell, bool):
        return str(int(cell))
    raise UnreadableDataError(f"Row {row:,} of the column {column!r} holds no text or number.")


def _plain(cell: Any, column: str, row: int) -> float:
    if cell is None:
        return math.nan
    if isinstance(cell, int | float):
        return float(cell)
    raise UnreadableDataError(
        f"{text.clip(str(cell), 60)!r} in row {row:,} of the column {column!r} is no number."
    )


def too_many(name: str) -> UnreadableDataError:
    return UnreadableDataError(
        f"{name} has too many values: at most {MOST_ROWS:,} rows and {MOST_VALUES:,} values of "
        "the columns that are read."
    )
