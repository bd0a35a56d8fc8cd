"""One version of a data set as its page shows it: files, and how its splits are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from frontend.parts import labels
from registry.datasets import selectors

if TYPE_CHECKING:
    from hub.protocol.splits import Split, SplitInput, Target
    from registry.models import Dataset, DatasetFile, DatasetVersion

# How many of each a page shows; the API has all of them.
FILES, NAMES, VERSIONS = 200, 40, 50
_READERS = {
    "csv": "CSV table",
    "parquet": "Parquet table",
    "npz": "NumPy archive",
    "images": "ZIP archive of pictures, a folder for each class",
}


@dataclass(frozen=True, slots=True)
class Names:
    """The first of some names, and how many more there are."""

    first: tuple[str, ...]
    more: int

    @classmethod
    def of(cls, texts: tuple[str, ...]) -> Names:
        """At most NAMES of them."""
        return cls(texts[:NAMES], max(0, len(texts) - NAMES))


@dataclass(frozen=True, slots=True)
class SplitView:
    """Display data of a split; ``inputs`` are the name of each with the source of its values."""

    name: str
    task: str
    reader: str
    files: Names
    inputs: tuple[tuple[str, str, Names], ...]
    target: tuple[str, Names]
    labels: Names
    positive: str

    @classmethod
    def of(cls, split: Split) -> SplitView:
        """The split as words."""
        noun = "Array" if split.reader == "npz" else "Column"
        return cls(
            name=split.name,
            task=labels.task(split.task),
            reader=_READERS[split.reader],
            files=Names.of(split.files),
            inputs=tuple(
                (source.name, _source(noun, source), Names.of(source.columns))
                for source in split.inputs
            ),
            target=_target(noun, split.target),
            positive=split.target.positive,
            labels=Names.of(split.target.labels),
        )


def _source(noun: str, of: SplitInput) -> str:
    if of.columns:
        return noun if len(of.columns) == 1 else f"{noun}s"
    return f"Picture, {of.polarity.replace('-', ' ')}" if of.polarity else "Picture"


def _target(noun: str, of: Target) -> tuple[str, Names]:
    if of.columns:
        return f"{noun}s", Names.of(of.columns)
    return (noun, Names.of((of.column,))) if of.column else ("Folder name", Names.of(()))


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version with the rows that its page has room for; ``files`` go with their addresses."""

    row: DatasetVersion
    files: list[tuple[DatasetFile, str]]
    more_files: int
    splits: list[SplitView]

    @classmethod
    def of(cls, row: DatasetVersion) -> VersionView:
        """What the page of a version says of it."""
        files = list(row.files.all())
        version = f"/api/v1/datasets/{row.dataset.slug}/versions/{row.number}"
        return cls(
            row=row,
            files=[(file, f"{version}/files/{quote(file.path)}") for file in files[:FILES]],
            more_files=max(0, len(files) - FILES),
            splits=[SplitView.of(split) for split in row.typed_splits],
        )


def select(of: Dataset, number: int | None) -> tuple[VersionView | None, list[DatasetVersion]]:
    """The version of this number, or the newest if there is one, and the newest versions.

    Raises NotFound where there is none of this number.
    """
    newest = list(selectors.versions(of).order_by("-number")[:VERSIONS])
    if number is None and newest:
        number = newest[0].number
    view = None if number is None else VersionView.of(selectors.version(of, number))
    return view, newest
