"""Device classes: the machines whose results stand beside each other, named by their hardware."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NOT_EXPOSED: Final = "not-exposed"
NOT_APPLICABLE: Final = "not-applicable"
# Execution provider -> the device that ONNX Runtime calls its memory by.
GPU_PROVIDERS: Final = {"CUDAExecutionProvider": "cuda", "TensorrtExecutionProvider": "cuda"}
_NOT_TITLE = re.compile(r"[^ -~]+")


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """The machines whose results may stand beside each other, as far as hardware goes."""

    name: str
    title: str
    kind: str


def device_class(kind: str, hardware: str, cores: int | None) -> DeviceClass:
    """The class of a CPU with so many usable cores, or of a GPU; ``hardware`` is its model.

    The name is at most 96 characters: lower-case letters, digits and hyphens.
    """
    title = _NOT_TITLE.sub(" ", hardware).strip()[:120]
    if title in ("", NOT_EXPOSED):
        title = f"unnamed {kind.upper()}"
    if kind == "cpu" and cores is not None:
        title = f"{title}, {cores} {'core' if cores == 1 else 'cores'}"
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:96].strip("-")
    return DeviceClass(name or kind, title, kind)


def this_machine() -> DeviceClass:
    """The class of this machine's CPU, with the cores that this process may use."""
    return device_class("cpu", cpu_model(cpuinfo()), len(usable_cores()))


def usable_cores() -> list[int]:
    """The processors that this process may run on, in order."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cpuinfo() -> dict[str, str]:
    """The first processor's lines of /proc/cpuinfo; empty where there is no such file."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = [line.split(":", 1) for line in text.split("\n\n", 1)[0].splitlines() if ":" in line]
    return {name.strip(): value.strip() for name, value in pairs}


def cpu_model(lines: dict[str, str]) -> str:
    """The model of a processor from its lines, or `not-exposed`."""
    arm = [lines.get(name, "") for name in ("CPU implementer", "CPU part")]
    return lines.get("model name") or (f"arm {' '.join(arm)}" if all(arm) else NOT_EXPOSED)
