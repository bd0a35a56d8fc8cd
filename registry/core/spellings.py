"""Other spellings of a word, under which search finds it: ß and ss, ö and oe or o, half-width kana.

An index compares characters. So each word of a document is also indexed under its other spellings,
and each word of a search also asks for its expansion.
"""

from __future__ import annotations

import re
import unicodedata

WORD = re.compile(r"[^\W_]+")
# DIN 5007-2 for German; the letters of Danish, Norwegian and French as their own rules write them.
_EXPANSIONS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "æ": "ae", "ø": "oe", "œ": "oe"}
)
_PLAIN = str.maketrans({"æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d"})
# Accents on Latin, Greek and Cyrillic letters; the marks of kana make other letters.
_ACCENTS = re.compile("[\u0300-\u036f]")


def expansion(word: str) -> str:
    """The word in lower case and compatible characters, expanded: strasse, schoen, カタカナ."""
    return _plain(_folded(word).translate(_EXPANSIONS))


def others(word: str) -> set[str]:
    """The spellings of a word that its lower case lacks; none for a word in ASCII."""
    if word.isascii():
        return set()
    return {expansion(word), _plain(_folded(word).translate(_PLAIN))} - {word.lower(), ""}


def of_text(text: str) -> list[str]:
    """The other spellings of all words of a text, sorted."""
    if text.isascii():
        return []
    return sorted({other for word in set(WORD.findall(text)) for other in others(word)})


def _folded(word: str) -> str:
    # UAX 15: NFKC joins half-width kana with their marks, and makes full-width letters usual ones.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def _plain(word: str) -> str:
    """Without accents, and with nothing but letters and digits."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    return "".join(WORD.findall(unicodedata.normalize("NFC", bare)))
