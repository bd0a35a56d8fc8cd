"""The first rows of the CSV files of a version, read once and kept, so that pages need no storage.

Only the beginning of a file is read, and as text. Files of other readers are opened in sandboxes
alone, so pages show nothing of them.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from itertools import islice

from hub.protocol import problems, stored
from registry.models import DatasetFile, DatasetVersion
from registry.storage.files import store

FILES, ROWS, COLUMNS, LONGEST_CELL = 3, 6, 20, 80
MOST_BYTES = 64_000
# Versions that one clean-up reads; each takes a few reads of storage.
MOST_VERSIONS = 100


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a table; ``more_columns`` are not shown."""

    path: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more_columns: int


def of(version: DatasetVersion) -> list[Preview]:
    """The previews of a version; none of a withdrawn data set, and none that are yet to be read."""
    if version.dataset.withdrawn_at is not None:
        return []
    return [
        Preview(
            stored.text(row.get("path")),
            tuple(row["header"]),
            tuple(map(tuple, row["rows"])),
            stored.whole(row.get("more_columns")) or 0,
        )
        for row in stored.rows(version.previews)
    ]


def write(version: DatasetVersion) -> None:
    """Keep the previews of the first CSV files; where storage does not answer, for a later call."""
    files = version.files.select_related("blob").order_by("path")
    tables = (file for file in files if file.path.lower().endswith(".csv"))
    try:
        read = [preview for file in islice(tables, FILES) if (preview := _read(file))]
    except problems.Problem:
        return
    DatasetVersion.objects.filter(pk=version.pk).update(previews=list(map(asdict, read)))


def write_missing() -> None:
    """Keep the previews that are yet to be read, of some versions."""
    rows = DatasetVersion.objects.filter(previews__isnull=True, dataset__withdrawn_at=None)
    for version in rows.order_by("pk")[:MOST_VERSIONS]:
        write(version)


def _read(file: DatasetFile) -> Preview | None:
    """The first whole rows of a file; None for a file that is no table of UTF-8 text."""
    raw = store().read(file.blob_id, MOST_BYTES)
    text = raw.decode("utf-8-sig", errors="replace")
    if "\0" in text or "\ufffd" in text[:-1]:
        return None
    if file.blob.size > len(raw):
        text = text.rpartition("\n")[0]  # the last line may be cut
    try:
        lines = list(islice(csv.reader(io.StringIO(text, newline="")), ROWS + 1))
    except csv.Error:
        return None
    if not lines:
        return None
    header, *rows = lines
    return Preview(
        file.path,
        tuple(map(_cell, header[:COLUMNS])),
        tuple(tuple(map(_cell, row[:COLUMNS])) for row in rows),
        max(0, len(header) - COLUMNS),
    )


def _cell(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"
