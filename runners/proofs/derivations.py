"""Variants that a maintainer asks for: another opset, or another precision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hub.protocol import digests, problems
from registry.core.permissions import require
from registry.models import Variant
from registry.versions import selectors as registry
from runners.proofs.verification import upgrade_options
from runners.queue import services

if TYPE_CHECKING:
    from registry.core.permissions import Actor
    from registry.models import Version
    from runners.models import Job

UPGRADE = "upgrade"
RECIPES = ("fp16", "int8", "int8-qdq")
KINDS = (UPGRADE, *RECIPES)
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

    ``kind`` is `upgrade` (to ``opset``, up or down; the highest that runs where it is None) or a
    recipe of ``RECIPES``; ``calibration`` is the digest of an uploaded ``.npz`` for ``int8-qdq``.
    Raises NotAllowed, StateConflict, VariantMissing, InvalidRequest, BlobUnknown.
    """
    require(actor, "version.derive", version.model)
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; variants can be made only of published versions.",
            state=version.state,
        )
    source = registry.variant(version, variant or None, None, None)
    job_input = {"source": source.name, "runtime": "onnxruntime"}
    if kind == UPGRADE:
        job_input |= _target(opset) | upgrade_options(version)
        job_kind = UPGRADE
    elif kind in RECIPES:
        job_input |= _recipe(actor, kind, opset, calibration)
        job_kind = "convert"
    else:
        raise problems.InvalidRequest.at("/kind", f"Choose one of {', '.join(KINDS)}.")
    return services.enqueue(
        kind=job_kind,
        version=version,
        entry=source.entry.path,
        job_input=job_input,
        requires={"runtime": "onnxruntime"},
        priority=_URGENT,
    )


def name_of(job: Job, facts: dict[str, Any]) -> str:
    """The name of the variant that a job made: `opset21`, `int8`, or `tiny-int8` from `tiny`."""
    suffix = f"opset{facts['target']}" if job.kind == UPGRADE else str(job.input["recipe"])
    source = str(job.input["source"])
    name = suffix if source == "default" else f"{source}-{suffix}"
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:NAME_CHARACTERS]


def origin_of(job: Job) -> str:
    """How the variant that a job made differs: in opset, or in precision."""
    return (Variant.Origin.UPGRADED if job.kind == UPGRADE else Variant.Origin.CONVERTED).value


def _target(opset: int | None) -> dict[str, Any]:
    if opset is not None and opset not in _OPSETS:
        raise problems.InvalidRequest.at(
            "/opset", f"No runtime here can prove opset {opset}. Choose 7 or higher."
        )
    return {"target": opset}


def _recipe(actor: Actor, recipe: str, opset: int | None, calibration: str) -> dict[str, Any]:
    if opset is not None:
        raise problems.InvalidRequest.at(
            "/opset", f"An opset can only be given for upgrade, not for {recipe}."
        )
    job_input = {"recipe": recipe}
    if calibration:
        if recipe != "int8-qdq":
            raise problems.InvalidRequest.at(
                "/calibration",
                f"A sample can only be given for int8-qdq; {recipe} needs no calibration.",
            )
        blob = registry.linkable_blob(actor, digests.parse(calibration))
        job_input["calibration_sha256"] = blob.sha256
    return job_input
