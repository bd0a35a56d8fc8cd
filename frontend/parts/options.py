"""A value that a reader can choose: of a select, a filter or a row of tabs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """``count`` says how many things it leads to, ``family`` under which heading it stands."""

    words: str
    value: str = ""
    url: str = ""
    on: bool = False
    count: int | None = None
    family: str = ""
