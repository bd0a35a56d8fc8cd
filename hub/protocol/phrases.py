"""Phrases that all rooms write alike: shortened texts, and lists of names in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def ellipsis(text: str, most: int) -> str:
    """The text, or its beginning and `…` if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def conjunction(items: Iterable[object]) -> str:
    """`A, B and C`; empty for none."""
    words = list(map(str, items))
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def enumeration(words: Sequence[str], most: int) -> str:
    """`A, B and 3 more`: the first `most` words, and the number of the others."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")
