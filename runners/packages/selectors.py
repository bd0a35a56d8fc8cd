"""The package of a version, and how far its check is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.protocol.packages import Package, PackageState
from registry.models import Version
from registry.packages import selectors
from runners.models import Job
from runners.packages import jobs


@dataclass(frozen=True, slots=True)
class CheckedPackage:
    """The package of a version; None, with the state, where there is none."""

    state: PackageState
    package: Package | None = None
    checked_at: datetime | None = None


def of(version: Version) -> CheckedPackage:
    """The package of a version that the caller has looked up for an actor."""
    row = selectors.of(version)
    if row is not None:
        return CheckedPackage(PackageState.CHECKED, row.package, row.checked_at)
    has_none = version.state in (Version.State.DRAFT, Version.State.WITHDRAWN)
    if has_none or not jobs.is_one(version):
        return CheckedPackage(PackageState.UNCHECKED)
    newest = (
        Job.objects.filter(
            version=version, kind=jobs.KIND, input__manifest_sha256=version.manifest_sha256
        )
        .order_by("-queued_at")
        .first()
    )
    has_failed = newest is not None and newest.state in (Job.State.FAILED, Job.State.CANCELLED)
    return CheckedPackage(PackageState.FAILED if has_failed else PackageState.PENDING)
