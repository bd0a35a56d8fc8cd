"""What a child sees of the file system: an empty root with the few folders that it may use.

The root is a small tmpfs of the child's own, read-only once it is built. Everything else is a bind
mount at the path that it has outside, so paths mean the same on both sides. What is not bound does
not exist here: neither `stat` nor a listing shows that it does elsewhere.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.engine.confine import kernel

_STAGING = str(Path(__file__).resolve().parent)
_OLD = "/.outside"
_ROOT_OPTIONS = "size=1m,nr_inodes=4096,mode=0755"
_ROOT_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
_NOBODY = 65534
_MOST_LINKS = 40

# What may be done below a bind mount, beside reading.
LIBRARY = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
DATA = LIBRARY | kernel.ATTR_NOEXEC
DEVICE = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NOEXEC
SCRATCH = kernel.ATTR_NOSUID | kernel.ATTR_NODEV | kernel.ATTR_NOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """One path that a child sees: what lies there, and the symbolic links that lead to it."""

    real: str
    is_folder: bool
    attributes: int
    links: tuple[tuple[str, str], ...] = ()


def places(paths: Iterable[Path], attributes: int) -> tuple[Place, ...]:
    """Look these paths up; those that do not exist are left out."""
    followed = (_followed(path, attributes) for path in paths)
    return tuple(place for place in followed if place is not None and place.real != "/")


def apply(visible: Iterable[Place], owner: tuple[int, int], *, has_devices: bool = False) -> None:
    """Replace the root by one that holds these places alone.

    Needs new user and mount namespaces; ``owner`` are the user and group before they were entered.
    Of two attributes for one place the last counts. Raises OSError.
    """
    # ONNX Runtime asks where an open file lies; of /proc there is nothing else of any process.
    every = [*visible, Place("/proc/self/fd", True, DATA)]
    if has_devices:
        # CUDA names its threads, looks for addresses that are free, and asks for its namespace by
        # the number of its process.
        every += [
            Place("/proc/self/task", True, SCRATCH),
            Place("/proc/self/maps", False, DATA),
            Place(f"/proc/{os.getpid()}/ns", True, DATA),
        ]
    _map_user(*owner)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    # Any folder will do: once the root has moved, it is seen again beneath the old one.
    kernel.mount("hub", _STAGING, "tmpfs", _ROOT_FLAGS, _ROOT_OPTIONS)
    os.mkdir(_STAGING + _OLD)  # noqa: PTH102 - here and below: every child's start waits for it
    kernel.pivot_root(_STAGING, _STAGING + _OLD)
    os.chdir("/")
    bound: dict[str, int] = {}
    unique = {place.real: place for place in every}
    for real in sorted(unique):
        place = unique[real]
        if _around(real, bound) != place.attributes:
            _bind(place)
            bound[real] = place.attributes
    for link, target in {pair for place in every for pair in place.links}:
        if _around(link, bound) is None:
            os.makedirs(posixpath.dirname(link), exist_ok=True)  # noqa: PTH103
            os.symlink(target, link)  # noqa: PTH211
    kernel.unmount(_OLD)
    os.rmdir(_OLD)  # noqa: PTH106
    kernel.restrict_mount("/", kernel.ATTR_RDONLY, recursive=False)


def _followed(path: Path, attributes: int) -> Place | None:
    """Resolve a path as the kernel does; None where nothing lies there."""
    place, rest = "/", deque(path.parts[1:])
    links: dict[str, str] = {}
    followed = mode = 0
    while rest:
        part = rest.popleft()
        if part == "..":
            place = posixpath.dirname(place)
            continue
        step = posixpath.join(place, part)
        try:
            mode = os.lstat(step).st_mode
            target = os.readlink(step) if stat.S_ISLNK(mode) else ""  # noqa: PTH115
        except OSError:
            return None
        if not target:
            place = step
            continue
        followed += 1
        if followed > _MOST_LINKS:
            return None
        links[step] = target
        if target.startswith("/"):
            place = "/"
        rest.extendleft(reversed([word for word in target.split("/") if word not in {"", "."}]))
    return Place(place, stat.S_ISDIR(mode), attributes, tuple(links.items()))


def _around(path: str, bound: Mapping[str, int]) -> int | None:
    """The attributes of the innermost bind mount that holds a path; None where none does."""
    while path != "/":
        if path in bound:
            return bound[path]
        path = posixpath.dirname(path)
    return None


def _bind(place: Place) -> None:
    if place.is_folder:
        os.makedirs(place.real, exist_ok=True)  # noqa: PTH103
    else:
        os.makedirs(posixpath.dirname(place.real), exist_ok=True)  # noqa: PTH103
        os.close(os.open(place.real, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    kernel.mount(_OLD + place.real, place.real, "", kernel.MS_BIND | kernel.MS_REC)
    kernel.restrict_mount(place.real, place.attributes)


def _map_user(user: int, group: int) -> None:
    """Map the user and group from outside to an unprivileged user.

    A tmpfs needs existing owners.
    """
    lines = {"setgroups": "deny", "uid_map": f"{_NOBODY} {user} 1"}
    for name, line in (*lines.items(), ("gid_map", f"{_NOBODY} {group} 1")):
        handle = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, line.encode("ascii"))
        finally:
            os.close(handle)
