"""The parts of the hub beside its core whose state monitors and people ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hub.protocol.ports import Port


class HealthLine(NamedTuple):
    """State of a part for people: its title, a state that pages draw, its word, and details."""

    title: str
    state: str
    word: str
    detail: str


@dataclass(frozen=True, slots=True)
class HealthPart:
    """The state of a part: ``describe`` for people, ``report`` for programs that read `/readyz`.

    ``describe`` is told whether an administrator asks. ``report`` has `ok`, and details for
    administrators.
    """

    name: str
    describe: Callable[[bool], Iterable[HealthLine]]
    report: Callable[[], dict[str, Any]] | None = None


health_parts = Port(HealthPart)
