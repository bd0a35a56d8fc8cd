"""Keeping and deleting packages of versions."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from hub.protocol.packages import METHOD, Package
from registry.models import Version
from registry.packages.models import VersionPackage
from registry.versions import lifecycle


@transaction.atomic
def keep(*, version: Version, manifest_sha256: str, package: Package) -> bool:
    """Keep a package that was found; False when the version has other files by now, or none."""
    version = lifecycle.lock(version)
    is_withdrawn = version.state == Version.State.WITHDRAWN
    if version.is_draft or is_withdrawn or version.manifest_sha256 != manifest_sha256:
        return False
    VersionPackage.objects.update_or_create(
        version=version,
        defaults={
            "manifest_sha256": manifest_sha256,
            "method": METHOD,
            "layout": package.layout.value,
            "document": package.to_json(),
            "checked_at": timezone.now(),
        },
    )
    return True


def forget(version: Version) -> None:
    """Delete the package of a withdrawn version."""
    VersionPackage.objects.filter(version=version).delete()
