"""Readings of a host around a stretch of time: who else was at work, and what the meters say.

The files are opened before a child is confined and read through their handles afterwards, so that
the reading is taken exactly where the timed part begins and ends. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub.protocol.devices import NOT_APPLICABLE, NOT_EXPOSED
from runners.engine.hardware import devices

_BYTES = 1 << 16
POWERCAP = Path("/sys/class/powercap")
_MOST_METERS = 64
_GROUPS = (
    Path("/sys/fs/cgroup"),
    Path("/sys/fs/cgroup/unified"),
    Path("/sys/fs/cgroup/cpu"),
    Path("/sys/fs/cgroup/cpu,cpuacct"),
)


@dataclass(frozen=True, slots=True)
class Moment:
    """One look at the host; None where a file is hidden. Times in seconds, meters in joules."""

    clock: float
    own_cpu: float
    busy: float | None
    total: float | None
    stolen: float | None
    pressure: float | None
    throttled: int | None
    switches: int
    meters: dict[str, float]
    gpu: devices.Reading | None = None


class Instruments:
    """Open handles on what this host shows of itself."""

    def __init__(self, powercap: Path = POWERCAP, *, with_gpu: bool = False) -> None:
        self._with_gpu = with_gpu
        self._stat = _opened(Path("/proc/stat"))
        self._pressure = _opened(Path("/proc/pressure/cpu"))
        self._status = _opened(Path("/proc/self/status"))
        self._group = next(
            (file for file in map(_opened, _group_files()) if file is not None), None
        )
        self._ranges: dict[str, float] = {}
        self._meters: dict[str, int] = {}
        for name, folder in meters(powercap).items():
            handle = _opened(folder / "energy_uj")
            if handle is not None:
                self._meters[name] = handle
                self._ranges[name] = _number(folder / "max_energy_range_uj") / 1e6

    def look(self) -> Moment:
        """Read everything once."""
        busy, total, stolen = _host_times(_text(self._stat))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return Moment(
            clock=time.monotonic(),
            own_cpu=time.process_time(),
            busy=busy,
            total=total,
            stolen=stolen,
            pressure=_stalled(_text(self._pressure)),
            throttled=next(
                (
                    int(line.removeprefix("nr_throttled "))
                    for line in _text(self._group).splitlines()
                    if line.startswith("nr_throttled ")
                ),
                None,
            ),
            switches=usage.ru_nivcsw,
            meters=self._joules(),
            gpu=devices.reading() if self._with_gpu else None,
        )

    def close(self) -> None:
        """Close the handles."""
        for handle in (self._stat, self._pressure, self._status, self._group):
            if handle is not None:
                os.close(handle)
        for handle in self._meters.values():
            os.close(handle)

    def memory(self) -> tuple[int | str, int | str]:
        """This process's peak and present resident bytes."""
        lines = dict(line.split(":", 1) for line in _text(self._status).splitlines() if ":" in line)
        words = [lines.get(name, "").split() for name in ("VmHWM", "VmRSS")]
        peak, now = [int(word[0]) * 1024 if word else NOT_EXPOSED for word in words]
        return peak, now

    def energy_between(self, before: Moment, after: Moment) -> dict[str, float]:
        """Joules of each meter between two looks; a counter that wrapped is unrolled once.

        Nothing at all where one of them cannot be told: the sum of the others would be too small.
        """
        spent = {}
        for name, start in before.meters.items():
            end = after.meters.get(name)
            around = self._ranges.get(name, 0.0)
            if end is None or (end < start and not around):
                return {}
            spent[name] = round(end - start + (around if end < start else 0), 6)
        return spent

    def _joules(self) -> dict[str, float]:
        joules = {}
        for name, handle in self._meters.items():
            with contextlib.suppress(ValueError):
                joules[name] = int(_text(handle)) / 1e6
        board = devices.joules() if self._with_gpu else None
        return joules if board is None else {"nvml": board}


