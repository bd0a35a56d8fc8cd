"""Where a text matches what was searched for, so that the match can be marked."""

from __future__ import annotations

import re
from itertools import pairwise

from registry import typos

_WORD = re.compile(r"[^\W_]+")
_MOST_TERMS = 12


def parts(text: str, asked: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it matches a word of ``asked``, as an index matches.

    A word matches by its beginning. Where none does, one with a typo may.
    """
    terms = _WORD.findall(asked.lower())[:_MOST_TERMS]
    found = _spans(text, set(terms)) or _spans(text, _near(terms))
    edges = sorted({0, len(text), *(edge for span in found for edge in span)})
    return [(text[start:stop], (start, stop) in found) for start, stop in pairwise(edges)]


def _near(terms: list[str]) -> set[str]:
    """What typos make of the words, where one would be tolerated."""
    if not typos.may_be(terms):
        return set()
    fit = [term for term in terms if typos.SHORTEST <= len(term) <= typos.LONGEST]
    return {word for term in fit for word in typos.neighbours(term) if len(word) >= typos.SHORTEST}


def _spans(text: str, beginnings: set[str]) -> set[tuple[int, int]]:
    """From where to where words of the text begin with one of these, the longest one."""
    lengths = sorted({len(word) for word in beginnings}, reverse=True)
    found = set()
    for word in _WORD.finditer(text):
        lower = word.group().lower()
        length = next((length for length in lengths if lower[:length] in beginnings), 0)
        # Lower case may have another length than what is shown.
        if length and len(lower) == len(word.group()):
            found.add((word.start(), word.start() + min(length, len(lower))))
    return found
