"""What the driver's management library (NVML) says of the GPU: no context is made by asking it.

Without the library, or without a GPU that this process may see, every field is hidden.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub.protocol.devices import GPU_PROVIDERS, NOT_APPLICABLE, NOT_EXPOSED

FIELDS = (
    "gpu_model",
    "gpu_uuid_sha256",
    "gpu_memory_bytes",
    "driver",
    "cuda",
    "power_cap_w",
    "gpu_compute_mode",
)
_LIBRARY = "libnvidia-ml.so.1"
_MOST_PIDS = 64
_HIDDEN_BYTES = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE
_TOO_SMALL = 7  # NVML_ERROR_INSUFFICIENT_SIZE
_TEXT = 96
# Kinds of clocks (nvmlClockType_t), and reasons (nvmlClocksThrottleReason…): those that are left
# out are an idle GPU, clocks that somebody has set, and boards that are synchronised.
_SM, _MEMORY = 1, 2
_THROTTLE = {
    0x04: "sw-power-cap",
    0x08: "hw-slowdown",
    0x20: "sw-thermal-slowdown",
    0x40: "hw-thermal-slowdown",
    0x80: "hw-power-brake",
}


class _Process(ctypes.Structure):
    """One process on a GPU (nvmlProcessInfo_t of the second version)."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def is_gpu(provider: str) -> bool:
    """Whether a provider works on a GPU of the kind that is described here."""
    return provider in GPU_PROVIDERS


def nodes(folder: Path = Path("/dev")) -> tuple[Path, ...]:
    """The device files that a GPU's library opens; empty on a host without one.

    Those of `nvidia-caps` are what a part of a GPU (MIG) is opened through.
    """
    paths = sorted((*folder.glob("nvidia*"), *folder.glob("nvidia-caps/nvidia-cap*")))
    return tuple(path for path in paths if path.is_char_device())


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of the board at one moment; None where the driver does not tell.

    ``throttle`` names what lowers the clocks for want of power or cooling.
    """

    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    memory_used_bytes: int | None
    throttle: tuple[str, ...] | None


def reading(library: str = _LIBRARY) -> Reading | None:
    """Clocks, memory and throttle reasons of the GPU now; None if they cannot be read."""
    with _bound(library) as pair:
        if pair is None:
            return None
        nvml, gpu = pair
        memory, reasons = _Memory(), ctypes.c_ulonglong()
        has_memory = nvml.nvmlDeviceGetMemoryInfo(gpu, ctypes.byref(memory)) == 0
        ask = getattr(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", None)
        has_reasons = ask is not None and ask(gpu, ctypes.byref(reasons)) == 0
        return Reading(
            sm_clock_mhz=_whole(nvml, "nvmlDeviceGetClockInfo", gpu, ctypes.c_uint(_SM)),
            memory_clock_mhz=_whole(nvml, "nvmlDeviceGetClockInfo", gpu, ctypes.c_uint(_MEMORY)),
            memory_used_bytes=int(memory.used) if has_memory else None,
            throttle=throttle_of(int(reasons.value)) if has_reasons else None,
        )


def throttle_of(bits: int) -> tuple[str, ...]:
    """The reasons of nvmlClocksThrottleReasons that lower clocks; an idle GPU has none of them."""
    return tuple(name for bit, name in _THROTTLE.items() if bits & bit)


def describe(library: str = _LIBRARY) -> dict[str, Any]:
    """The GPU that this worker is bound to."""
    facts: dict[str, Any] = dict.fromkeys(FIELDS, NOT_EXPOSED)
    with _bound(library) as pair:
        if pair is None:
            return facts
        nvml, gpu = pair
        uuid = _words(nvml, "nvmlDeviceGetUUID", gpu)
        memory = _Memory()
        if nvml.nvmlDeviceGetMemoryInfo(gpu, ctypes.byref(memory)) == 0:
            facts["gpu_memory_bytes"] = int(memory.total)
        facts["gpu_model"] = _words(nvml, "nvmlDeviceGetName", gpu)
        facts["driver"] = _words(nvml, "nvmlSystemGetDriverVersion")
        if uuid != NOT_EXPOSED:
            facts["gpu_uuid_sha256"] = hashlib.sha256(uuid.encode()).hexdigest()
        version = _whole(nvml, "nvmlSystemGetCudaDriverVersion_v2")
        if version is not None:
            facts["cuda"] = f"{version // 1000}.{version % 1000 // 10}"
        cap = _whole(nvml, "nvmlDeviceGetEnforcedPowerLimit", gpu)
        facts["power_cap_w"] = NOT_EXPOSED if cap is None else cap / 1000
        mode = _whole(nvml, "nvmlDeviceGetComputeMode", gpu)
        facts["gpu_compute_mode"] = NOT_EXPOSED if mode is None else str(mode)
    return facts


def others(provider: str) -> int | str:
    """How many processes compute on the GPU of a provider before one of ours begins."""
    if not is_gpu(provider):
        return NOT_APPLICABLE
    running = processes()
    return NOT_EXPOSED if running is None else len(running)


def memory_of(pid: int) -> int | str:
    """Bytes of the GPU's memory that a process holds now, those of its CUDA context included."""
    used = (processes() or {}).get(pid)
    return NOT_EXPOSED if used is None else used


