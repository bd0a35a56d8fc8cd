"""Aliases, tags, and yanks of mirrored versions follow those of their source."""

from __future__ import annotations

from hub.protocol import problems
from hub.protocol.mirrors import ModelRecord
from registry.mirrors.sources import Released
from registry.models import MirroredVersion, Ref, RegisteredModel, User, Version
from registry.versions.services import refs
from registry.versions.services import versions as version_services

ENDED = (Version.State.YANKED, Version.State.WITHDRAWN)


def follow(actor: User, model: RegisteredModel, record: ModelRecord) -> list[str]:
    """Set the aliases and tags of served versions; returns those that mean others here."""
    rows = MirroredVersion.objects.filter(model=model, version__state__in=Version.SERVED)
    numbers = set(rows.values_list("number", flat=True))
    by_commit = dict(rows.values_list("commit_id", "number"))
    present = {
        ref.name: (ref.kind, ref.version.number if ref.version else 0)
        for ref in Ref.objects.filter(model=model).select_related("version")
    }
    refused = []
    for name in record.names:
        number = name.number if name.number in numbers else by_commit.get(name.commit_id or "-")
        if number is None or present.get(name.name) == (name.kind, number):
            continue
        try:
            refs.put(
                actor,
                model=model,
                name=name.name,
                kind=name.kind,
                number=number,
                allow_yanked=True,
            )
        except problems.Problem:
            refused.append(name.name)
    return refused


def follow_state(actor: User, row: MirroredVersion, released: Released) -> None:
    """Yank a version that ended at its source, and restore one that this yanked before."""
    version = row.version
    if version is None or row.state != MirroredVersion.State.STORED:
        return
    was_ended, is_ended = row.source_state in ENDED, released.state in ENDED
    if is_ended and version.state == Version.State.PUBLISHED:
        word = "Withdrawn" if released.state == Version.State.WITHDRAWN else "Yanked"
        reason = f"{word} at {row.url}: {released.reason or 'no reason stated'}"
        version_services.yank(actor, version=version, reason=reason, breaks_dependents=True)
    elif was_ended and not is_ended and version.state == Version.State.YANKED:
        version_services.restore(actor, version=version)
    if row.source_state != released.state:
        row.source_state = released.state
        row.save(update_fields=["source_state"])
