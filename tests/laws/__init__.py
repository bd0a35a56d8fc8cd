"""The laws of the hub, the tests that hold them, and the breaks that prove it.

Each `.toml` file beside this one is an area. A break replaces one text in one file of the product;
a test of its law must then fail. `scripts/test-laws` makes every break in a copy of the tree.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
# In the order of docs/laws.md.
AREAS = {
    "permission": "Permission",
    "state": "States of versions and names",
    "storage": "Storage",
    "privacy": "Privacy",
    "server": "Requests and connections",
    "queue": "Queue",
    "sandbox": "Sandbox",
    "text": "Text from strangers",
    "client": "Client",
    "training": "Federated learning",
    "measurement": "Measurement",
}


@dataclass(frozen=True, slots=True)
class Break:
    """One way to break a law: ``old``, which is in ``file`` exactly once, becomes ``new``."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Break the tree at ``root``; raises StaleBreakError where ``old`` is not there once."""
        path = root / self.file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        if source.count(self.old) != 1:
            raise StaleBreakError(
                f"{self.file} holds the text {source.count(self.old)} times, not once: {self.old!r}"
            )
        path.write_text(source.replace(self.old, self.new), encoding="utf-8")


class StaleBreakError(Exception):
    """The product's text has changed: the break must be written anew."""


@dataclass(frozen=True, slots=True)
class Law:
    """One sentence that always holds, the modules that hold it, and the tests that show it."""

    area: str
    id: str
    law: str
    tests: tuple[str, ...]
    breaks: tuple[Break, ...]
    modules: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.area}/{self.id}"


def load() -> list[Law]:
    """Every law in the order of its page; raises KeyError where a law lacks a part."""
    return [
        _law(area, row)
        for area in AREAS
        for row in tomllib.loads((FOLDER / f"{area}.toml").read_text(encoding="utf-8"))["law"]
    ]


def _law(area: str, row: dict[str, Any]) -> Law:
    tests = tuple(row["tests"])
    breaks = tuple(
        Break(one["file"], one["old"], one["new"], tuple(one.get("tests", tests)))
        for one in row.get("break", ())
    )
    modules = dict.fromkeys([*row.get("modules", ()), *(one.file for one in breaks)])
    every = dict.fromkeys([*tests, *(test for one in breaks for test in one.tests)])
    return Law(area, row["id"], row["law"], tuple(every), breaks, tuple(modules))
