"""Bidirectional controls of Unicode: invisible characters that reorder the text around them.

Source: Unicode Standard Annex 9. The three marks reorder their neighbours alone and are usual in
Arabic and Hebrew text; embeddings, overrides and isolates reorder all that follows.
"""

from __future__ import annotations

import unicodedata

from hub.protocol import problems

MARKS = frozenset("\u061c\u200e\u200f")
REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
CONTROLS = MARKS | REORDERING
_WITHOUT = {ord(control): None for control in REORDERING}


def first(text: str, controls: frozenset[str] = CONTROLS) -> str:
    """The first of the controls in a text, as U+202E (right-to-left override); empty for none."""
    control = next((char for char in text if char in controls), "")
    return f"U+{ord(control):04X} ({unicodedata.name(control).lower()})" if control else ""


def expect_none(pointer: str, text: str) -> None:
    """Raise InvalidRequest, which names the control, where a line of text reorders others."""
    if name := first(text, REORDERING):
        field = pointer.removeprefix("/").replace("_", " ")
        raise problems.InvalidRequest.at(
            pointer, f"The {field} holds the invisible character {name}. Remove it."
        )


def without(text: str) -> str:
    """The text without controls that reorder what follows."""
    return text.translate(_WITHOUT)
