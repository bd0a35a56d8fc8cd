"""Recording the results of the checks of a submitted version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from hub.protocol import problems
from hub.protocol.facts import Facts
from registry.core import events
from registry.models import Check, File, Variant, Version
from registry.versions import lifecycle


@dataclass(frozen=True, slots=True)
class VariantDescription:
    """One loadable model that was found in a version, as a worker describes it."""

    name: str
    path: str
    facts: dict[str, Any]
    job_uuid: UUID | None = field(default=None)


@transaction.atomic
def describe(*, version: Version, manifest_sha256: str, variant: VariantDescription) -> bool:
    """Add or renew a variant of a frozen version; False when the version has changed since.

    A derived variant must exist, and gets other facts alone.
    """
    version = lifecycle.lock(version)
    if version.is_draft or version.manifest_sha256 != manifest_sha256:
        return False
    entry = File.objects.get(version=version, path=variant.path)
    facts = Facts.read(variant.facts)
    derived = Variant.objects.filter(version=version, entry=entry).exclude(
        origin=Variant.Origin.UPLOADED
    )
    # How a derived variant was made stays as it is.
    for row in derived:
        row.facts, row.parameters = variant.facts, facts.parameters
        row.save(update_fields=["facts", "parameters"])
        events.record("variant.added", version, actor=None, model=version.model, name=row.name)
    if entry.derived:
        return True
    Variant.objects.update_or_create(
        version=version,
        name=variant.name,
        defaults={
            "entry": entry,
            "facts": variant.facts,
            "opset": facts.opset,
            "ir_version": facts.ir_version,
            "precision": facts.precision,
            "parameters": facts.parameters,
            "job_uuid": variant.job_uuid,
        },
    )
    events.record("variant.added", version, actor=None, model=version.model, name=variant.name)
    return True


@transaction.atomic
def settle(
    *, version: Version, manifest_sha256: str, kind: str, outcome: str, report: dict[str, Any]
) -> bool:
    """Write a check's outcome and draw the conclusion: publish, send back, or wait for the others.

    False, and nothing written, when the version is no longer the one that was checked.
    """
    version = lifecycle.lock(version)
    if version.state == Version.State.DRAFT or version.manifest_sha256 != manifest_sha256:
        return False
    Check.objects.update_or_create(
        version=version, kind=kind, defaults={"outcome": outcome, "report": report}
    )
    events.record("check.finished", version, actor=None, model=version.model, kind=kind)
    if version.state != Version.State.SUBMITTED:
        return True
    if outcome in (Check.Outcome.FAILED, Check.Outcome.ERRORED):
        lifecycle.reject(version)
    elif version.publish_requested:
        try:
            lifecycle.publish(version, version.created_by)
        except problems.ChecksPending:
            return True
    return True
