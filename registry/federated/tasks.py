"""The current task of a device: answered from rows that are only read, however often it asks."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import close_old_connections, connection

from hub.protocol import problems
from registry.federated import selectors
from registry.federated.models import Contribution, DeviceEvaluation, Participant, Round, Training
from registry.federated.services import receiving
from registry.models import Blob

# Requests that one web process holds at once; each takes a thread, so there are few.
MOST_HELD = 4
LONGEST_WAIT_SECONDS = 25.0
LOOK_SECONDS = 0.5
_held = threading.BoundedSemaphore(MOST_HELD)


def of(participant: Participant, *, wait_seconds: float = 0.0) -> Round | None:
    """The round that this participant has to answer; None where there is nothing to do.

    With ``wait_seconds`` it waits so long for one, while not too many others do. Raises
    TrainingOver.
    """
    task = _look(participant)
    if task is not None or wait_seconds <= 0:
        return task
    with _place() as is_free:
        until = time.monotonic() + min(wait_seconds, LONGEST_WAIT_SECONDS)
        while is_free and task is None and time.monotonic() < until:
            if not connection.in_atomic_block:
                close_old_connections()
            time.sleep(min(LOOK_SECONDS, max(0.0, until - time.monotonic())))
            participant.training.refresh_from_db(fields=["state"])
            task = _look(participant)
    return task


def retry_after(training: Training) -> int:
    """Seconds until a device should ask again, spread so that not all come at once."""
    pace = training.typed_schedule.poll_seconds
    return max(1, pace // 2 + secrets.randbelow(pace // 2 + 1))


def to_json(of: Round, address: str) -> dict[str, Any]:
    """A task as the API gives it; ``address`` is that of the training."""
    training = of.training
    rules = training.typed_rules
    return {
        "training": str(training.uuid),
        "round": of.number,
        "nonce": of.nonce,
        "mode": of.mode,
        "base": {
            "version": training.base.number,
            **_weights(of.base_sha256, of.base, f"{address}/rounds/{of.number}/base"),
            "skeleton": _skeleton(training, address),
        },
        "layout_digest": training.layout_sha256,
        "deadline": of.deadline.isoformat(),
        "encodings": rules.encodings,
        "examples_cap": of.examples_cap,
        "norm_limit": rules.norm_limit,
        "clip_norm": rules.clip_norm,
        "largest_bytes": receiving.most_bytes(training),
        "hyperparameters": training.hyperparameters,
        "contribution": f"{address}/rounds/{of.number}/contribution",
        "uploads": f"{address}/uploads",
    }


def evaluation_json(of: DeviceEvaluation, address: str) -> dict[str, Any]:
    """The task to compare two models, as the API gives it; ``address`` is the training's."""
    training, place = of.round.training, f"{address}/rounds/{of.round.number}/evaluation"
    return {
        "training": str(training.uuid),
        "round": of.round.number,
        "nonce": of.nonce,
        "base": _weights(of.base_sha256, of.base, f"{place}/base"),
        "candidate": _weights(of.candidate_sha256, of.candidate, f"{place}/candidate"),
        "skeleton": _skeleton(training, address),
        "layout_digest": training.layout_sha256,
        "deadline": of.deadline.isoformat(),
        "examples_cap": of.round.examples_cap,
        "hyperparameters": training.hyperparameters,
        "report": f"{place}/report",
    }


def _weights(sha256: str, blob: Blob | None, url: str) -> dict[str, Any]:
    return {"digest": f"sha256:{sha256}", "bytes": blob.size if blob else None, "url": url}


def _skeleton(training: Training, address: str) -> dict[str, str]:
    return {"digest": f"sha256:{training.skeleton_sha256}", "url": f"{address}/skeleton"}


def _look(participant: Participant) -> Round | None:
    training = participant.training
    if training.is_over:
        raise problems.TrainingOver(f"{training} is {training.state}. {training.reason}".strip())
    live = selectors.live_round(training)
    if live is None or live.state != Round.State.OPEN:
        return None
    if live.selected is not None and participant.pseudonym not in live.selected:
        return None
    done = Contribution.objects.filter(participant=participant, round=live)
    return None if done.exists() else live


@contextmanager
def _place() -> Iterator[bool]:
    is_free = _held.acquire(blocking=False)
    try:
        yield is_free
    finally:
        if is_free:
            _held.release()
