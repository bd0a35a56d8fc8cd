"""Result of a walk over a graph: steps with their figures, and the live bytes at each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hub.protocol.costs import EXACTNESS, Exactness
from runners.engine.costs.amounts import NOTHING, Amount

if TYPE_CHECKING:
    from runners.engine.costs.values import Value


@dataclass(slots=True)
class Step:
    """A node with its figures; None is unknown. `parameters` counts weights at their first use.

    `uses` are the values that it reads, its own inputs first. A view shares the bytes of the first.
    For a node with bodies, the figures are sums of what is known in them: `unknown` counts the
    nodes whose operations are missing, by operator, and `bytes_unknown` those whose bytes are.
    `inner` are the bytes of activations that are live in its bodies, moment by moment.
    """

    operator: str
    name: str
    macs: Amount | None = NOTHING
    bytes: Amount | None = NOTHING
    parameters: int = 0
    uses: tuple[str, ...] = ()
    outputs: dict[str, int | None] = field(default_factory=dict)
    is_view: bool = False
    exactness: Exactness = "exact"
    unknown: Counter[str] = field(default_factory=Counter)
    bytes_unknown: int = 0
    inner: list[int | None] = field(default_factory=list)

    def lose_macs(self) -> None:
        """Record that the operations of the node are unknown."""
        self.macs = None
        self.unknown[self.operator] += 1

    def lose_bytes(self) -> None:
        """Record that the bytes of the node are unknown."""
        self.bytes = None
        self.bytes_unknown += 1

    def bound(self, exactness: Exactness) -> None:
        """Record that the operations are no more exact than this."""
        self.exactness = max(self.exactness, exactness, key=EXACTNESS.index)


@dataclass(slots=True)
class Walk:
    """The costs of a graph for some sizes: its steps in order, and its outputs."""

    steps: list[Step]
    inputs: dict[str, int | None]
    outputs: list[Value | None]
    output_names: list[str]

    @property
    def macs(self) -> Amount:
        """The operations of all steps for which they are known."""
        return Amount.total(step.macs for step in self.steps if step.macs)

    @property
    def bytes(self) -> Amount:
        """The bytes of all steps for which they are known."""
        return Amount.total(step.bytes for step in self.steps if step.bytes)

    @property
    def unknown(self) -> Counter[str]:
        """The nodes that `macs` lacks, by operator."""
        return sum((step.unknown for step in self.steps), Counter())

    @property
    def bytes_unknown(self) -> int:
        """The number of nodes that `bytes` lacks."""
        return sum(step.bytes_unknown for step in self.steps)

    @property
    def exactness(self) -> Exactness:
        """How the least exact of the steps was counted."""
        return max(
            (step.exactness for step in self.steps), key=EXACTNESS.index, default=EXACTNESS[0]
        )

    def live(self) -> list[int | None]:
        """Bytes of activations that are live at each moment: at each step, or inside of it."""
        return [size for moments in self.moments() for size in moments]

    def moments(self) -> list[list[int | None]]:
        """Bytes of activations that are live while each step runs, for each moment of its bodies.

        A value is live from the step that makes it to the last one that uses it, in the order of
        the steps. Views share the bytes of their input; nothing is overwritten in place.
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
        live: list[list[int | None]] = []
        now = missing = 0
        for step, change, lacks in zip(self.steps, changes, unknown, strict=False):
            now, missing = now + change, missing + lacks
            inner = step.inner or [0]
            live.append([None if missing or more is None else now + more for more in inner])
        return live


def known_sum(figures: Iterable[int | None]) -> int | None:
    """The sum; None if one of the figures is unknown."""
    total = 0
    for figure in figures:
        if figure is None:
            return None
        total += figure
    return total


def greatest_known(figures: Sequence[int | None]) -> int | None:
    """The maximum; None if one of the figures is unknown."""
    numbers = [figure for figure in figures if figure is not None]
    return max(numbers) if len(numbers) == len(figures) else None
