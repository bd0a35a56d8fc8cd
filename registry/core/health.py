"""The parts of the hub beside its core whose state monitors and people ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hub.protocol.ports import Port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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
