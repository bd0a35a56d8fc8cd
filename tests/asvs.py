"""What the hub does about OWASP's ASVS 5.0.0 at level 2, requirement by requirement.

`asvs.toml` beside this file has each requirement of levels 1 and 2 with the tests that show it, or
the reason why none does.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Chapter(NamedTuple):
    """A chapter of the standard: its title, and how many requirements each section has."""

    title: str
    sections: dict[int, int]


# Of levels 1 and 2, whose numbers begin at 1 in each section and have no gaps.
CHAPTERS = {
    1: Chapter("Encoding and sanitisation", {1: 2, 2: 9, 3: 11, 4: 3, 5: 2}),
    2: Chapter("Validation and business logic", {1: 3, 2: 3, 3: 4, 4: 1}),
    3: Chapter("Web frontend", {2: 2, 3: 4, 4: 6, 5: 5, 7: 2}),
    4: Chapter("API and web service", {1: 3, 2: 1, 3: 2, 4: 4}),
    5: Chapter("Files", {1: 1, 2: 3, 3: 2, 4: 3}),
    6: Chapter("Authentication", {1: 3, 2: 12, 3: 4, 4: 4, 5: 5, 6: 3, 8: 4}),
    7: Chapter("Sessions", {1: 3, 2: 4, 3: 2, 4: 5, 5: 2, 6: 2}),
    8: Chapter("Authorisation", {1: 2, 2: 3, 3: 1, 4: 1}),
    9: Chapter("Self-contained tokens", {1: 3, 2: 4}),
    10: Chapter("OAuth and OpenID Connect", {1: 2, 2: 2, 3: 4, 4: 11, 5: 5, 6: 2, 7: 3}),
    11: Chapter("Cryptography", {1: 2, 2: 3, 3: 3, 4: 4, 5: 1, 6: 1}),
    12: Chapter("Secure communication", {1: 3, 2: 2, 3: 4}),
    13: Chapter("Configuration", {1: 1, 2: 5, 3: 2, 4: 5}),
    14: Chapter("Data protection", {1: 2, 2: 4, 3: 3}),
    15: Chapter("Secure coding and architecture", {1: 3, 2: 3, 3: 7}),
    16: Chapter("Security logging and errors", {1: 1, 2: 5, 3: 4, 4: 3, 5: 3}),
    17: Chapter("WebRTC", {1: 1, 2: 4, 3: 2}),
}


class State(StrEnum):
    """What is known of a requirement."""

    MET = "met"
    UNTESTED = "untested"
    NOT_MET = "not met"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement in words of the hub: either ``tests`` show it, or a ``reason`` says why not."""

    id: str
    level: int
    text: str
    state: State
    tests: tuple[str, ...] = ()
    reason: str = ""

    @property
    def chapter(self) -> int:
        """The chapter of the standard."""
        return int(self.id.partition(".")[0])


def numbers() -> list[str]:
    """The number of every requirement of levels 1 and 2."""
    return [
        f"{chapter}.{section}.{number}"
        for chapter, of in CHAPTERS.items()
        for section, count in of.sections.items()
        for number in range(1, count + 1)
    ]


def load() -> list[Requirement]:
    """Every requirement in the order of the standard; raises TypeError, ValueError for others."""
    rows = tomllib.loads((ROOT / "tests/asvs.toml").read_text(encoding="utf-8"))["requirement"]
    return [
        Requirement(**row | {"state": State(row["state"]), "tests": tuple(row.get("tests", ()))})
        for row in rows
    ]
