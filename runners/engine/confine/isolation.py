"""Confines a forked child before it looks at an upload: limits, namespaces, landlock, seccomp.

A layer that the probe found working is then required: if it fails in a child, that child ends
without having read a byte.
"""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import site
import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path

from runners.engine.confine import kernel, landlock, mounts, seccomp

RLIMITS, NAMESPACES, MOUNTS = "rlimits", "namespaces", "mounts"
LANDLOCK, SECCOMP = "landlock", "seccomp"
LAYERS = (RLIMITS, NAMESPACES, MOUNTS, LANDLOCK, SECCOMP)

OPEN_FILES = 64
WRITTEN_FILES = 10_000
_THREADS = 64
HOSTNAME = "sandbox"
_PYTHON_PATHS = ("stdlib", "platstdlib", "purelib", "platlib")
_PLAIN_DEVICES = (Path("/dev/null"), Path("/dev/urandom"))
_OPEN_WITH_DEVICES = 1024
# What a driver's library asks about the machine before it opens a device.
_DRIVERS = (
    *(Path("/proc/driver/nvidia"), Path("/proc/devices"), Path("/proc/sys/vm/mmap_min_addr")),
    *(Path("/sys/module/nvidia"), Path("/sys/module/nvidia_uvm"), Path("/sys/bus/pci/devices")),
    *(Path("/sys/devices/system/node"), Path("/sys/devices/system/memory/block_size_bytes")),
)
_SYSTEM_DEVICES = Path("/sys/devices")
_CUDA = Path("/usr/local/cuda")
# What a large model may take beyond the plain limits, so that they can stay small.
_CPU_SECONDS_PER_GIB = 20
_WALL_SECONDS_PER_GIB = 60
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child (one stage) may use; a large model gets more in proportion to its size.

    These are seconds of wall and CPU time, bytes of addresses and of answer. `file_bytes` bounds
    each file it writes, `written_bytes` all files of its writable folders together (0: as much as
    one file) and `written_files` their number; see `scratch`. `job_seconds` bounds all stages of a
    job together, where their number is not known beforehand, `open_files` the files it has open at
    once.
    """

    wall_seconds: float = 60.0
    cpu_seconds: int = 20
    memory_bytes: int = 4 * _GIB
    output_bytes: int = 4 << 20
    file_bytes: int = 0
    written_bytes: int = 0
    written_files: int = WRITTEN_FILES
    job_seconds: float | None = None
    open_files: int = OPEN_FILES

    @property
    def largest_file(self) -> int:
        """Bytes that one file, or the answer, may have."""
        largest = max(self.output_bytes, self.file_bytes)
        return min(largest, self.written_bytes) if self.written_bytes else largest

    @property
    def most_written(self) -> int:
        """Bytes that all files together may have."""
        return self.written_bytes or self.largest_file

    def grown_by(self, size: int) -> Limits:
        """Give the limits for a model of this many bytes, external data included."""
        return replace(
            self,
            wall_seconds=self.wall_seconds + _WALL_SECONDS_PER_GIB * size / _GIB,
            cpu_seconds=self.cpu_seconds + _CPU_SECONDS_PER_GIB * size // _GIB,
            memory_bytes=self.memory_bytes + size,
        )


@dataclass(frozen=True, slots=True)
class Confinement:
    """The layers one child wears, and the only folders it sees through them."""

    layers: frozenset[str]
    limits: Limits
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    folder: Path = Path("/")
    # Accelerators that it may open and speak to; see `landlock` and `_limit`.
    devices: tuple[Path, ...] = ()
    # Where their libraries lie, beside those of the interpreter.
    libraries: tuple[Path, ...] = ()


def with_devices(confinement: Confinement, devices: tuple[Path, ...]) -> Confinement:
    """Let a child use these accelerators: their files, what their driver tells, more open files."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return replace(
        confinement,
        devices=devices,
        readable=(*confinement.readable, *_DRIVERS, *sorted(_SYSTEM_DEVICES.glob("pci*"))),
        libraries=(_CUDA, *(Path(folder) for folder in folders if folder.startswith("/"))),
        limits=replace(confinement.limits, open_files=_OPEN_WITH_DEVICES),
    )


def reading_only(confinement: Confinement) -> Confinement:
    """Let a child read what others of its job have written, and write nothing itself."""
    readable = (*confinement.readable, *confinement.writable)
    return replace(confinement, readable=readable, writable=())


