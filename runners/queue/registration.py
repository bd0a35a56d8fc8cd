"""The registration of a worker: its machine, and the runtimes and providers that work there."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import structlog
from django.conf import settings

from hub.protocol.devices import GPU_PROVIDERS
from runners.engine.hardware import causes
from runners.engine.hardware.causes import Cause
from runners.sandbox import Sandbox
from runners.worker_features import WorkerFeatures

log = structlog.get_logger(__name__)

_MEMORY_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


def host() -> str:
    """The name of the machine; exclusive jobs are exclusive among the workers that share it."""
    return settings.HUB_WORKER_HOST or socket.gethostname()


def name(pid: int | None = None) -> str:
    """The name of a worker: its machine and process id, unique while it lives."""
    return f"{socket.gethostname()}-{pid or os.getpid()}"


def features(sandbox: Sandbox, queues: Sequence[str] = ()) -> WorkerFeatures:
    """What jobs may require, as it was found here; starts the sandbox's server if need be.

    If ``queues`` are those of a GPU, `failed` also has the providers that the build lacks.
    """
    level, offers = sandbox.level(), sandbox.offers()
    build = offers.runtimes.get("onnxruntime")
    failed = offers.failed
    if build and any(queue.startswith("gpu-") for queue in queues):
        lacking = sorted(GPU_PROVIDERS.keys() - set(offers.compiled_in))
        failed = failed | dict.fromkeys(lacking, causes.not_compiled(build))
    return WorkerFeatures(
        **asdict(replace(offers, failed=failed)),
        isolation={"name": level.name, **asdict(level)},
        versions=sandbox.versions(),
        host=host(),
        gpu=_gpu(),
        cpus=len(os.sched_getaffinity(0)),
        memory_bytes=_memory_bytes(),
        machine=platform.machine(),
    )


def log_start(worker: str, queues: str, features: WorkerFeatures) -> None:
    """Write what a worker offers, and a line for each runtime and provider that failed its test."""
    log.info(
        "worker_started",
        worker=worker,
        queues=queues,
        isolation=features.isolation["name"],
        runtimes=features.runtimes,
        providers=features.providers,
        failed=features.failed,
    )
    log_unavailable(features)


def unavailable(features: WorkerFeatures) -> dict[str, Cause]:
    """The runtimes and providers that failed their test, each with its cause."""
    return {name: causes.of(words) for name, words in sorted(features.failed.items())}


def log_unavailable(features: WorkerFeatures) -> None:
    """Write a line for each runtime and provider that failed its test: reason, cause and cure."""
    for name, cause in unavailable(features).items():
        # A provider that takes no operators is as it should be.
        write = log.info if cause.code == causes.NO_NODES else log.warning
        reason = features.failed[name]
        write(
            "provider_unavailable", provider=name, reason=reason, cause=cause.code, cure=cause.cure
        )


def _gpu() -> str:
    """The UUID of the only GPU that this worker is bound to; empty if it is bound to none."""
    bound = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return bound if bound.startswith(("GPU-", "MIG-")) and "," not in bound else ""


def _memory_bytes() -> int:
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _MEMORY_LIMITS:
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return min(limits)
