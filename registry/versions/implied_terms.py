"""What a capability derives of a version where its card is silent: its task and its library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol.ports import Port
from registry.models import Version


@dataclass(frozen=True, slots=True)
class ImpliedTerms:
    """What finds the task and the library of a version by its files; empty where it does not."""

    read: Callable[[Version], tuple[str, str]]


implied_terms = Port(ImpliedTerms)


def of(version: Version) -> tuple[str, str]:
    """Task and library of a version, each the first that a capability finds; else empty."""
    pairs = [row.read(version) for row in implied_terms]
    task = next((task for task, _ in pairs if task), "")
    return task, next((library for _, library in pairs if library), "")
