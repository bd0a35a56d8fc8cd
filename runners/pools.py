"""Where work is done: pools, the queue of each runtime build, and what a worker must offer.

A job's pool says how it is treated; its queue adds the runtime where wheels exclude each other, so
that a bell rings only where the job can be done. What is finer is tested at the claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runners.worker_features import WorkerFeatures

POOL = r"^(cpu|bench-cpu|light|gpu-[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)$"
QUEUE = r"^(cpu|bench-cpu|light|gpu-[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)(\.[a-z0-9-]{1,30})?$"
# What a worker of the hub's own environment brings, and what `hub worker` starts.
OWN_RUNTIMES = (ONNXRUNTIME, REFERENCE)
EMBEDDED = ("cpu", "bench-cpu", "light")
# Where the work waits that somebody is waiting for: a worker may be kept free for it alone.
URGENT = "cpu.urgent"

_POOL = re.compile(POOL)
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Build:
    """A runtime whose wheels cannot share the hub's environment, and what to install beside it."""

    name: str
    requirements: tuple[str, ...]
    # Packages of which the worker's environment must hold the very version of the hub's own.
    shared: tuple[str, ...] = ("onnx", "numpy")


BUILDS = {build.name: build for build in (Build("openvino", ("openvino==2026.4.1",)),)}


class UnknownNeedError(ValueError):
    """A job asks for something that no worker could ever be tested for."""


def is_pool(name: str) -> bool:
    """Whether this is the name of a pool, or that of its urgent part."""
    return name == URGENT or bool(_POOL.match(name))


def queue_of(pool: str, requires: Mapping[str, Any], *, urgent: bool = False) -> str:
    """The queue that a job waits in: its pool, and its runtime's build where that has its own."""
    runtime = requires.get("runtime", "")
    if runtime and runtime not in OWN_RUNTIMES:
        return f"{pool}.{runtime}"
    return URGENT if urgent and pool == "cpu" else pool


def queues_of(names: Iterable[str], runtime: str = "") -> list[str]:
    """The queues that a worker of these pools listens to; one of a build listens to it alone.

    Whoever takes `cpu` takes what is urgent, too; `cpu.urgent` names that alone.
    """
    queues = [name if name == URGENT else queue_of(name, {"runtime": runtime}) for name in names]
    return [URGENT, *queues] if "cpu" in queues and URGENT not in queues else queues


def check_needs(requires: Mapping[str, Any]) -> dict[str, Any]:
    """Give the needs in one order, so that equal needs are equal rows; raises UnknownNeedError."""
    for name, value in requires.items():
        kind = _NEEDS.get(name)
        if kind is None or not isinstance(value, kind) or isinstance(value, bool):
            raise UnknownNeedError(f"{name}={value!r} is not a valid worker requirement.")
    return dict(sorted(requires.items()))


def unmet(requires: Mapping[str, Any], features: WorkerFeatures) -> str:
    """What of a job's needs a worker does not offer, in words; empty where it offers all."""
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
