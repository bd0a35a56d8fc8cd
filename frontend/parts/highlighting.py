"""Where a text matches what was searched for, so that the match can be marked."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise

from registry.core import typos

_WORD = re.compile(r"[^\W_]+")
_MOST_TERMS = 12


def parts(text: str, search: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it matches a word of ``search``, as an index matches.

    A word matches by its beginning. Where none does, one with a typo may.
    """
    terms = tuple(_WORD.findall(search.lower())[:_MOST_TERMS])
    spans = _spans(text, set(terms)) or _spans(text, _near(terms))
    edges = sorted({0, len(text), *(edge for span in spans for edge in span)})
    return [(text[start:stop], (start, stop) in spans) for start, stop in pairwise(edges)]


@lru_cache(maxsize=32)
def _near(terms: tuple[str, ...]) -> frozenset[str]:
    """Likely typos of the search terms, if a typo is tolerated; each row of a list asks again."""
    if not typos.may_be(terms):
        return frozenset()
    fit = [term for term in terms if typos.SHORTEST <= len(term) <= typos.LONGEST]
    near = (word for term in fit for word in typos.neighbours(term))
    return frozenset(word for word in near if len(word) >= typos.SHORTEST)


def _spans(text: str, beginnings: AbstractSet[str]) -> set[tuple[int, int]]:
    """From where to where words of the text begin with one of these, the longest one."""
    lengths = sorted({len(word) for word in beginnings}, reverse=True)
    spans = set()
    for word in _WORD.finditer(text):
        lower = word.group().lower()
        length = next((length for length in lengths if lower[:length] in beginnings), 0)
        # Lower case may have another length than what is shown.
        if length and len(lower) == len(word.group()):
            spans.add((word.start(), word.start() + min(length, len(lower))))
    return spans
