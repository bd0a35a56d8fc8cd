"""The rows of a split as arrays in a folder: the work of a child, as the files are a stranger's.

Writes ``input_K.npy`` (numbers, an axis of rows first) or ``input_K.json`` (text) for each input,
``targets.npy`` for the targets, and for pictures ``pictures.json``, their names in the archive.
Reading takes time in proportion to the files, and never unpickles.
"""

from __future__ import annotations

import csv
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hub.protocol import inputs, splits, stored
from runners.engine.evaluation import archives, classes
from runners.engine.evaluation.answers import Column, Rows
from runners.engine.evaluation.archives import UnreadableDataError
from runners.engine.onnx_files import text

if TYPE_CHECKING:
    from pathlib import Path

    from hub.protocol.splits import Split

    Array = np.ndarray[Any, Any]

MOST_ROWS = 1_000_000
# Values of a table: rows times the columns that are read; and columns that its header may have.
MOST_VALUES, MOST_HEADER = 50_000_000, 10_000
TABLE_BYTES = 1 << 30
PICTURE_BYTES = 64 << 20
# Characters of one value.
_FIELD = 1 << 20
_MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})
_HIDDEN = "__MACOSX/"
PICTURES = "pictures.json"
TARGETS = "targets.npy"


class Table(NamedTuple):
    """The columns of a table by name: arrays of numbers, or lists of text as it was written."""

    rows: int
    columns: dict[str, Array | list[str]]


def read(document: dict[str, Any], folder: Path, work: Path, texts: Sequence[bool]) -> Rows:
    """Read a split whose files lie in ``folder``.

    ``texts`` tells for each input whether the model takes text. Raises UnreadableDataError.
    """
    (split,) = splits.read_stored([document])
    if split.reader == "images":
        return _pictures(split, folder / split.files[0], work)
    if split.reader == "npz":
        values, targets = _npz(split, folder / split.files[0])
    else:
        values, targets = _table(split, folder, texts)
    columns = tuple(_write(value, work, place) for place, value in enumerate(values))
    written, count = _targets(split, targets)
    _finish(written, work)
    return Rows(len(written), count, columns)


def value_of(work: Path, place: int, *, is_text: bool) -> Array:
    """An input's values as `read` wrote them; numbers are mapped from the file, not loaded."""
    if is_text:
        return np.asarray(json.loads((work / f"input_{place}.json").read_bytes()), dtype=object)
    array: Array = np.load(work / f"input_{place}.npy", mmap_mode="r", allow_pickle=False)
    return array


def _write(value: Array | list[list[str]], work: Path, place: int) -> Column:
    if isinstance(value, list):
        with (work / f"input_{place}.json").open("x", encoding="utf-8") as file:
            json.dump(value, file)
        missing = sum(not cell for row in value for cell in row)
        return Column((len(value[0]),), is_text=True, missing=missing)
    np.save(work / f"input_{place}.npy", value, allow_pickle=False)
    missing = int(np.isnan(value).sum()) if value.dtype.kind == "f" else 0
    return Column(value.shape[1:], is_text=False, missing=missing)


def _finish(targets: Array, work: Path) -> None:
    np.save(work / TARGETS, targets, allow_pickle=False)


def _table(
    split: Split, folder: Path, texts: Sequence[bool]
) -> tuple[list[Array | list[list[str]]], Array | list[str]]:
    targets = split.target.columns or (split.target.column,)
    schema = dict.fromkeys(targets, split.task == "classification")
    for split_input, is_text in zip(split.inputs, texts, strict=True):
        for column in split_input.columns:
            if schema.setdefault(column, is_text) != is_text:
                raise UnreadableDataError(f"The column {column!r} is input and target.")
    read_file = {"csv": _csv, "parquet": _parquet}[split.reader]
    size = sum((folder / path).stat().st_size for path in split.files)
    if size > TABLE_BYTES:
        raise UnreadableDataError(
            f"The tables have {size:,} bytes; at most {TABLE_BYTES:,} are read."
        )
    tables = []
    rows = 0
    for path in split.files:
        tables.append(read_file(folder / path, path, schema, MOST_ROWS - rows))
        rows += tables[-1].rows
    if not rows:
        raise UnreadableDataError("The split has no rows.")
    joined = {
        name: _join([table.columns[name] for table in tables], is_text=is_text)
        for name, is_text in schema.items()
    }
    values: list[Array | list[list[str]]] = []
    for split_input, is_text in zip(split.inputs, texts, strict=True):
        own = [joined[column] for column in split_input.columns]
        if is_text:
            values.append([list(row) for row in zip(*own, strict=True)])
        else:
            values.append(np.stack([np.asarray(column) for column in own], axis=1))
    if split.target.columns:
        return values, np.stack([np.asarray(joined[name]) for name in targets], axis=1)
    return values, joined[split.target.column]


