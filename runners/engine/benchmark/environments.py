"""The host as a benchmark sees it: one plain object, the same for the same configuration.

Clocks and temperatures of the moment are readings of a process and not part of it; names of hosts
and users are nobody's business. What is hidden says so.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hub.protocol.devices import cpu_model, cpuinfo
from runners.engine.benchmark.options import Options
from runners.engine.benchmark.record import NOT_APPLICABLE, NOT_EXPOSED
from runners.engine.benchmark.requests import SessionFacts
from runners.engine.hardware import devices

_CPU = Path("/sys/devices/system/cpu")
# The bits that decide which kernels a runtime chooses, as /proc/cpuinfo calls them.
_ISA = (
    "avx2",
    "fma",
    "f16c",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimd",
    "asimdhp",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
    "sve2",
    "sme",
)


def describe(
    *, cores: Sequence[int], layers: Iterable[str], facts: SessionFacts, options: Options
) -> dict[str, Any]:
    """Describe this host and the runtime that a child found in it."""
    is_gpu = devices.is_gpu(options.provider)
    return {
        **_processor(cores),
        **_system(),
        **_limits(),
        "runtime": options.runtime,
        "runtime_version": facts.runtime_version or NOT_EXPOSED,
        "runtime_build": facts.runtime_build or NOT_EXPOSED,
        "ep_version": facts.ep_version or NOT_APPLICABLE,
        **(devices.describe() if is_gpu else dict.fromkeys(devices.FIELDS, NOT_APPLICABLE)),
        "isolation": sorted(layers),
        "worker_image": options.worker_image or NOT_EXPOSED,
    }


def memory_bytes() -> int:
    """The memory that this process may use: the machine's, or less by its control group."""
    limit = _limits()["memory_limit_bytes"]
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(limit, total) if isinstance(limit, int) else total


def _processor(cores: Sequence[int]) -> dict[str, Any]:
    lines = cpuinfo()
    flags = sorted((lines.get("flags") or lines.get("Features") or "").split())
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*"))
    return {
        "cpu_model": cpu_model(lines),
        "cpu_family": lines.get("cpu family") or lines.get("CPU architecture") or NOT_EXPOSED,
        "cpu_model_number": lines.get("model") or lines.get("CPU part") or NOT_EXPOSED,
        "cpu_stepping": lines.get("stepping") or lines.get("CPU revision") or NOT_EXPOSED,
        "cpu_microcode": lines.get("microcode") or NOT_EXPOSED,
        "cpu_flags_sha256": (
            hashlib.sha256(" ".join(flags).encode()).hexdigest() if flags else NOT_EXPOSED
        ),
        "isa": [name for name in _ISA if name in flags],
        "logical_cpus": os.cpu_count() or NOT_EXPOSED,
        "physical_cpus": _physical(),
        "smt": _read(_CPU / "smt/active", {"1": "on", "0": "off"}),
        "usable_cpus": len(cores),
        "cpu_affinity": list(cores),
        "governor": _read(_CPU / "cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "virtualized": "yes" if "hypervisor" in flags else "no" if flags else NOT_EXPOSED,
        "numa_nodes": len(nodes) or NOT_EXPOSED,
        "numa_policy": "default",
    }


def _physical() -> int | str:
    cores = {
        tuple(_read(folder / name) for name in ("physical_package_id", "core_id"))
        for folder in _CPU.glob("cpu[0-9]*/topology")
    }
    return sum(NOT_EXPOSED not in core for core in cores) or NOT_EXPOSED


def _turbo() -> str:
    boost = _read(_CPU / "cpufreq/boost", {"1": "on", "0": "off"})
    if boost != NOT_EXPOSED:
        return boost
    return _read(_CPU / "intel_pstate/no_turbo", {"0": "on", "1": "off"})


def _system() -> dict[str, Any]:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return {
        "os": release.get("PRETTY_NAME") or platform.system() or NOT_EXPOSED,
        "kernel": platform.release() or NOT_EXPOSED,
        "machine": platform.machine() or NOT_EXPOSED,
        "libc": " ".join(part for part in platform.libc_ver() if part) or NOT_EXPOSED,
        "python": platform.python_version(),
        "memory_total_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _limits() -> dict[str, Any]:
    """What the control group allows; `none` where it is seen to set no limit."""
    quota = _group("cpu.max", "cpu/cpu.cfs_quota_us")
    memory = _group("memory.max", "memory/memory.limit_in_bytes")
    limit: int | str = NOT_EXPOSED
    if memory.isdigit():
        limit = int(memory) if int(memory) < 1 << 60 else "none"
    elif memory == "max":
        limit = "none"
    unlimited = quota == "-1" or quota.startswith("max")
    return {
        "cgroup_cpu_limit": "none" if unlimited else quota or NOT_EXPOSED,
        "memory_limit_bytes": limit,
    }


def _group(second: str, first: str) -> str:
    """One file of this process's group, in either version of the hierarchy."""
    root = Path("/sys/fs/cgroup")
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        lines = []
    own = next((line.split("::", 1)[1].lstrip("/") for line in lines if "::" in line), "")
    for path in (root / own / second, root / second, root / first):
        text = _read(path)
        if text != NOT_EXPOSED:
            return text
    return ""


def _read(path: Path, words: dict[str, str] | None = None) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()[:200]
    except OSError:
        return NOT_EXPOSED
    if words is not None:
        return words.get(text, NOT_EXPOSED)
    return text or NOT_EXPOSED
