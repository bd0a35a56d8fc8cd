"""The package of a version, how far its check is, and how its decoder generates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.protocol import problems
from hub.protocol.generation import Generation
from hub.protocol.packages import Package, PackageState
from registry.models import Version
from registry.packages import selectors
from runners.models import Job
from runners.packages import jobs


@dataclass(frozen=True, slots=True)
class CheckedPackage:
    """The package of a version; None, with the state, where there is none.

    ``generation`` is what was measured of its decoder, if anything.
    """

    state: PackageState
    package: Package | None = None
    checked_at: datetime | None = None
    generation: Generation | None = None


def of(version: Version) -> CheckedPackage:
    """The package of a version that the caller has looked up for an actor."""
    row = selectors.of(version)
    if row is not None:
        measured = selectors.generation_of(version)
        generation = measured.generation if measured is not None else None
        return CheckedPackage(PackageState.CHECKED, row.package, row.checked_at, generation)
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


def describe(version: Version, pk: int) -> str:
    """What was measured of the decoder of a version in a few words; raises NotFound."""
    generation = of(version).generation
    if generation is None or pk != version.pk:
        raise problems.NotFound("The version has no result of generation.")
    failed = ", ".join(check.title.lower() for check in generation.failures)
    return f"not so: {failed}" if failed else generation.reason or "consistent"


def implied_terms(version: Version) -> tuple[str, str]:
    """The task and the library that the package of a version implies; empty where none does."""
    row = selectors.of(version)
    return (row.package.task, row.package.layout.library) if row is not None else ("", "")
