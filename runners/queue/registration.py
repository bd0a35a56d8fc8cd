"""What a worker tells of itself: its machine, and what passed its own tests there."""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    from runners.sandbox import Sandbox

_MEMORY_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


def host() -> str:
    """The machine's name: what is exclusive is exclusive among the workers that share it."""
    return settings.HUB_WORKER_HOST or socket.gethostname()


def name(pid: int | None = None) -> str:
    """A worker's name: where it runs and its process, unique while it lives."""
    return f"{socket.gethostname()}-{pid or os.getpid()}"


def capabilities(sandbox: Sandbox) -> dict[str, Any]:
    """What jobs may require, as it was found here; starts the sandbox's server if need be."""
    level, offers = sandbox.level(), sandbox.offers()
    return {
        "isolation": {"name": level.name, **asdict(level)},
        "versions": sandbox.versions(),
        "runtimes": offers.get("runtimes", {}),
        "profiles": offers.get("profiles", {}),
        "providers": offers.get("providers", []),
        "failed": offers.get("failed", {}),
        "compiled_in": offers.get("compiled_in", []),
        "host": host(),
        "gpu": _gpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": _memory_bytes(),
        "machine": platform.machine(),
    }


def summary(offered: dict[str, Any]) -> dict[str, Any]:
    """What of an offer is worth a line in the log."""
    found = offered["capabilities"]
    return {
        "queues": offered["pool"],
        "isolation": found["isolation"]["name"],
        "runtimes": found["runtimes"],
        "providers": found["providers"],
        "failed": found["failed"],
    }


def _gpu() -> str:
    """The one GPU that this worker is bound to by its UUID; empty where it is bound to none."""
    bound = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return bound if bound.startswith(("GPU-", "MIG-")) and "," not in bound else ""


def _memory_bytes() -> int:
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _MEMORY_LIMITS:
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            found.append(int(text))
    return min(found)
