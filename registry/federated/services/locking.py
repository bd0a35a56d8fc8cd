"""The lock of a training: its moves come one after another."""

from __future__ import annotations

from registry.core import row_locks
from registry.federated.models import Training


def lock(training: Training) -> Training:
    """The training as it is now, locked until the transaction ends."""
    return row_locks.lock(training, "model__namespace", "base", "created_by")
