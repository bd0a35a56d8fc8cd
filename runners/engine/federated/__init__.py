"""Tasks of a training: what a model exchanges, whether contributions fit it, and their aggregate.

Nothing here needs a runtime; contributions are mapped and read as numbers only. The rules and
their formulas are in docs/federated.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runners.engine.jobs import JobError

if TYPE_CHECKING:
    from runners.engine.jobs import Job
    from runners.engine.reports import Report

_ELSEWHERE = (
    "This runtime's environment does not support trainings; the hub's own worker runs them."
)


def schema(job: Job) -> Report:
    """Split a model into a skeleton and its exchangeable weights, or say why it cannot be."""
    try:
        from runners.engine.federated import schema_flow  # noqa: PLC0415 - it needs the protocol
    except ImportError:
        raise JobError("engine-error", _ELSEWHERE) from None
    return schema_flow.run(job)


def check(job: Job) -> Report:
    """Judge contributions one by one: bytes, header, tensors, values, norm."""
    try:
        from runners.engine.federated import check_flow  # noqa: PLC0415 - it needs the protocol
    except ImportError:
        raise JobError("engine-error", _ELSEWHERE) from None
    return check_flow.run(job)


def aggregate(job: Job) -> Report:
    """Make the next weights of a training out of accepted contributions."""
    try:
        from runners.engine.federated import aggregate_flow  # noqa: PLC0415 - it needs the protocol
    except ImportError:
        raise JobError("engine-error", _ELSEWHERE) from None
    return aggregate_flow.run(job)
