"""Packages of versions, for users who see the version."""

from __future__ import annotations

from registry.models import Version
from registry.packages.models import VersionPackage


def of(version: Version) -> VersionPackage | None:
    """The package of the files that a version has now; None where it was not checked.

    The caller has looked up the version for an actor.
    """
    if version.is_draft:
        return None
    return VersionPackage.objects.filter(
        version=version, manifest_sha256=version.manifest_sha256 or ""
    ).first()
