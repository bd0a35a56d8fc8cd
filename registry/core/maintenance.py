"""Work of the process `hub graphs`, which also delivers events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol.ports import Port


@dataclass(frozen=True, slots=True)
class MaintenanceTask:
    """Work of `hub graphs`: its name, and what starts it there.

    ``start`` gives what does one turn of it, and what ends it. ``rebuild`` is what
    `hub graphs --rebuild` runs.
    """

    name: str
    start: Callable[[], tuple[Callable[[], object], Callable[[], object]]]
    rebuild: Callable[[], None] | None = None


maintenance_tasks = Port(MaintenanceTask)
