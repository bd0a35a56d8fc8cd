"""What the engine's complaint about a query says to its author.

The engine lists what it would have read next, which rarely is what the author left out; a word that
no query knows is nearly always the fault, so it is looked for first.
Source: SPARQL 1.1 Query, section 19.8 (the words of the grammar).
"""

from __future__ import annotations

import difflib
import re

from hub.protocol import problems
from metadata.sparql import guard
from registry.core import parsing

_GRAMMAR = """
BASE PREFIX VERSION SELECT ASK CONSTRUCT DESCRIBE DISTINCT REDUCED AS FROM NAMED WHERE GRAPH
OPTIONAL UNION MINUS FILTER BIND VALUES UNDEF EXISTS NOT IN A TRUE FALSE GROUP BY HAVING ORDER ASC
DESC LIMIT OFFSET SEPARATOR COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT STR LANG LANGMATCHES
DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE LCASE ENCODE_FOR_URI
CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ NOW
UUID STRUUID MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK
ISLITERAL ISNUMERIC REGEX SUBSTR REPLACE
"""
_KEYWORDS = frozenset(_GRAMMAR.split())
_PLACE = re.compile(r"^error at (\d+):(\d+): ")
_CLASSES = re.compile(r"\[[^\]]*\](?:\s*\|\s*\[[^\]]*\])*")
# What the engine knows beyond SPARQL 1.1, or the hub refuses: not a valid fix.
_NO_CURE = frozenset({"LATERAL", "SERVICE", "…", ""})


def syntax_problem(detail: str, text: str) -> problems.QueryInvalid:
    """The engine's ``detail`` about a query's ``text``, with line and column where it has them."""
    if unknown := parsing.run(_unknown_word, text):
        word, at = unknown
        line, column = guard.position(text, at)
        like = difflib.get_close_matches(word.upper(), _KEYWORDS, n=1, cutoff=0.7)
        hint = (
            f" Did you mean {like[0]}?"
            if like
            else " Variables start with ?, strings with a quote."
        )
        return _placed(line, column, f"{word} is not a SPARQL keyword.{hint}")
    match = _PLACE.match(detail)
    words = _expected(detail[match.end() :] if match else detail)
    if not match:
        return problems.QueryInvalid(f"The query is not valid: {words}")
    return _placed(int(match[1]), int(match[2]), words)


def _unknown_word(text: str) -> tuple[str, int] | None:
    """The first bare word that the grammar does not have, and where it stands."""
    for token in guard.tokens(text):
        if token.kind == "word" and token.text.upper() not in _KEYWORDS:
            return token.text[:40], token.at
    return None


def _expected(detail: str) -> str:
    """What the engine would have read, without its classes of characters and what is no cure."""
    words = " ".join(_CLASSES.sub("…", detail).split())
    if not words.startswith("expected "):
        return words[:300]
    alternatives = words.removeprefix("expected ").removeprefix("one of ")
    cures = [part for part in alternatives.split(", ") if part not in _NO_CURE]
    if not cures:
        return "syntax error, or unexpected end of the query."
    return f"expected {'one of ' if len(cures) > 1 else ''}{', '.join(cures)}"[:300]


def _placed(line: int, column: int, words: str) -> problems.QueryInvalid:
    return problems.QueryInvalid(f"Line {line}, column {column}: {words}", line=line, column=column)
