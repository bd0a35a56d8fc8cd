"""The REST operations of files, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from hub.client.rest.calls import Group, json_of, model_path, part, tail
from hub.client.rest.shared import File


@dataclass(frozen=True, kw_only=True)
class Files:
    """The named files of the draft after the request."""

    # paths whose blob you have not uploaded: send them with content, or upload them
    missing: tuple[str, ...]


class FilesGroup(Group):
    """The operations of files."""

    def read_blob(self, sha256: str, *, to: Annotated[Path | str, "file to write"]) -> Path:
        """Download the file. Supports ranges and conditional requests."""
        return self._file(f"blobs/{part(sha256)}", to=to)

    def delete(self, model: str, number: int, path: str) -> None:
        """Remove a file from a draft."""
        self._do("DELETE", f"models/{model_path(model)}/versions/{part(number)}/files/{tail(path)}")

    def put(self, model: str, number: int, path: str, *, blob: str) -> File:
        """Set a file of a draft to an uploaded blob."""
        return self._call(
            File,
            "PUT",
            f"models/{model_path(model)}/versions/{part(number)}/files/{tail(path)}",
            content=json_of({"blob": blob}),
        )

    def put_all(self, model: str, number: int, *, files: Sequence[Mapping[str, Any]]) -> Files:
        """Set many files of a draft at once: all or none. Small files can be sent inline."""
        return self._call(
            Files,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/files",
            content=json_of({"files": files}),
        )

    def read(
        self, model: str, number: int, path: str, *, to: Annotated[Path | str, "file to write"]
    ) -> Path:
        """The content of the file; supports ranges and conditional requests."""
        return self._file(
            f"models/{model_path(model)}/versions/{part(number)}/files/{tail(path)}", to=to
        )
