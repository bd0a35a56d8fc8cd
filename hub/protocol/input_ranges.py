"""What the inputs of the runs of a proof covered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hub.protocol import strict


@dataclass(frozen=True, slots=True)
class InputRanges:
    """What the inputs of all runs covered; None where no input has such sizes or values.

    `smallest_side` and `largest_side` are sizes of free dimensions. `largest` is the greatest
    absolute value of floating inputs that is finite, `smallest` the least that is not 0.
    """

    smallest_side: int | None = None
    largest_side: int | None = None
    largest: float | None = None
    smallest: float | None = None
    least_integer: int | None = None
    greatest_integer: int | None = None

    @property
    def sentence(self) -> str:
        """Such as "sides 32 to 96, |x| ≤ 4e+04"; empty where nothing is recorded."""
        parts = []
        if self.smallest_side is not None and self.largest_side is not None:
            is_fixed = self.smallest_side == self.largest_side
            sides = f"sides {self.smallest_side} to {self.largest_side}"
            parts.append(f"side {self.largest_side}" if is_fixed else sides)
        if self.largest is not None:
            parts.append(f"|x| ≤ {self.largest:.2g}")
        if self.smallest is not None:
            parts.append(f"nonzero |x| ≥ {self.smallest:.2g}")
        if self.least_integer is not None and self.greatest_integer is not None:
            is_fixed = self.least_integer == self.greatest_integer
            integers = f"integers {self.least_integer} to {self.greatest_integer}"
            parts.append(f"integer {self.least_integer}" if is_fixed else integers)
        return ", ".join(parts)

    @classmethod
    def from_json(cls, value: Any, place: str) -> InputRanges:
        """Read the ranges of a report. Raises UnreadableError, which names the place."""
        read = _READER.read(cls, value, place)
        for least, greatest in (
            (read.smallest_side, read.largest_side),
            (read.smallest, read.largest),
            (read.least_integer, read.greatest_integer),
        ):
            if least is not None and (greatest is None or least > greatest):
                raise strict.UnreadableError(f"{place} has a smallest value above the largest")
        for bound in (read.smallest_side, read.smallest, read.largest):
            if bound is not None and bound < 0:
                raise strict.UnreadableError(f"{place} has a size or magnitude below 0")
        return read


_READER = strict.Reader(is_complete=True)
