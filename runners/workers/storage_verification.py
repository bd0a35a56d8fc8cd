"""Verification of stored bytes in a thread of its own, at the lowest priority."""

from __future__ import annotations

import os
import threading

import structlog

from registry.core import leases, periodic
from registry.storage import verification
from runners.background import BackgroundTask, background_tasks, start_thread

log = structlog.get_logger(__name__)

NICEST = 19


def connect() -> None:
    """Have workers verify a share every hour, beginning a minute after their start."""
    task = BackgroundTask(
        "scrub",
        verification.SLICE_SECONDS,
        is_due=lambda: leases.take_turn("verification", verification.SLICE_SECONDS),
        start=lambda: start(),  # noqa: PLW0108 - looked up when it runs
        first_seconds=60.0,
    )
    background_tasks.register("runners", task)


def start() -> threading.Thread:
    """Start verifying an hour's share of storage; returns the thread."""
    return start_thread("scrub", _scrub)


def _scrub() -> None:
    # On Linux the priority is that of the thread, also for disk access (ioprio_set(2)).
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICEST)
    with periodic.run("verification") as run:
        run.done_bytes = verification.verify_slice()
    log.info("storage_scrubbed", bytes=run.done_bytes)
