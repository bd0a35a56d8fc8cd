"""What each rule was measured to withstand: figures that benchmarks/federated_attacks.py wrote."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("measured_attacks.json")
EVEN, UNEVEN = "even", "uneven"
NONE = "none"
CAVEAT = (
    "Other attacks, models and data may do more harm, and a majority of attackers defeats every "
    "rule."
)


@dataclass(frozen=True, slots=True)
class Figure:
    """The accuracy that a training reached under one attack, from 0 to 1.

    ``data`` says how the data were dealt to the devices: even or uneven.
    """

    rule: str
    data: str
    attack: str
    attackers: int
    accuracy: float


@dataclass(frozen=True, slots=True)
class Measured:
    """All figures, and how they came about."""

    script: str
    measured_on: str
    devices: int
    rounds: int
    data: str
    network: str
    figures: tuple[Figure, ...]

    def worst(self, rule: str, data: str, attackers: int) -> Figure:
        """The lowest accuracy of a rule over all attacks by this many attackers."""
        rows = (
            row
            for row in self.figures
            if (row.rule, row.data, row.attackers) == (rule, data, attackers)
        )
        return min(rows, key=lambda row: row.accuracy)

    @property
    def attacks(self) -> list[str]:
        """The attacks, in the order in which they were measured."""
        return list(dict.fromkeys(row.attack for row in self.figures if row.attack != NONE))

    @property
    def attackers(self) -> list[int]:
        """How many attackers there were, fewest first; none is one of the cases."""
        return sorted({row.attackers for row in self.figures})

    @property
    def setting(self) -> str:
        """The setting of the measurement."""
        return (
            f"{self.data}, {self.network}, {self.devices} devices, {self.rounds} rounds, the worst "
            f"of {len(self.attacks)} attacks; chance is 0.100"
        )

    @property
    def rules(self) -> list[str]:
        return list(dict.fromkeys(row.rule for row in self.figures))


@functools.cache
def measured() -> Measured:
    """Read the figures; the file is part of the program."""
    document: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    setting = document["setting"]
    return Measured(
        script=document["script"],
        measured_on=document["measured_on"],
        devices=setting["devices"],
        rounds=setting["rounds"],
        data=setting["data"],
        network=setting["network"],
        figures=tuple(Figure(**row) for row in document["figures"]),
    )


def words(rule: str) -> str:
    """Sentence about what a rule withstood in measurements."""
    of = measured()
    cases = [_case(of, rule, attackers) for attackers in of.attackers]
    return f"{rule}: accuracy {'; '.join(cases)}."


def _case(of: Measured, rule: str, attackers: int) -> str:
    even, uneven = (of.worst(rule, data, attackers) for data in (EVEN, UNEVEN))
    figures = f"{even.accuracy:.3f} with even and {uneven.accuracy:.3f} with uneven data"
    if not attackers:
        return f"{figures} without attackers"
    return f"at worst {figures} with {attackers} attackers of {of.devices} ({even.attack})"


def limits() -> str:
    """How the figures came about, and what they do not say."""
    of = measured()
    return f"Measured on {of.measured_on} by {of.script}: {of.setting}. {CAVEAT}"
