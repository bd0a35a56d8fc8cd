"""The REST operations of starter, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass

from hub.client.rest.calls import Group, part


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that files of a model are taken from."""

    name: str
    version: str
    # file name of the archive
    archive: str
    # bytes of the archive
    size: int
    sha256: str
    # whether the hub stores the archive already
    is_stored: bool


@dataclass(frozen=True, kw_only=True)
class StarterModel:
    """A model of the manifest, and what became of its import."""

    name: str
    summary: str
    task: str
    # licence of the weights
    license: str
    # licence of the package's code
    code_license: str
    # whether `--starter` imports it
    is_first: bool
    # bytes of its packages
    size: int
    state: str
    # per cent of a running import
    progress: int
    # why the import failed, or its current step; may be empty
    detail: str
    # the version; empty if there is none
    ref: str
    packages: tuple[Package, ...]


class StarterGroup(Group):
    """The operations of starter."""

    def request_import(self, name: str) -> StarterModel:
        """Import a model from its packages; an import that is queued already is returned."""
        return self._call(StarterModel, "POST", f"starter/{part(name)}")

    def list(self) -> tuple[StarterModel, ...]:
        """List the models that can be imported from packages; for administrators."""
        return self._items(StarterModel, "GET", "starter")

    def read(self, name: str) -> StarterModel:
        """Read the state of a model and its import."""
        return self._call(StarterModel, "GET", f"starter/{part(name)}")
