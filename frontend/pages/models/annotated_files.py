"""The files with the hub's metadata inside, as the page of variants shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.urls import reverse

from frontend.presenters import version_head
from metadata.exports import annotated_files
from runners.models import Job

if TYPE_CHECKING:
    from registry.core.permissions import Actor
    from registry.models import Variant, Version
    from runners.graphs.annotated_files import Copy


@dataclass(frozen=True, slots=True)
class Row:
    """One variant's file with metadata: where it is, or what is to be done for it."""

    variant: str
    source: str
    path: str
    sha256: str
    size: int
    url: str
    job: str
    waiting: bool
    failed: bool
    may_ask: bool

    @property
    def what(self) -> str:
        """What the button that copies the digest says."""
        return f"the sha256 of {self.path}"


def rows(actor: Actor, version: Version) -> list[Row]:
    """One row for each variant; none before a version is published."""
    if not version.is_served:
        return []
    variants = version_head.variants(version)
    found = annotated_files.of_variants(version, variants)
    return [_row(actor, version, one, found.get(one.entry.path)) for one in variants]


def _row(actor: Actor, version: Version, variant: Variant, made: Copy | None) -> Row:
    file = made.file if made else None
    state = made.job.state if made else ""
    place = [version.model.namespace.slug, version.model.name, version.number]
    return Row(
        variant=variant.name,
        source=variant.entry.path,
        path=file.path if file else "",
        sha256=file.blob_id if file else "",
        size=file.blob.size if file else 0,
        url=reverse("version-file", args=[*place, file.path]) if file else "",
        job=str(made.job.pk) if made else "",
        waiting=state in Job.LIVE or (state == Job.State.SUCCEEDED and file is None),
        failed=state == Job.State.FAILED,
        may_ask=actor.is_authenticated,
    )
