"""Variants that a maintainer asks for: another opset, or another precision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hub.protocol import digests, problems
from hub.protocol.variants import KINDS, UPGRADE, Option, with_option
from registry.core.permissions import Actor, require
from registry.models import Version
from registry.versions import blob_selectors
from registry.versions import selectors as registry
from runners.models import Job
from runners.proofs.verification import upgrade_options
from runners.queue import services

NAME_CHARACTERS = 64
_URGENT = 2
_OPSETS = range(7, 100)
# Limits of a list of nodes that stay in float32.
_MOST_NODES, _NODE_CHARACTERS = 1000, 500


def request(
    actor: Actor,
    *,
    version: Version,
    kind: str,
    variant: str = "",
    opset: int | None = None,
    calibration: str = "",
    keep_float32: Sequence[str] = (),
) -> Job:
    """Queue the making of a variant from ``variant``, the version's first one unless named.

    ``kind`` is a name of ``hub.protocol.variants.KINDS``. ``opset`` is the target of an upgrade, up
    or down (None: the highest that runs), ``calibration`` the digest of an uploaded ``.npz``;
    ``keep_float32`` are names of nodes that stay in float32 beside those that would overflow.
    Raises NotAllowed, StateConflict, VariantMissing, InvalidRequest, BlobUnknown, Throttled.
    """
    user = require(actor, "version.derive", version.model)
    if not version.is_served:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; variants can be made only of published versions.",
            state=version.state,
        )
    variant_kind = problems.expect(
        KINDS.get(kind), problems.InvalidRequest.at("/kind", f"Choose one of {', '.join(KINDS)}.")
    )
    values: dict[Option, Any] = {
        Option.OPSET: opset,
        Option.CALIBRATION: calibration,
        Option.KEEP_FLOAT32: keep_float32,
    }
    for option, value in values.items():
        if value and option not in variant_kind.options:
            raise problems.InvalidRequest.at(
                f"/{option}", f"{kind} takes no {option}; {with_option(option)} does."
            )
    source = registry.variant(version, variant or None, None, None)
    if variant_kind == UPGRADE:
        options = _target(opset) | upgrade_options(source)
    else:
        options = _recipe(actor, kind, calibration, keep_float32)
    needs = {"runtime": variant_kind.runtime}
    return services.enqueue(
        kind=variant_kind.job,
        version=version,
        entry=source.entry.path,
        job_input={"source": source.name, **needs, **options},
        requires=needs,
        priority=_URGENT,
        requester=user,
    )


def name_of(job: Job, facts: dict[str, Any]) -> str:
    """The name of the variant that a job made: `opset21`, `int8`, or `tiny-int8` from `tiny`."""
    suffix = f"opset{facts['target']}" if job.kind == UPGRADE.job else str(job.input["recipe"])
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


def _recipe(
    actor: Actor, recipe: str, calibration: str, keep_float32: Sequence[str]
) -> dict[str, Any]:
    job_input: dict[str, Any] = {"recipe": recipe}
    if keep_float32:
        if len(keep_float32) > _MOST_NODES or any(
            len(name) > _NODE_CHARACTERS for name in keep_float32
        ):
            raise problems.InvalidRequest.at(
                f"/{Option.KEEP_FLOAT32}",
                f"Name at most {_MOST_NODES} nodes, each by at most {_NODE_CHARACTERS} characters.",
            )
        job_input[Option.KEEP_FLOAT32] = sorted(set(keep_float32))
    if calibration:
        blob = blob_selectors.linkable(actor, digests.parse(calibration))
        job_input["calibration_sha256"] = blob.sha256
    return job_input
