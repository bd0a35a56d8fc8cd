"""What of a query is refused before an engine reads it, with words that help its author.

The engine and the process around it keep the hub safe; this makes the refusal quick and its reason
plain. It reads tokens only and follows no single parser: where parsers disagree about what is a
token, it takes the reading that refuses. Source: SPARQL 1.1 Query, sections 19.2 and 19.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hub.protocol import problems
from registry.core import parsing

LONGEST_BYTES = 100_000
DEEPEST = 64
LONGEST_LIST = 64
# Planning a join takes time with the cube of its patterns: 250 of them a second and a half.
MOST_PATTERNS = 250

FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_UPDATES = (
    "INSERT",
    "DELETE",
    "LOAD",
    "CLEAR",
    "DROP",
    "CREATE",
    "ADD",
    "MOVE",
    "COPY",
    "WITH",
)
# With these a query gives something else each time.
_FLEETING = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})

# No group repeats possessively: Python before 3.11.5 matches those wrongly (cpython issue 106052).
# What follows a repeated group never begins as the group does, so nothing is tried twice.
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|\#[^\r\n]*)
    |(?P<string>\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}
        |"(?!"")(?:[^"\\\n\r]|\\.)*"|'(?!'')(?:[^'\\\n\r]|\\.)*')
    |(?P<iri><(?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
    |(?P<variable>[?$]\w+)
    |(?P<language>@[A-Za-z]+(?:-+[A-Za-z0-9]+)*)
    |(?P<blank>_:[\w-]++(?:\.++[\w-]++)*)
    |(?P<name>(?:[^\W\d_][\w.-]{0,99}+(?<!\.))?:
        (?:(?:[\w:-]|%[0-9A-Fa-f]{2}|\\[^\w\s])+(?:\.++(?:[\w:-]|%[0-9A-Fa-f]{2}|\\[^\w\s])+)*)?)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<open><<|[({\[])
    |(?P<close>>>|[)}\]])
    |(?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_WITH_AUTHORITY = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*://")
_DOUBTFUL = re.compile(r"[()\[\]#']|service", re.IGNORECASE)
# What an operand follows: a `<` behind it opens an IRI.
_BEFORE_OPERANDS = frozenset("(,|/^!=&+-*<>")


@dataclass(frozen=True, slots=True)
class Query:
    """A query that may be run: its form, and what its engine needs to know."""

    text: str
    form: str
    names_dataset: bool
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a query: its ``kind`` (a group of ``_TOKEN``), its text, and where it begins."""

    kind: str
    text: str
    at: int


def vet(text: str) -> Query:
    """The query, if an engine may see it.

    Raises QueryInvalid, NotAllowed for updates, TooLarge; and, since a long one is read in a child,
    TextTooCostly and Unavailable.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LONGEST_BYTES:
        raise problems.TooLarge(
            f"The query has {size} bytes; at most {LONGEST_BYTES} are allowed. Split it into "
            "smaller queries."
        )
    text = text.removeprefix("\ufeff")
    return Query(**parsing.run(_vetted, text))


def _vetted(text: str) -> dict[str, Any]:
    """The fields of the query that a text is; see `vet`."""
    query = _read(text)
    plain = _ESCAPE.sub(_character, text)
    if plain != text:
        # Some engines undo escapes before they look for tokens and some after: both must pass.
        _read(plain)
    return asdict(query)


def _character(match: re.Match[str]) -> str:
    number = int(match[1] or match[2], 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def _read(text: str) -> Query:
    """One pass that ends with the first thing to refuse."""
    stream = tokens(text)
    reader = _Reader(text)
    form = _form(_first(stream, reader, text), text)
    for token in stream:
        reader.look(token)
    return Query(
        text=text,
        form=form,
        names_dataset=any(name.endswith("FROM") for name in reader.outside),
        repeatable=not _FLEETING & reader.words,
    )


def tokens(text: str) -> Iterator[Token]:
    """Every token but space and comments; raises QueryInvalid at a string that never ends."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "mark" and match[0] in "\"'":
            raise _invalid(text, match.start(), "The string that starts here is not closed.")
        if kind != "space":
            yield Token(kind, match[0], match.start())


def _first(stream: Iterator[Token], reader: _Reader, text: str) -> Token:
    """The token that follows the prologue."""
    skipped = 0
    for token in stream:
        reader.check(token)
        word = token.text.upper()
        if skipped:
            skipped -= 1
        elif token.kind == "word" and word in ("BASE", "VERSION", "PREFIX"):
            skipped = 2 if word == "PREFIX" else 1
        elif token.kind == "name" and word == "PREFIX:":
            skipped = 1
        else:
            return token
    raise _invalid(
        text,
        len(text),
        f"The query is incomplete: {_words(FORMS)} is missing.",
    )


