"""Pools and queues of jobs, and the requirements that a worker must meet.

The pool of a job says how it is treated. Its queue also names the runtime where wheels conflict, so
that only workers that can run the job are notified. Other requirements are checked when the job is
claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.worker_features import WorkerFeatures

POOL = r"^(cpu|bench-cpu|light|gpu-[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)$"
QUEUE = r"^(cpu|bench-cpu|light|gpu-[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)(\.[a-z0-9-]{1,30})?$"
# Runtimes in the hub's own environment, and the pools that `hub worker` starts.
OWN_RUNTIMES = (ONNXRUNTIME, REFERENCE)
EMBEDDED = ("cpu", "bench-cpu", "light")
# Queue of jobs that a user is waiting for; a worker may be reserved for it.
URGENT = "cpu.urgent"

_POOL = re.compile(POOL)
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Build:
    """A runtime whose wheels conflict with those of the hub, and what its environment needs."""

    name: str
    requirements: tuple[str, ...]
    # Packages that must have the same version as in the hub's own environment.
    shared: tuple[str, ...] = ("onnx", "numpy")


BUILDS = {build.name: build for build in (Build("openvino", ("openvino==2026.4.1",)),)}


class UnknownNeedError(ValueError):
    """A job requires something that no worker can offer."""


def is_pool(name: str) -> bool:
    """Whether this is the name of a pool or the urgent queue."""
    return name == URGENT or bool(_POOL.match(name))


def queue_of(pool: str, requires: Mapping[str, Any], *, urgent: bool = False) -> str:
    """The queue of a job: its pool, with the name of the runtime if that has its own build."""
    runtime = requires.get("runtime", "")
    if runtime and runtime not in OWN_RUNTIMES:
        return f"{pool}.{runtime}"
    return URGENT if urgent and pool == "cpu" else pool


def queues_of(names: Iterable[str], runtime: str = "") -> list[str]:
    """The queues that a worker of these pools listens to; a worker of a build listens to it alone.

    `cpu` includes urgent jobs; `cpu.urgent` means urgent jobs only.
    """
    queues = [name if name == URGENT else queue_of(name, {"runtime": runtime}) for name in names]
    return [URGENT, *queues] if "cpu" in queues and URGENT not in queues else queues


def check_needs(requires: Mapping[str, Any]) -> dict[str, Any]:
    """Requirements sorted by name, so that equal ones are equal rows; raises UnknownNeedError."""
    for name, value in requires.items():
        kind = _NEEDS.get(name)
        if kind is None or not isinstance(value, kind) or isinstance(value, bool):
            raise UnknownNeedError(f"{name}={value!r} is not a valid worker requirement.")
    return dict(sorted(requires.items()))


def unmet(requires: Mapping[str, Any], features: WorkerFeatures) -> str:
    """The first requirement of a job that the worker does not meet; empty if it meets all."""
    runtime, provider = requires.get("runtime"), requires.get("provider")
    if runtime and runtime not in features.runtimes:
        return str(runtime)
    if provider and provider not in features.providers:
        return str(provider).removesuffix("ExecutionProvider")
    memory = requires.get("memory_bytes", 0)
    if memory and memory > features.memory_bytes:
        return f"{memory / _GIB:.1f} GiB of memory"
    host = requires.get("host")
    if host and host != features.host:
        return f"the host {host}"
    return ""


_NEEDS: dict[str, type] = {"runtime": str, "provider": str, "memory_bytes": int, "host": str}
