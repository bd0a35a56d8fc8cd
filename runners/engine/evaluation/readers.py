"""The rows of a split as arrays in a folder: the work of a child, as the files are a stranger's.

Writes ``input_K.npy`` (numbers, an axis of rows first) or ``input_K.json`` (text) for each input,
``targets.npy`` for the targets, or ``targets.json`` where they are texts or boxes, and for pictures
``pictures.json``, their names in the archive.
Reading takes time in proportion to the files, and never unpickles.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hub.protocol import inputs, splits
from hub.protocol.splits import Split
from runners.engine.evaluation import archives, classes, detection, tables
from runners.engine.evaluation.answers import Column, Rows
from runners.engine.evaluation.archives import UnreadableDataError

Array = np.ndarray[Any, Any]

TABLE_BYTES = 1 << 30
PICTURE_BYTES = 64 << 20
_HIDDEN = "__MACOSX/"
PICTURES = "pictures.json"
TARGETS, TEXTS = "targets.npy", "targets.json"
_MOST_TABLE = 64 << 20


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


def _finish(targets: Array | list[Any], work: Path) -> None:
    if isinstance(targets, list):
        (work / TEXTS).write_text(json.dumps(targets), encoding="utf-8")
        return
    np.save(work / TARGETS, targets, allow_pickle=False)


def _table(
    split: Split, folder: Path, texts: Sequence[bool]
) -> tuple[list[Array | list[list[str]]], Array | list[str]]:
    targets = split.target.columns or (split.target.column,)
    schema = dict.fromkeys(targets, split.task in ("classification", splits.TEXT))
    for split_input, is_text in zip(split.inputs, texts, strict=True):
        for column in split_input.columns:
            if schema.setdefault(column, is_text) != is_text:
                raise UnreadableDataError(f"The column {column!r} is input and target.")
    read_file = {"csv": tables.read_csv, "parquet": tables.read_parquet}[split.reader]
    size = sum((folder / path).stat().st_size for path in split.files)
    if size > TABLE_BYTES:
        raise UnreadableDataError(
            f"The tables have {size:,} bytes; at most {TABLE_BYTES:,} are read."
        )
    read_tables = []
    rows = 0
    for path in split.files:
        read_tables.append(read_file(folder / path, path, schema, tables.MOST_ROWS - rows))
        rows += read_tables[-1].rows
    if not rows:
        raise UnreadableDataError("The split has no rows.")
    joined = {
        name: _join([table.columns[name] for table in read_tables], is_text=is_text)
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
    if rows > tables.MOST_ROWS:
        raise tables.too_many(name)
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
    if split.task in splits.ARRAYS:
        return (_tokens if split.task == splits.LANGUAGE else _frames)(target, split, name)
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


def _frames(target: Array, split: Split, name: str) -> Array:
    """Targets of frames as ``[rows, frames, labels]``; of pitches there is one label."""
    axes = (2, 3) if split.task == splits.FRAMES else (1, 2)
    if target.dtype.kind not in "fiub" or target.ndim not in axes:
        raise UnreadableDataError(
            f"The target {split.target.column!r} of {name} has the shape {list(target.shape)}; "
            f"{split.task} needs rows and frames."
        )
    values = target.reshape(len(target), target.shape[1] if target.ndim > 1 else 1, -1)
    if split.task == splits.FRAMES and not np.isin(values, (0, 1)).all():
        raise UnreadableDataError(f"The target {split.target.column!r} holds more than 0 and 1.")
    if not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise UnreadableDataError(
            f"The target {split.target.column!r} holds no numbers of frames, or negative ones."
        )
    return values.astype(np.float64)


def _tokens(target: Array, split: Split, name: str) -> Array:
    """Targets of a language model, ``[rows, tokens]``; the first token of a row has none before."""
    column = split.target.column
    if target.dtype.kind not in "iu" or target.ndim != 2 or target.shape[1] < 2:
        raise UnreadableDataError(
            f"The target {column!r} of {name} is no array of whole numbers with two tokens or more "
            "in each row."
        )
    values = target.astype(np.int64)
    is_ignored = values == splits.IGNORED_TOKEN
    if (values[~is_ignored] < 0).any():
        raise UnreadableDataError(
            f"The target {column!r} holds negative tokens other than {splits.IGNORED_TOKEN}."
        )
    if is_ignored[:, 1:].all(axis=1).any():
        raise UnreadableDataError(f"The target {column!r} has rows of which no token is predicted.")
    return values


def _picture_texts(content: bytes, table: Path, split: Split, name: str) -> dict[str, str]:
    """The text of each picture by its path."""
    table.write_bytes(content)
    columns = (splits.PICTURE_NAME, split.target.column)
    read_rows = tables.read_csv(table, name, dict.fromkeys(columns, True), tables.MOST_ROWS).columns
    names, texts = (map(str, read_rows[column]) for column in columns)
    return dict(zip(names, texts, strict=True))


def _pictures(split: Split, path: Path, work: Path) -> Rows:
    name = split.files[0]
    archive, members = archives.members(path, name)
    archive.close()
    if split.task in splits.PICTURE_TABLES:
        return _with_table(split, path, work, members)
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
    if len(names) > tables.MOST_ROWS:
        raise tables.too_many(name)
    if not names:
        raise UnreadableDataError("The split has no rows.")
    targets, count = _targets(split, folders)
    (work / PICTURES).write_text(json.dumps(names), encoding="utf-8")
    _finish(targets, work)
    return Rows(len(names), count, ())


def _with_table(split: Split, path: Path, work: Path, members: dict[str, zipfile.ZipInfo]) -> Rows:
    """Pictures with a text or with boxes each, in the order of their names."""
    name, table = split.files[0], splits.PICTURE_TABLES[split.task]
    if table not in members:
        raise UnreadableDataError(f"{name} has no {table}, which has the target of each picture.")
    if members[table].file_size > _MOST_TABLE:
        raise UnreadableDataError(f"{table} in {name} has more than {_MOST_TABLE:,} bytes.")
    with zipfile.ZipFile(path) as archive:
        content = archive.read(table)
    targets: Mapping[str, Any]
    if split.task == splits.DETECTION:
        targets = detection.read_targets(content, split, f"{table} in {name}")
    else:
        targets = _picture_texts(content, work / table, split, f"{table} in {name}")
    names = sorted(targets)
    for member in names:
        if member not in members or not member.lower().endswith(inputs.PICTURES):
            raise UnreadableDataError(f"{name} has no picture {member[:100]!r}.")
        if members[member].file_size > PICTURE_BYTES:
            raise UnreadableDataError(
                f"{member[:100]!r} in {name} has more than {PICTURE_BYTES:,} bytes."
            )
    if not names:
        raise UnreadableDataError("The split has no rows.")
    (work / PICTURES).write_text(json.dumps(names), encoding="utf-8")
    _finish([targets[member] for member in names], work)
    return Rows(len(names), 0, ())


def _targets(split: Split, values: Array | list[str]) -> tuple[Array | list[str], int]:
    """The targets as class numbers or as 0 and 1 with the number of classes, or as values."""
    if split.task == splits.TEXT:
        return [str(value) for value in values], 0
    if split.task in splits.ARRAYS:
        return np.asarray(values), 0
    if split.task == splits.MULTI_LABEL:
        return _several(split, np.asarray(values))
    if split.task == "regression":
        if isinstance(values, list):
            values = np.asarray(
                [tables.number(cell, "target", row) for row, cell in enumerate(values, 1)]
            )
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0]) + 1
            raise UnreadableDataError(f"Row {row:,} has no finite target.")
        return numbers, 0
    cells = [str(value) for value in values]
    for row, cell in enumerate(cells, start=1):
        if cell.lower() in tables.MISSING and cell not in split.target.labels:
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