def meters(powercap: Path = POWERCAP) -> dict[str, Path]:
    """The packages' energy counters that can be read here, by zone; none in most guests.

    Cores and graphics (`intel-rapl:0:0`) are part of their package, and the zone `psys` holds
    packages: counted beside them they would count twice. `intel-rapl-mmio:0` is the same meter.
    All packages or none: a sum of some of them would be too small.
    """
    zones = {}
    for folder in sorted(powercap.glob("*-rapl:*")):
        if folder.name.count(":") == 1 and _line(folder / "name").startswith("package"):
            if not os.access(folder / "energy_uj", os.R_OK):
                return {}
            zones[folder.name] = folder
    return zones if len(zones) <= _MOST_METERS else {}


def interference(before: Moment, after: Moment) -> dict[str, Any]:
    """The shares of a stretch that others took: pressure, foreign CPU, steal, throttling.

    `foreign_cpu` is the share of the host's processors that were busy with something else.
    """
    wall = max(after.clock - before.clock, 1e-9)
    return {
        "psi_cpu_some": _share(before.pressure, after.pressure, wall),
        "foreign_cpu": _foreign(before, after),
        "steal": _share(before.stolen, after.stolen, _elapsed(before, after)),
        "throttled": (
            NOT_EXPOSED
            if before.throttled is None or after.throttled is None
            else max(after.throttled - before.throttled, 0)
        ),
        "foreign_gpu_pids": NOT_APPLICABLE,
        **_gpu(before.gpu, after.gpu),
    }


def _gpu(before: devices.Reading | None, after: devices.Reading | None) -> dict[str, Any]:
    """What the board said at both ends; nothing where no GPU was asked."""
    if before is None or after is None:
        return {}
    states = [reading.throttle for reading in (before, after) if reading.throttle is not None]
    lowest = [
        reading.sm_clock_mhz for reading in (before, after) if reading.sm_clock_mhz is not None
    ]
    memory = after.memory_used_bytes
    return {
        "gpu_throttle": sorted({name for state in states for name in state})
        if states
        else NOT_EXPOSED,
        "gpu_sm_clock_mhz": min(lowest) if lowest else NOT_EXPOSED,
        "gpu_memory_clock_mhz": _or_unavailable(after.memory_clock_mhz),
        "gpu_memory_used_bytes": _or_unavailable(memory),
    }


def _or_unavailable(value: int | None) -> int | str:
    return NOT_EXPOSED if value is None else value


def _elapsed(before: Moment, after: Moment) -> float:
    return max((after.total or 0.0) - (before.total or 0.0), 1e-9)


def _foreign(before: Moment, after: Moment) -> float | str:
    if before.busy is None or after.busy is None:
        return NOT_EXPOSED
    foreign = (after.busy - before.busy) - (after.own_cpu - before.own_cpu)
    return round(min(max(foreign / _elapsed(before, after), 0.0), 1.0), 4)


def _share(before: float | None, after: float | None, whole: float) -> float | str:
    if before is None or after is None:
        return NOT_EXPOSED
    return round(min(max((after - before) / whole, 0.0), 1.0), 4)


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _text(handle: int | None) -> str:
    if handle is None:
        return ""
    try:
        return os.pread(handle, _BYTES, 0).decode("ascii", "replace")
    except OSError:
        return ""


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> float:
    try:
        return float(_line(path))
    except ValueError:
        return 0.0


def _host_times(text: str) -> tuple[float | None, float | None, float | None]:
    """Busy, all and stolen seconds of all processors since the start; see proc(5)."""
    words = text.split("\n", 1)[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None, None, None
    tick = os.sysconf("SC_CLK_TCK")
    times = [int(word) / tick for word in words[1:9]]
    idle, stolen = times[3] + times[4], times[7]
    return sum(times) - idle - stolen, sum(times), stolen


def _stalled(text: str) -> float | None:
    """Seconds that some task waited for a processor, from `some ... total=<microseconds>`."""
    for line in text.splitlines():
        if line.startswith("some "):
            return int(line.rsplit("total=", 1)[1]) / 1e6
    return None


def _group_files() -> list[Path]:
    """Where the counters of this process's own group may lie, the nearest first."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii", errors="replace").split("\n")
    except OSError:
        return []
    places = [line.split(":", 2)[2].lstrip("/") for line in lines if line.count(":") >= 2]
    near = [root / place / "cpu.stat" for root in _GROUPS for place in places]
    return [*near, *(root / "cpu.stat" for root in _GROUPS)]
