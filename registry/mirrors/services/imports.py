"""A version of an exported folder becomes a version here, from blobs that its importer uploaded."""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol import refs
from hub.protocol.mirrors import Origin, VersionRecord
from registry.core.permissions import Actor, require
from registry.mirrors import outgoing
from registry.mirrors.services import versions
from registry.models import MirroredVersion, Namespace, RegisteredModel, Version
from registry.versions.services import registered_models

State = MirroredVersion.State


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a version; without a row, ``missing`` digests must be uploaded first."""

    ref: str
    row: MirroredVersion | None
    missing: tuple[str, ...] = ()


def take(
    actor: Actor,
    *,
    namespace: Namespace,
    name: str,
    visibility: str,
    record: VersionRecord,
    origin: Origin,
) -> Imported:
    """Store a version under its number and submit it; what is here already is left alone.

    Where the number is taken by other files, the row says so. Raises what an upload of the same
    files meets.
    """
    user = require(actor, "version.submit", namespace)
    outgoing.origin(origin.url)
    refs.check_name(name)
    model = RegisteredModel.objects.filter(
        namespace=namespace, name__iexact=name, deleted_at=None
    ).first()
    if model is None:
        model = registered_models.create(
            user, namespace=namespace, name=name, visibility=visibility
        )
    ref = f"{model.ref}@{record.number}"
    local = Version.objects.filter(model=model, number=record.number).first()
    if local is not None:
        row = MirroredVersion.objects.filter(version=local).first()
        if row is not None and row.manifest_sha256 == record.manifest_sha256:
            versions.settle(row)
            return Imported(ref, row)
        if local.manifest_sha256 == record.manifest_sha256 and not local.is_draft:
            return Imported(ref, versions.adopt(model, local, record, origin))
        return Imported(
            ref, versions.conflict(model, record.number, record.manifest_sha256, origin)
        )
    if record.state == Version.State.WITHDRAWN:
        return Imported(ref, None)
    digests = {file.sha256 for file in record.files}
    if missing := versions.missing(user, model, digests, by_hand=True):
        return Imported(ref, None, tuple(sorted(missing)))
    return Imported(ref, versions.store(user, model, record, origin))
