"""Keeping and deleting packages of versions, and what was measured of their decoders."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from hub.protocol import generation as generations
from hub.protocol.generation import Generation
from hub.protocol.packages import METHOD, Package
from registry.core import events
from registry.models import Version
from registry.packages.models import VersionGeneration, VersionPackage
from registry.versions import lifecycle


def keep(*, version: Version, manifest_sha256: str, package: Package) -> bool:
    """Keep a package that was found; False when the version has other files by now, or none."""
    row = {
        "method": METHOD,
        "layout": package.layout.value,
        "document": package.to_json(),
        "checked_at": timezone.now(),
    }
    return _keep(VersionPackage, version, manifest_sha256, row, "package.checked")


def keep_generation(*, version: Version, manifest_sha256: str, generation: Generation) -> bool:
    """Keep what was measured; False when the version has other files by now, or none."""
    speed = generation.fastest
    row = {
        "method": generations.METHOD,
        "document": generation.to_json(),
        "tokens_per_second": speed.value if speed.is_ranked else None,
        "measured_at": timezone.now(),
    }
    return _keep(VersionGeneration, version, manifest_sha256, row, "package.measured")


@transaction.atomic
def _keep(
    kind: type[VersionPackage | VersionGeneration],
    version: Version,
    manifest_sha256: str,
    row: dict[str, Any],
    verb: str,
) -> bool:
    version = lifecycle.lock(version)
    is_withdrawn = version.state == Version.State.WITHDRAWN
    if version.is_draft or is_withdrawn or version.manifest_sha256 != manifest_sha256:
        return False
    kind.objects.update_or_create(
        version=version, defaults={"manifest_sha256": manifest_sha256, **row}
    )
    events.record(verb, version, actor=None, model=version.model)
    return True


def forget(version: Version) -> None:
    """Delete what is known of the files of a withdrawn version."""
    VersionPackage.objects.filter(version=version).delete()
    VersionGeneration.objects.filter(version=version).delete()
