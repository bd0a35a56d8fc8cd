"""One version of a data set as its page shows it: files, and how its splits are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from frontend.parts import labels, slices
from registry.datasets import previews, selectors

if TYPE_CHECKING:
    from django.http import HttpRequest

    from hub.protocol.splits import Split, SplitInput, Target
    from registry.models import Dataset, DatasetVersion

# How many of each a page shows; the API has all of them.
FILES, NAMES, VERSIONS = 200, 40, 50


def _names(texts: tuple[str, ...]) -> dict[str, Any]:
    """The first of some names, and how many more there are."""
    return {"first": texts[:NAMES], "more": max(0, len(texts) - NAMES)}


def _split(split: Split) -> dict[str, Any]:
    """A split; ``inputs`` are the name of each with the source of its values."""
    noun = "Array" if split.reader == "npz" else "Column"
    return {
        "name": split.name,
        "task": split.task,
        "reader": labels.READERS[split.reader],
        "files": _names(split.files),
        "inputs": [
            (source.name, _source(noun, source), _names(source.columns)) for source in split.inputs
        ],
        "target": _target(noun, split.target),
        "positive": split.target.positive,
        "labels": _names(split.target.labels),
    }


def _source(noun: str, of: SplitInput) -> str:
    if of.columns:
        return noun if len(of.columns) == 1 else f"{noun}s"
    return f"Picture, {of.polarity.replace('-', ' ')}" if of.polarity else "Picture"


def _target(noun: str, of: Target) -> tuple[str, dict[str, Any]]:
    if of.columns:
        return f"{noun}s", _names(of.columns)
    return (noun, _names((of.column,))) if of.column else ("Folder name", _names(()))


def _version(request: HttpRequest, row: DatasetVersion) -> dict[str, Any]:
    """A version with the files of a page, each with its address, and the first rows of tables."""
    files = list(row.files.all())
    page = slices.of(request, files, lambda file: file.path, FILES)
    version = f"/api/v1/datasets/{row.dataset.slug}/versions/{row.number}"
    return {
        "row": row,
        "files": [(file, f"{version}/files/{quote(file.path)}") for file in page.rows],
        "slice": page,
        "previews": previews.of(row),
        "splits": list(map(_split, row.typed_splits)),
    }


def select(
    request: HttpRequest, of: Dataset, number: int | None
) -> tuple[dict[str, Any] | None, list[DatasetVersion]]:
    """The version of this number, or the newest if there is one, and the newest versions.

    Raises NotFound where there is none of this number.
    """
    newest = list(selectors.versions(of).order_by("-number")[:VERSIONS])
    if number is None and newest:
        number = newest[0].number
    view = None if number is None else _version(request, selectors.version(of, number))
    return view, newest
