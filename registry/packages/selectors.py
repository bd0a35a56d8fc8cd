"""Packages of versions, and how their decoders generate, for users who see the version."""

from __future__ import annotations

from typing import TypeVar

from registry.models import Version
from registry.packages.models import VersionGeneration, VersionPackage

_Row = TypeVar("_Row", VersionPackage, VersionGeneration)


def of(version: Version) -> VersionPackage | None:
    """The package of the files that a version has now; None where it was not checked.

    The caller has looked up the version for an actor.
    """
    return _of(VersionPackage, version)


def generation_of(version: Version) -> VersionGeneration | None:
    """What was measured of the decoder among the files that a version has now, if anything."""
    return _of(VersionGeneration, version)


def _of(kind: type[_Row], version: Version) -> _Row | None:
    if version.is_draft:
        return None
    return kind.objects.filter(
        version=version, manifest_sha256=version.manifest_sha256 or ""
    ).first()