def apply(confinement: Confinement, parent: int) -> None:
    """Confine this process permanently. Raises OSError if a requested layer does not hold."""
    os.setsid()
    os.umask(0o077)
    # The kernel, when the host itself runs out of memory, ends this child before the site. Where
    # there is no /proc, the limits below still hold.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if RLIMITS in confinement.layers:
        _limit(confinement.limits, has_devices=bool(confinement.devices))
    owner = os.geteuid(), os.getegid()
    own_user = _enter_namespaces(confinement.layers)
    if RLIMITS in confinement.layers:
        # Counted for the user, or inside a new user namespace from zero.
        spare = 0 if own_user else _threads_of_this_user()
        _lower(resource.RLIMIT_NPROC, spare + _THREADS)
    if MOUNTS in confinement.layers:
        visible = (
            *interpreter_places(),
            *mounts.places(confinement.libraries, mounts.LIBRARY),
            *mounts.places(confinement.readable, mounts.DATA),
            *mounts.places(confinement.writable, mounts.SCRATCH),
            *mounts.places(confinement.devices, mounts.DEVICE),
        )
        mounts.apply(visible, owner, has_devices=bool(confinement.devices))
    os.chdir(confinement.folder)
    kernel.drop_capabilities()
    # A change of credentials clears this wish, so it comes after them.
    kernel.die_with_parent(parent)
    kernel.no_new_privileges()
    if LANDLOCK in confinement.layers:
        libraries = (*interpreter_paths(), *confinement.libraries)
        readable = (*libraries, *_PLAIN_DEVICES, *confinement.readable)
        landlock.apply(readable, confinement.writable, confinement.devices)
    if SECCOMP in confinement.layers:
        seccomp.apply(has_devices=bool(confinement.devices))


def _enter_namespaces(layers: frozenset[str]) -> bool:
    """Enter the namespaces that the layers ask for; tells whether there is a new user namespace."""
    flags = 0
    if NAMESPACES in layers:
        # No address but an unset loopback, no neighbour's queues, no name of the host.
        flags |= kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
    if MOUNTS in layers:
        flags |= kernel.CLONE_NEWNS
    if flags:
        kernel.unshare(kernel.CLONE_NEWUSER | flags)
    if NAMESPACES in layers:
        kernel.set_hostname(HOSTNAME)
    return bool(flags)


@functools.cache
def interpreter_paths() -> tuple[Path, ...]:
    """List what Python, its libraries and this engine need to read, and nothing of the site."""
    engine = Path(__file__).resolve().parents[1]
    paths = {
        *(Path(sysconfig.get_path(name)) for name in _PYTHON_PATHS),
        *(Path(path) for path in site.getsitepackages()),
        Path(sys.prefix) / "lib",
        Path(sys.base_prefix) / "lib",
        engine,
        engine.parent / "__init__.py",
    }
    system = (
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/usr/share/locale",
        "/usr/share/zoneinfo",
        "/sys/devices/system/cpu",
        "/proc/cpuinfo",
        "/proc/meminfo",
        os.environ.get("LOCPATH", ""),
    )
    paths.update(Path(path) for path in system if path)
    return tuple(sorted(paths))


@functools.cache
def interpreter_places() -> tuple[mounts.Place, ...]:
    """Look up the paths of the interpreter; a fork server does so once for all its children."""
    libraries = mounts.places(interpreter_paths(), mounts.LIBRARY)
    return (*libraries, *mounts.places(_PLAIN_DEVICES, mounts.DEVICE))


def _limit(limits: Limits, *, has_devices: bool) -> None:
    # An accelerator's library reserves addresses by the terabyte; what it may write is bounded.
    memory = resource.RLIMIT_DATA if has_devices else resource.RLIMIT_AS
    _lower(memory, limits.memory_bytes)
    # One second more before the certain kill: the first signal says what happened.
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)
    _lower(resource.RLIMIT_FSIZE, limits.largest_file)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, soft: int, hard: int | None = None) -> None:
    _, ceiling = resource.getrlimit(which)
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))


def _threads_of_this_user() -> int:
    total = 0
    user = os.getuid()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    total += sum(1 for _ in Path(entry.path, "task").iterdir())
            except OSError:  # it ended while we looked
                continue
    return total