def _join(parts: list[Array | list[str]], *, is_text: bool) -> Array | list[str]:
    if is_text:
        return [cell for part in parts for cell in part]
    return np.concatenate([np.asarray(part) for part in parts])


def _csv(path: Path, name: str, schema: dict[str, bool], most: int) -> Table:
    """A CSV file (RFC 4180) with a header line."""
    csv.field_size_limit(_FIELD)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            places = _places(name, header, schema)
            columns: dict[str, list[Any]] = {column: [] for column in schema}
            for number, row in enumerate(_rows(lines), start=1):
                if number > most or number * len(schema) > MOST_VALUES:
                    raise _too_many(name)
                if len(row) != len(header):
                    raise UnreadableDataError(
                        f"Row {number:,} of {name} has {len(row):,} fields; the header has "
                        f"{len(header):,}."
                    )
                for column, is_text in schema.items():
                    cell = row[places[column]].strip()
                    columns[column].append(cell if is_text else _number(cell, column, number))
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


def _number(cell: str, column: str, row: int) -> float:
    if cell.lower() in _MISSING:
        return math.nan
    try:
        if "_" not in cell:
            return float(cell)
    except ValueError:
        pass
    raise UnreadableDataError(
        f"{text.clip(cell, 60)!r} in row {row:,} of the column {column!r} is no number."
    )


def _parquet(path: Path, name: str, schema: dict[str, bool], most: int) -> Table:
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
                raise _too_many(name)
            columns: dict[str, list[Any]] = {column: [] for column in schema}
            for batch in file.iter_batches(10_000, columns=list(schema), use_threads=False):
                for column in schema:
                    columns[column] += batch.column(column).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableDataError(f"{name} is not a readable Parquet file: {error}.") from None
    count = len(next(iter(columns.values())))
    if count > most:
        raise _too_many(name)
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


def _npz(split: Split, path: Path) -> tuple[list[Array | list[list[str]]], Array | list[str]]:
    name = split.files[0]
    values = _arrays(
        path, name, [*(split_input.columns[0] for split_input in split.inputs), split.target.column]
    )
    counts = {array.shape[:1] for array in values.values()}
    if len(counts) != 1 or () in counts:
        raise UnreadableDataError(f"The arrays of {name} do not have one number of rows.")
    (rows,) = next(iter(counts))
    if not rows:
        raise UnreadableDataError("The split has no rows.")
    if rows > MOST_ROWS:
        raise _too_many(name)
    read = [
        _array(values[split_input.columns[0]], split_input.columns[0], name)
        for split_input in split.inputs
    ]
    return read, _target_array(values[split.target.column], split, name)