def processes(library: str = _LIBRARY) -> dict[int, int | None] | None:
    """The processes that compute on the GPU now, each with the bytes of its memory that it holds.

    None where nobody can say; the bytes are None where the driver does not tell them.
    """
    with _bound(library) as pair:
        if pair is None:
            return None
        nvml, gpu = pair
        ask = getattr(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", None)
        if ask is None:
            return None
        room = _MOST_PIDS
        for _ in range(2):
            count, rows = ctypes.c_uint(room), (_Process * room)()
            code = ask(gpu, ctypes.byref(count), rows)
            if code == 0:
                used = {int(row.pid): int(row.used) for row in rows[: count.value]}
                return {pid: None if n == _HIDDEN_BYTES else n for pid, n in used.items()}
            if code != _TOO_SMALL:
                return None
            # As many as it says there are, and some that begin meanwhile.
            room = count.value + _MOST_PIDS
        return None


def joules(library: str = _LIBRARY) -> float | None:
    """The board's energy counter since the driver was loaded; None where it has none."""
    with _bound(library) as pair:
        if pair is None:
            return None
        counter = ctypes.c_ulonglong()
        ask = getattr(pair[0], "nvmlDeviceGetTotalEnergyConsumption", None)
        if ask is None or ask(pair[1], ctypes.byref(counter)) != 0:
            return None
        return int(counter.value) / 1000


@contextmanager
def _bound(library: str) -> Iterator[tuple[Any, Any] | None]:
    """The library and the one GPU of this worker: the first it may see, by UUID where bound."""
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        nvml = None
    if nvml is None or nvml.nvmlInit_v2() != 0:
        yield None
        return
    try:
        gpu = ctypes.c_void_p()
        name = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
        if name.startswith(("GPU-", "MIG-")):
            code = nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(gpu))
        else:
            number = int(name) if name.isdigit() else 0
            code = nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(number), ctypes.byref(gpu))
        yield (nvml, gpu) if code == 0 else None
    finally:
        nvml.nvmlShutdown()


def _words(nvml: Any, name: str, *arguments: Any) -> str:
    text = ctypes.create_string_buffer(_TEXT)
    if getattr(nvml, name)(*arguments, text, ctypes.c_uint(_TEXT)) != 0:
        return NOT_EXPOSED
    return text.value.decode("utf-8", "replace") or NOT_EXPOSED


def _whole(nvml: Any, name: str, *arguments: Any) -> int | None:
    value = ctypes.c_uint()
    ask = getattr(nvml, name, None)
    if ask is None or ask(*arguments, ctypes.byref(value)) != 0:
        return None
    return int(value.value)
