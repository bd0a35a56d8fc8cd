"""The REST operations of dataset versions, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from hub.client.rest.calls import Group, json_of, part, tail


@dataclass(frozen=True, kw_only=True)
class DatasetFile:
    """A file of a version of a data set."""

    path: str
    size: int
    sha256: str
    url: str


@dataclass(frozen=True, kw_only=True)
class DatasetVersionSummary:
    """A version of a data set, as shown in lists."""

    number: int
    # digest of its manifest: files and splits as canonical JSON
    sha256: str
    message: str
    file_count: int
    size_bytes: int
    created_by: str
    created_at: datetime
    url: str


@dataclass(frozen=True, kw_only=True)
class SplitInput:
    """The input that a model gets from a row."""

    # name of a model's input
    name: str
    columns: tuple[str, ...]
    # polarity of pictures, if stated
    polarity: str | None = None


@dataclass(frozen=True, kw_only=True)
class Target:
    """The expected output of a model."""

    column: str
    # class names in the order of their numbers
    labels: tuple[str, ...]
    # class that a single score speaks for, if stated
    positive: str | None = None
    # columns of 0 and 1, one for each label, with several labels for each row
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Split:
    """A part of a data set, and how its rows are read; see docs/datasets.md."""

    name: str
    task: str
    reader: str
    files: tuple[str, ...]
    inputs: tuple[SplitInput, ...]
    target: Target


@dataclass(frozen=True, kw_only=True)
class DatasetVersion(DatasetVersionSummary):
    """A version of a data set with its files and splits."""

    files: tuple[DatasetFile, ...]
    splits: tuple[Split, ...]


class DatasetVersionsGroup(Group):
    """The operations of dataset versions."""

    def read_file(
        self, slug: str, number: int, path: str, *, to: Annotated[Path | str, "file to write"]
    ) -> Path:
        """The content of the file; supports ranges and conditional requests."""
        return self._file(
            f"datasets/{part(slug)}/versions/{part(number)}/files/{tail(path)}", to=to
        )

    def create(
        self,
        slug: str,
        *,
        files: Annotated[
            Mapping[str, str], "path of each file -> sha256:<hex> of its bytes, uploaded before"
        ],
        namespace: Annotated[
            str | None,
            "namespace in which a missing data set is made together with its first version",
        ] = None,
        splits: Sequence[Mapping[str, Any]] | None = None,
        message: str | None = None,
        sizes: Annotated[
            Mapping[str, int] | None,
            "path of each file -> its size in bytes: quotas are checked before files are uploaded",
        ] = None,
    ) -> DatasetVersion:
        """Publish a version from uploaded files. Returns 200 if an equal version exists."""
        return self._call(
            DatasetVersion,
            "POST",
            f"datasets/{part(slug)}/versions",
            content=json_of(
                {
                    "namespace": namespace,
                    "files": files,
                    "splits": splits,
                    "message": message,
                    "sizes": sizes,
                }
            ),
        )

    def croissant(self, slug: str, number: int) -> str:
        """Read a version as Croissant 1.0, for data loaders of machine learning frameworks."""
        return self._text(f"datasets/{part(slug)}/versions/{part(number)}/croissant")

    def list(
        self,
        slug: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[DatasetVersionSummary]:
        """List versions, newest first."""
        return self._pages(DatasetVersionSummary, f"datasets/{part(slug)}/versions", limit=limit)

    def read(self, slug: str, number: int) -> DatasetVersion:
        """Read a version with its files and splits."""
        return self._call(DatasetVersion, "GET", f"datasets/{part(slug)}/versions/{part(number)}")
