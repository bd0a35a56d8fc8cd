"""Ports: the places of the core into which capabilities plug (docs/ports.md)."""

from __future__ import annotations

import typing
from collections.abc import Iterator

Entry = typing.TypeVar("Entry")


class Port(typing.Generic[Entry]):
    """Entries of one type, in the order in which packages register them at start.

    The docstring of the type says what to plug in.
    """

    def __init__(self, entry: type[Entry]) -> None:
        self.entry = entry
        self.entries: dict[str, tuple[Entry, ...]] = {}
        PORTS.append(self)

    def register(self, package: str, *entries: Entry) -> None:
        """Plug the entries of a package in; a second time they replace the first."""
        self.entries[package] = entries

    def __iter__(self) -> Iterator[Entry]:
        for entries in self.entries.values():
            yield from entries


# Every port whose module was imported.
PORTS: list[Port[typing.Any]] = []
