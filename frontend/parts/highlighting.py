"""Where a text matches what was searched for, so that the match can be marked."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise

from registry.core import spellings, typos

_MOST_TERMS = 12


def parts(text: str, search: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it matches a word of ``search``, as an index matches.

    A word matches by its beginning, all of it in another spelling. Where none does, one with a typo
    may.
    """
    terms = tuple(spellings.WORD.findall(search.lower())[:_MOST_TERMS])
    spelled_terms = {
        spelling for term in terms for spelling in (term, spellings.expansion(term))
    } - {""}
    spans = _spans(text, spelled_terms) or _spans(text, _near(terms))
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
    for word in spellings.WORD.finditer(text):
        lower = word.group().lower()
        length = next((length for length in lengths if lower[:length] in beginnings), 0)
        # Lower case may have another length than what is shown.
        if length and len(lower) == len(word.group()):
            spans.add((word.start(), word.start() + min(length, len(lower))))
        elif any(other.startswith(tuple(beginnings)) for other in spellings.others(word.group())):
            spans.add(word.span())
    return spans
