"""Variants that a maintainer asks for: another opset, or another precision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hub.protocol import digests, problems
from hub.protocol.variants import KINDS, OPSET, Option, with_option
from registry.core.permissions import require
from registry.versions import selectors as registry
from runners.proofs.verification import upgrade_options
from runners.queue import services

if TYPE_CHECKING:
    from hub.protocol.variants import VariantKind
    from registry.core.permissions import Actor
    from registry.models import Version
    from runners.models import Job

NAME_CHARACTERS = 64
_URGENT = 2
_OPSETS = range(7, 100)


def request(
    actor: Actor,
    *,
    version: Version,
    kind: str,
    variant: str = "",
    opset: int | None = None,
    calibration: str = "",
) -> Job:
    """Queue the making of a variant from ``variant``, the version's first one unless named.

    ``kind`` is a name of ``hub.protocol.variants.KINDS``. ``opset`` is the target of an upgrade, up
    or down (None: the highest that runs), ``calibration`` the digest of an uploaded ``.npz``.
    Raises NotAllowed, StateConflict, VariantMissing, InvalidRequest, BlobUnknown.
    """
    require(actor, "version.derive", version.model)
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; variants can be made only of published versions.",
            state=version.state,
        )
    variant_kind = KINDS.get(kind)
    if variant_kind is None:
        raise problems.InvalidRequest.at("/kind", f"Choose one of {', '.join(KINDS)}.")
    source = registry.variant(version, variant or None, None, None)
    if Option.OPSET in variant_kind.options:
        options = _target(opset) | upgrade_options(version)
    else:
        options = _recipe(actor, variant_kind, opset, calibration)
    needs = {"runtime": variant_kind.runtime}
    return services.enqueue(
        kind=variant_kind.job,
        version=version,
        entry=source.entry.path,
        job_input={"source": source.name, **needs, **options},
        requires=needs,
        priority=_URGENT,
    )


def name_of(job: Job, facts: dict[str, Any]) -> str:
    """The name of the variant that a job made: `opset21`, `int8`, or `tiny-int8` from `tiny`."""
    suffix = f"opset{facts['target']}" if job.kind == OPSET.job else str(job.input["recipe"])
    source = str(job.input["source"])
    name = suffix if source == "default" else f"{source}-{suffix}"
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:NAME_CHARACTERS]


def origin_of(job: Job) -> str:
    """How the variant that a job made differs: in opset, or in precision."""
    return next(kind.derivation.adjective for kind in KINDS.values() if kind.job == job.kind)


def _target(opset: int | None) -> dict[str, Any]:
    if opset is not None and opset not in _OPSETS:
        raise problems.InvalidRequest.at(
            "/opset", f"No runtime here can prove opset {opset}. Choose 7 or higher."
        )
    return {"target": opset}


def _recipe(actor: Actor, kind: VariantKind, opset: int | None, calibration: str) -> dict[str, Any]:
    if opset is not None:
        raise problems.InvalidRequest.at(
            "/opset",
            f"An opset can only be given for {with_option(Option.OPSET)}, not for {kind.name}.",
        )
    job_input = {"recipe": kind.name}
    if calibration:
        if Option.CALIBRATION not in kind.options:
            calibrated = with_option(Option.CALIBRATION)
            raise problems.InvalidRequest.at(
                "/calibration",
                f"A sample can only be given for {calibrated}; {kind.name} needs no calibration.",
            )
        blob = registry.linkable_blob(actor, digests.parse(calibration))
        job_input["calibration_sha256"] = blob.sha256
    return job_input
