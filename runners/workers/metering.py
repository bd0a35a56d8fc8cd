"""The cost of a job: CPU seconds, and joules if there is a meter.

CPU time is that of the fork server and of all children that it has waited for (proc(5), fields 14
to 17). RAPL counts the energy of whole processor packages, so a job is charged by its share of
their CPU time. A GPU runs one job at a time, so the job is charged for all that NVML counts.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from registry.core.work_totals import Cost
from runners.engine.hardware import devices, readings
from runners.sandbox import Sandbox

_TICKS = os.sysconf("SC_CLK_TCK")
_STAT = Path("/proc/stat")


@dataclass(frozen=True, slots=True)
class _Moment:
    """Values of the counters at one time; None if there is no such meter."""

    clock: float
    cpu_seconds: float | None
    busy_seconds: float | None
    package_joules: dict[str, float]
    gpu_joules: float | None


class Meter:
    """Counts what a sandbox uses from the creation of this object until ``cost``."""

    def __init__(
        self, sandbox: Sandbox, *, has_gpu: bool = False, powercap: Path = readings.POWERCAP
    ) -> None:
        self._sandbox = sandbox
        self._has_gpu = has_gpu
        self._zones = readings.meters(powercap)
        self._before = self._read()

    def cost(self) -> Cost:
        """What was used so far; None for what is not measured."""
        before, after = self._before, self._read()
        seconds = after.clock - before.clock
        cpu = None
        # Before the first job there is no server, and a server that was lost took its counters with
        # it.
        if after.cpu_seconds is not None and after.cpu_seconds >= (before.cpu_seconds or 0.0):
            cpu = after.cpu_seconds - (before.cpu_seconds or 0.0)
        return Cost(seconds, cpu, self._joules(before, after, cpu))

    def _joules(self, before: _Moment, after: _Moment, cpu: float | None) -> float | None:
        package = self._package_share(before, after, cpu)
        if not self._has_gpu:
            return package
        if before.gpu_joules is None or after.gpu_joules is None:
            return None
        return after.gpu_joules - before.gpu_joules + (package or 0.0)

    def _package_share(self, before: _Moment, after: _Moment, cpu: float | None) -> float | None:
        if not self._zones or cpu is None:
            return None
        if before.busy_seconds is None or after.busy_seconds is None:
            return None
        total = 0.0
        for name, folder in self._zones.items():
            used = after.package_joules[name] - before.package_joules[name]
            total += used if used >= 0 else used + _joules_of(folder / "max_energy_range_uj")
        busy = after.busy_seconds - before.busy_seconds
        return total * min(1.0, cpu / busy) if busy > 0 else 0.0

    def _read(self) -> _Moment:
        return _Moment(
            clock=time.monotonic(),
            cpu_seconds=self._sandbox.cpu_seconds(),
            busy_seconds=_busy_seconds() if self._zones else None,
            package_joules={
                name: _joules_of(folder / "energy_uj") for name, folder in self._zones.items()
            },
            gpu_joules=devices.joules() if self._has_gpu else None,
        )


def _joules_of(file: Path) -> float:
    return int(file.read_text()) / 1e6


def _busy_seconds() -> float | None:
    """CPU time of all processes of this machine, without idle time and waiting for disks."""
    try:
        numbers = [int(word) for word in _STAT.read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return (sum(numbers) - sum(numbers[3:5])) / _TICKS
