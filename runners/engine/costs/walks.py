"""Result of a walk over a graph: steps with their figures, and the live bytes at each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runners.engine.costs.values import Value


@dataclass(slots=True)
class Step:
    """A node with its figures; None is unknown. `parameters` counts weights at their first use.

    `uses` are the values that it reads, its own inputs first. A view shares the bytes of the first.
    """

    operator: str
    name: str
    macs: int | None = 0
    bytes: int | None = 0
    parameters: int = 0
    uses: tuple[str, ...] = ()
    outputs: dict[str, int | None] = field(default_factory=dict)
    is_view: bool = False
    inner_peak: int | None = 0


@dataclass(slots=True)
class Walk:
    """The costs of a graph for some sizes: its steps in order, and its outputs."""

    steps: list[Step]
    inputs: dict[str, int | None]
    outputs: list[Value | None]
    output_names: list[str]

    @property
    def macs(self) -> int | None:
        return known_sum(step.macs for step in self.steps)

    @property
    def bytes(self) -> int | None:
        return known_sum(step.bytes for step in self.steps)

    def live(self) -> list[int | None]:
        """Bytes of activations that are live while each step runs.

        A value is live from the step that makes it to the last one that uses it, in the order of
        the file. Views share the bytes of their input; nothing is overwritten in place.
        """
        sizes = dict(self.inputs)
        root = {name: name for name in sizes}
        last = dict.fromkeys(sizes, -1)
        first = dict.fromkeys(sizes, 0)
        for place, step in enumerate(self.steps):
            used = [root[name] for name in step.uses if name in root]
            viewed = root.get(step.uses[0]) if step.is_view and step.uses else None
            for name, size in step.outputs.items():
                if viewed is not None:
                    root[name] = viewed
                else:
                    root[name], sizes[name] = name, size
                    first[name] = last[name] = place
            for name in used:
                last[name] = place
        for name in (*self.output_names, *self.inputs):
            if name in root:
                last[root[name]] = len(self.steps) - 1
        changes = [0] * (len(self.steps) + 1)
        unknown = [0] * (len(self.steps) + 1)
        for name, start in first.items():
            size = sizes[name]
            for marks, amount in ((changes, size or 0), (unknown, size is None)):
                marks[start] += int(amount)
                marks[last[name] + 1] -= int(amount)
        live: list[int | None] = []
        now = missing = 0
        for step, change, lacks in zip(self.steps, changes, unknown, strict=False):
            now, missing = now + change, missing + lacks
            peak = step.inner_peak
            live.append(None if missing or peak is None else now + peak)
        return live


def known_sum(figures: Iterable[int | None]) -> int | None:
    """The sum; None if one of the figures is unknown."""
    total = 0
    for figure in figures:
        if figure is None:
            return None
        total += figure
    return total


def greatest(figures: Iterable[int | None]) -> int | None:
    """The maximum, 0 of no figures; None if one of the figures is unknown."""
    most = 0
    for figure in figures:
        if figure is None:
            return None
        most = max(most, figure)
    return most