def _form(token: Token, text: str) -> str:
    word = token.text.upper() if token.kind in ("word", "name") else ""
    form = next((form for form in FORMS if word.startswith(form)), "")
    if not form and word.startswith(_UPDATES):
        raise _update(token, text)
    if not form:
        raise _invalid(
            text, token.at, f"A query must start with {_words(FORMS)}, not {token.text[:40]!r}."
        )
    return form


class _Reader:
    """Goes through the tokens once and knows which brackets are open."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[str] = []
        self._lengths: list[int] = []
        self._patterns = 0
        self._before = ""
        self.outside: set[str] = set()
        self.words: set[str] = set()

    def look(self, token: Token) -> None:
        """Take in a token behind the one that names the form."""
        self.check(token)
        if token.kind == "word" and not self._open:
            self._look_outside(token)
        self._before = token.text

    def check(self, token: Token) -> None:
        """Refuse what may stand nowhere, and count."""
        if token.kind in ("word", "name", "blank"):
            self._look_for_service(token)
        elif token.kind == "iri":
            self._look_for_doubt(token)
        self._count(token)

    def _look_for_service(self, token: Token) -> None:
        folded = token.text.casefold()
        if token.kind == "word":
            self.words.add(token.text.upper())
            is_service = "service" in folded
        else:
            # Parsers differ on whether a name goes on behind a dot.
            prefix, _, local = folded.partition(":")
            is_service = "service" in prefix or "service" in local.partition(".")[2]
        if is_service:
            raise _invalid(
                self._text,
                token.at,
                "SERVICE is not available: this endpoint does not query others. Query the other "
                "endpoint yourself and join the results. (If this is a prefix, rename it.)",
            )

    def _look_for_doubt(self, token: Token) -> None:
        """A `<` behind an operand may be "less than", and hide what stands before the next `>`."""
        if (
            self._open
            and self._open[-1] == "("
            and self._before not in _BEFORE_OPERANDS
            and not _WITH_AUTHORITY.match(token.text)
            and _DOUBTFUL.search(token.text)
        ):
            raise _invalid(
                self._text,
                token.at,
                "This could be an IRI or a less-than sign. For less-than, put a space after the "
                "`<`.",
            )

    def _look_outside(self, token: Token) -> None:
        word = token.text.upper()
        self.outside.add(word)
        if word in _UPDATES and self._before == ";":
            raise _update(token, self._text)
        if word in FORMS:
            raise _invalid(
                self._text, token.at, "A second query starts here. Send one query at a time."
            )

    def _count(self, token: Token) -> None:
        if token.kind == "open":
            self._count_member(token)
            self._open.append(token.text)
            self._lengths.append(0)
            if len(self._open) > DEEPEST:
                raise _invalid(
                    self._text, token.at, f"Brackets are nested deeper than {DEEPEST} here."
                )
        elif token.kind == "close":
            if self._open:
                self._open.pop()
                self._lengths.pop()
        elif token.kind == "mark":
            self._count_mark(token)
        else:
            self._count_member(token)

    def _count_mark(self, token: Token) -> None:
        if self._lengths:
            self._lengths[-1] = 0
        separates = token.text in ".;," and bool(self._open) and self._open[-1] != "("
        if separates or token.text in "/^":
            self._patterns += 1
        if self._patterns > MOST_PATTERNS:
            raise _invalid(
                self._text,
                token.at,
                f"The query has more than {MOST_PATTERNS} triple patterns and steps of paths, "
                "which is too many to plan. Split the query; use VALUES for long lists.",
            )

    def _count_member(self, token: Token) -> None:
        """Terms side by side in round brackets are an RDF list, and each costs two patterns."""
        if self._open and self._open[-1] == "(":
            self._lengths[-1] += 1
            if self._lengths[-1] > LONGEST_LIST:
                raise _invalid(
                    self._text, token.at, f"This list has more than {LONGEST_LIST} members."
                )


def _update(token: Token, text: str) -> problems.NotAllowed:
    line, column = position(text, token.at)
    return problems.NotAllowed(
        f"{token.text.upper()} is an update, and this endpoint is read-only: its graphs are built "
        "from published versions. Publish a version or edit its card instead.",
        line=line,
        column=column,
    )


def _invalid(text: str, at: int, words: str) -> problems.QueryInvalid:
    line, column = position(text, at)
    return problems.QueryInvalid(f"Line {line}, column {column}: {words}", line=line, column=column)


def position(text: str, at: int) -> tuple[int, int]:
    """Line and column, both from 1, of a place in a text."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _words(forms: tuple[str, ...]) -> str:
    return f"{', '.join(forms[:-1])} or {forms[-1]}"
