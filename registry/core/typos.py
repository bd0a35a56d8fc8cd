"""One typo in a name: which known words are one keystroke away from what was written.

A letter too many, one too few, a wrong one, or two in the wrong order (Damerau, 1964). A word of
eight letters has some six hundred such neighbours; each is looked up in the sorted words of all
names, and the full-text index is asked for the few that are there.
"""

from __future__ import annotations

import string
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

# Names are written with these; the index is in lower case.
_LETTERS = string.ascii_lowercase + string.digits
# In shorter words every typo makes another word; no one types longer ones.
SHORTEST, LONGEST = 4, 24
# Of more words than this none is taken for a name with a typo.
MOST_TERMS = 4
# Words that one term may stand for, and those of them that begin alike.
_MOST_WORDS, _MOST_ALIKE = 200, 50


def may_be(terms: Sequence[str]) -> bool:
    """Whether a typo would be tolerated in one of these words."""
    fit = any(SHORTEST <= len(term) <= LONGEST for term in terms)
    return fit and len(terms) <= MOST_TERMS


def neighbours(word: str) -> set[str]:
    """Every word that one keystroke makes of ``word``, which is in lower case."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    near = {left + right[1:] for left, right in cuts if right}
    near |= {
        word[:at] + pair[1] + pair[0] + word[at + 2 :] for at, pair in enumerate(pairwise(word))
    }
    near |= {left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS}
    near |= {left + letter + right for left, right in cuts for letter in _LETTERS}
    return near - {word}


def corrections(term: str, words: Sequence[str]) -> list[str]:
    """Those of the sorted ``words`` that begin with a neighbour of ``term``, in their order."""
    if not SHORTEST <= len(term) <= LONGEST:
        return []
    matches: set[str] = set()
    for near in neighbours(term):
        if len(near) < SHORTEST:
            continue
        at = bisect_left(words, near)
        for word in words[at : at + _MOST_ALIKE]:
            if not word.startswith(near):
                break
            matches.add(word)
    return sorted(matches)[:_MOST_WORDS]


def expression(terms: Sequence[str], words: Sequence[str], vendor: str) -> str:
    """What the index of a database is asked for: all ``terms``, one of them corrected in the name.

    Empty where there is nothing to correct them to. Terms and words are letters and digits alone.
    """
    ways = []
    for at, term in enumerate(terms if may_be(terms) else ()):
        near = corrections(term, words)
        if not near:
            continue
        rest = [*terms[:at], *terms[at + 1 :]]
        if vendor == "postgresql":
            named = " | ".join(f"{word}:A" for word in near)
            ways.append("(" + " & ".join([f"({named})", *(f"{other}:*" for other in rest)]) + ")")
        else:
            named = " OR ".join(f'"{word}"' for word in near)
            ways.append(f"(title : ({named})" + "".join(f' AND "{word}"*' for word in rest) + ")")
    return (" | " if vendor == "postgresql" else " OR ").join(ways)
