"""Files that workers made from a version's own, kept beside the originals and never in their place.

A derived file never changes; where a later job makes another one of the same name, the variant
moves to the new file and the old one stays readable.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.db import transaction

from hub.protocol import problems, proofs, refs
from hub.protocol.facts import Facts
from hub.protocol.proofs import Proof
from registry.core import events
from registry.models import File, Variant, Version
from registry.storage.services import blobs, quotas
from registry.versions import lifecycle
from registry.versions.services.files import git_names

MARK = 8


@dataclass(frozen=True, slots=True)
class Output:
    """A file that a job made: its name, and the blob that holds it already."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class DerivedVariant:
    """A variant made from another: its files (the model first), its facts, and how it came.

    An upgraded one has a proof; without one it counts as recorded by an older method.
    """

    name: str
    origin: str
    source: str
    outputs: tuple[Output, ...]
    facts: dict[str, Any]
    derivation: dict[str, Any]
    job_uuid: UUID
    precision: str = field(default="")
    proof: Proof | None = None


def store_bytes(reader: io.BufferedIOBase | io.RawIOBase) -> tuple[str, int]:
    """Store what a job wrote as a blob that nothing names yet; returns its SHA-256 and size.

    No quota counts what the hub makes itself; on the disk its bytes are reserved. Raises
    StorageFull.
    """
    size = reader.seek(0, os.SEEK_END)
    reader.seek(0)
    with quotas.reserved(size):
        blob = blobs.copy(reader)
    return blob.sha256, blob.size


@transaction.atomic
def attach(*, version: Version, manifest_sha256: str, derived: DerivedVariant) -> Variant | None:
    """Add or renew a derived variant; None where the version is another than the job was for.

    Raises StateConflict where the name belongs to an uploaded variant.
    """
    version = lifecycle.lock(version)
    if version.is_draft or version.manifest_sha256 != manifest_sha256:
        return None
    source = Variant.objects.select_related("entry").filter(version=version, name=derived.source)
    if not (original := source.first()):
        return None
    if Variant.objects.filter(
        version=version, name=derived.name, origin=Variant.Origin.UPLOADED
    ).exists():
        raise problems.StateConflict(
            f"{version.ref} has an uploaded variant {derived.name}; a derived variant needs "
            "another name."
        )
    folder = PurePosixPath(original.entry.path).parent
    files = [_file(version, str(folder / output.name), output) for output in derived.outputs]
    facts = Facts.read(derived.facts)
    variant, _ = Variant.objects.update_or_create(
        version=version,
        name=derived.name,
        defaults={
            "origin": derived.origin,
            "entry": files[0],
            "facts": derived.facts,
            "opset": facts.opset,
            "ir_version": facts.ir_version,
            "precision": derived.precision or facts.precision,
            "parameters": facts.parameters,
            "derived_from": original,
            "derivation": derived.derivation,
            "proof": None if derived.proof is None else derived.proof.to_json(),
            "proof_strength": _strength(derived),
            "job_uuid": derived.job_uuid,
        },
    )
    events.record("variant.added", version, actor=None, model=version.model, name=derived.name)
    return variant


def _strength(derived: DerivedVariant) -> str:
    if derived.origin != Variant.Origin.UPGRADED:
        return ""
    return proofs.Strength.EARLIER_METHOD if derived.proof is None else derived.proof.strength


@transaction.atomic
def attach_evidence(
    *, version: Version, manifest_sha256: str, folder: str, output: Output
) -> File | None:
    """Keep a file that shows what a job found, such as a cut-out node with its inputs."""
    version = lifecycle.lock(version)
    if version.is_draft or version.manifest_sha256 != manifest_sha256:
        return None
    return _file(version, f"{folder}/{output.sha256[:MARK]}-{output.name}", output)


@transaction.atomic
def attach_copy(
    *, version: Version, manifest_sha256: str, source: str, output: Output
) -> File | None:
    """Keep a copy of the file ``source`` that differs in its metadata alone, beside it.

    It is no variant: there is nothing in it to prove again.
    """
    version = lifecycle.lock(version)
    if version.is_draft or version.manifest_sha256 != manifest_sha256:
        return None
    if not File.objects.filter(version=version, path=source).exists():
        return None
    file = _file(version, str(PurePosixPath(source).parent / output.name), output)
    events.record("version.annotated", version, actor=None, model=version.model, path=file.path)
    return file


def _file(version: Version, path: str, output: Output) -> File:
    """The derived file at ``path``, or beside it where other bytes have that name."""
    refs.check_path(path)
    present = File.objects.filter(version=version, path=path).first()
    if present and present.blob_id != output.sha256:
        stem, dot, ending = path.rpartition(".")
        path = f"{stem}.{output.sha256[:MARK]}{dot}{ending}"
    blob = blobs.hold([output.sha256])[output.sha256]
    file, _ = File.objects.get_or_create(
        version=version,
        path=path,
        defaults={"blob": blob, "derived": True, **git_names(path, blob)},
    )
    return file