def _arrays(path: Path, name: str, columns: list[str]) -> dict[str, Array]:
    archive, members = archives.members(path, name)
    archive.close()
    for column in columns:
        if f"{column}.npy" not in members:
            raise UnreadableDataError(f"{name} has no array {column!r}.")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {column: np.asarray(arrays[column]) for column in dict.fromkeys(columns)}
    except (ValueError, OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        raise UnreadableDataError(f"{name} is not a readable archive of arrays: {error}") from None


def _array(array: Array, column: str, name: str) -> Array | list[list[str]]:
    if array.dtype.kind == "U":
        rows: list[list[str]] = array.reshape(len(array), -1).tolist()
        return rows
    if array.dtype.kind in "fiub":
        return array
    raise UnreadableDataError(
        f"The array {column!r} of {name} holds {array.dtype}, no numbers or text."
    )


def _target_array(target: Array, split: Split, name: str) -> Array | list[str]:
    if split.task == splits.MULTI_LABEL:
        if target.ndim != 2 or target.dtype.kind not in "fiub":
            raise UnreadableDataError(
                f"The target {split.target.column!r} of {name} is no table of 0 and 1."
            )
        return target
    if target.ndim > 1 and target.size == len(target):
        target = target.reshape(len(target))
    if target.ndim != 1 or target.dtype.kind not in "fiubU":
        raise UnreadableDataError(
            f"The target {split.target.column!r} of {name} is no list of numbers or text."
        )
    if split.task == "regression":
        return target.tolist() if target.dtype.kind == "U" else target
    whole = target.astype(np.int64) if target.dtype.kind == "b" else target
    return [str(value) for value in whole.tolist()]


def _pictures(split: Split, path: Path, work: Path) -> Rows:
    name = split.files[0]
    archive, members = archives.members(path, name)
    archive.close()
    names, folders = [], []
    for member, info in sorted(members.items()):
        if member.startswith(_HIDDEN) or member.rpartition("/")[2].startswith("."):
            continue
        if not member.lower().endswith(inputs.PICTURES):
            raise UnreadableDataError(f"{member[:100]!r} in {name} is no picture.")
        if info.file_size > PICTURE_BYTES:
            raise UnreadableDataError(
                f"{member[:100]!r} in {name} has more than {PICTURE_BYTES:,} bytes."
            )
        folder = member.rpartition("/")[0].rpartition("/")[2]
        if not folder:
            raise UnreadableDataError(f"{member[:100]!r} in {name} lies in no folder of a class.")
        names.append(member)
        folders.append(folder)
    if len(names) > MOST_ROWS:
        raise _too_many(name)
    if not names:
        raise UnreadableDataError("The split has no rows.")
    targets, count = _targets(split, folders)
    (work / PICTURES).write_text(json.dumps(names), encoding="utf-8")
    _finish(targets, work)
    return Rows(len(names), count, ())


def _targets(split: Split, values: Array | list[str]) -> tuple[Array, int]:
    """The targets as class numbers or as 0 and 1 with the number of classes, or as values."""
    if split.task == splits.MULTI_LABEL:
        return _several(split, np.asarray(values))
    if split.task == "regression":
        if isinstance(values, list):
            values = np.asarray(
                [_number(cell, "target", row) for row, cell in enumerate(values, 1)]
            )
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0]) + 1
            raise UnreadableDataError(f"Row {row:,} has no finite target.")
        return numbers, 0
    cells = [str(value) for value in values]
    for row, cell in enumerate(cells, start=1):
        if cell.lower() in _MISSING and cell not in split.target.labels:
            raise UnreadableDataError(f"Row {row:,} has no target.")
    try:
        places = classes.table(cells, split.target.labels, of_model=False)
    except classes.UnknownClassError as error:
        raise UnreadableDataError(f"The targets cannot be read: {error}.") from None
    targets = np.asarray([places[cell] for cell in cells], dtype=np.int64)
    return targets, len(split.target.labels) or int(targets.max()) + 1


def _several(split: Split, values: Array) -> tuple[Array, int]:
    """For each row and label 0 or 1, and the number of labels."""
    unknown = ~np.isin(values, (0, 1))
    if unknown.any():
        row = int(np.flatnonzero(unknown.any(axis=1))[0]) + 1
        raise UnreadableDataError(f"Row {row:,} has a target that is neither 0 nor 1.")
    names, count = split.target.labels, values.shape[1]
    if count < 2 or (names and len(names) != count):
        raise UnreadableDataError(
            f"The targets have {count:,} labels for each row, the split names {len(names):,}."
        )
    return values.astype(np.int64), count


def _too_many(name: str) -> UnreadableDataError:
    return UnreadableDataError(
        f"{name} has too many values: at most {MOST_ROWS:,} rows and {MOST_VALUES:,} values of "
        "the columns that are read."
    )
