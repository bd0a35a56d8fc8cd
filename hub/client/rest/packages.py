"""The REST operations of packages, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group, model_path, part


@dataclass(frozen=True, kw_only=True)
class Component:
    """A part of a package."""

    # unique in the package
    name: str
    role: str
    # path of its ONNX file; empty if it has none
    model: str
    # paths of all its files
    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PackageFinding:
    """A contradiction between the files of a package."""

    code: str
    severity: str
    file: str
    # key in the file; empty if the finding is about the whole file
    field: str
    message: str
    # what to do about it
    cure: str


@dataclass(frozen=True, kw_only=True)
class VersionPackage:
    """The files of a version as one package, and what contradicts among them."""

    state: str
    checked_at: datetime | None
    # empty if the package is not checked
    layout: str | None = None
    # name of the layout for people
    title: str | None = None
    components: tuple[Component, ...]
    findings: tuple[PackageFinding, ...]


class PackagesGroup(Group):
    """The operations of packages."""

    def read(self, model: str, number: int) -> VersionPackage:
        """Read the layout of a version's files, its components, and the findings among them."""
        return self._call(
            VersionPackage, "GET", f"models/{model_path(model)}/versions/{part(number)}/package"
        )
