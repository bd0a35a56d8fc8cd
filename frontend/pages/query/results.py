"""An answer of the SPARQL service as a page shows it: a table, a word, or Turtle.

Tables arrive as TSV, one row a line, so that the beginning is shown and the rest only counted.
Source: SPARQL 1.1 Query Results CSV and TSV Formats, SPARQL 1.1 Query Results JSON Format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.urls import Resolver404, resolve

from hub.protocol import phrases, problems
from metadata.rdf.terms import PREFIXES, XSD

# What the page asks for: a table for SELECT, a boolean for ASK, triples for the other two forms.
ACCEPT = (
    "text/tab-separated-values, application/sparql-results+json;q=0.9, text/turtle;q=0.8, */*;q=0.1"
)
ROWS = 200
# Of the 1,500 elements that a page may have, what is around the table takes less than 800.
ELEMENTS = 700
# Of an answer that is longer than this the rest is not even counted.
READ_BYTES = 5_000_000
TEXT_BYTES = 60_000
SHOWN_CHARACTERS = 300

_NUMBERS = """
integer decimal double float int long short byte nonNegativeInteger positiveInteger negativeInteger
nonPositiveInteger unsignedInt unsignedLong unsignedShort unsignedByte
"""
_NUMERIC = frozenset(XSD + name for name in _NUMBERS.split())
_BARE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LITERAL = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"(?:@(?P<lang>[A-Za-z0-9-]+)|\^\^<(?P<type>[^>]*)>)?'
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_VERSION = re.compile(r"models/([^/]+)/([^/]+)/v/(\d+)(.*)")
_MODEL = re.compile(r"models/([^/]+/[^/]+)()()(.*)")


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its words, what kind it is, and where it leads.

    ``kind`` is number, text, here (a thing of this hub), outside, name (an IRI that leads nowhere),
    blank or unbound.
    """

    words: str
    kind: str
    url: str = ""
    language: str = ""
    title: str = ""

    @property
    def elements(self) -> int:
        """How many elements of the page it takes, its one of the table included."""
        if self.language:
            return 3
        return 1 if self.kind in ("text", "number") else 2


UNBOUND = Term("not bound", "unbound")


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gave. ``count`` is of rows; ``capped`` says that there are more than counted."""

    form: str
    columns: tuple[dict[str, Any], ...] = ()
    rows: tuple[tuple[Term, ...], ...] = ()
    count: int = 0
    capped: bool = False
    truth: bool | None = None
    text: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the page shows all of it."""
        return not self.capped and self.count == len(self.rows)


def read(media_type: str, chunks: Iterator[bytes]) -> Result:
    """Make a result of an answer, of which at most READ_BYTES are read; raises InternalError."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "text/tab-separated-values":
        return _table(_lines(chunks))
    if kind == "application/sparql-results+json":
        try:
            truth = json.loads(_beginning(chunks, READ_BYTES))["boolean"]
        except (ValueError, KeyError, TypeError) as error:
            raise problems.InternalError(
                "The result is not a boolean in SPARQL JSON format."
            ) from error
        return Result("ask", truth=bool(truth))
    if kind == "text/turtle":
        beginning = _beginning(chunks, TEXT_BYTES)
        text = beginning[:TEXT_BYTES].decode(errors="replace")
        capped = len(beginning) > TEXT_BYTES
        # A line that was cut tells something else than the whole one would.
        return Result("graph", text=text.rpartition("\n")[0] if capped else text, capped=capped)
    raise problems.InternalError(f"This page cannot show results of type {media_type}.")


def _beginning(chunks: Iterator[bytes], limit: int) -> bytes:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > limit:
            break
    return bytes(content)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes | None]:
    """The lines of a text; None where READ_BYTES were read and there is more."""
    rest, size = b"", 0
    for chunk in chunks:
        size += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        if size > READ_BYTES:
            yield None
            return
    if rest:
        yield rest


def _table(lines: Iterator[bytes | None]) -> Result:
    head = (next(lines, b"") or b"").decode(errors="replace").rstrip("\r")
    if head in ("true", "false"):
        return Result("ask", truth=head == "true")
    names = [name.removeprefix("?") for name in head.split("\t")] if head else []
    rows: list[tuple[Term, ...]] = []
    count, left, capped = 0, ELEMENTS - len(names), False
    for line in lines:
        if line is None:
            capped = True
            break
        count += 1
        if not rows or (left > 0 and len(rows) < ROWS):
            terms = line.decode(errors="replace").rstrip("\r").split("\t")
            row = tuple(term(item) for item in terms)
            left -= 1 + sum(term.elements for term in row)
            if left >= 0 or not rows:
                rows.append(row)
    columns = tuple(
        {
            "name": name,
            "numeric": {row[index].kind for row in rows if index < len(row)} - {"unbound"}
            == {"number"},
        }
        for index, name in enumerate(names)
    )
    return Result("select", columns, tuple(rows), count, capped)


def term(written: str) -> Term:
    """One term of a TSV row."""
    if not written:
        return UNBOUND
    if written.startswith("<") and written.endswith(">") and not written.startswith("<<"):
        return iri(_plain(written[1:-1]))
    if written.startswith("_:"):
        return Term(written, "blank")
    literal = _LITERAL.fullmatch(written)
    if literal:
        return _literal(_plain(literal["text"]), literal["lang"] or "", literal["type"] or "")
    if _BARE.fullmatch(written):
        return Term(written, "number")
    return _literal(written, "", "")


def _literal(text: str, language: str, kind: str) -> Term:
    if kind in _NUMERIC and _BARE.fullmatch(text):
        return Term(text, "number")
    return Term(phrases.ellipsis(text, SHOWN_CHARACTERS), "text", language=language)


def iri(name: str) -> Term:
    """An IRI: a link to the hub's own page where there is one, a marked one to the web."""
    here = f"{settings.HUB_PUBLIC_URL}/"
    if name.startswith(here):
        path = name[len(here) :]
        url = f"/{path}" if _is_page(path) else ""
        return Term(_called(path, name), "here" if url else "name", url, title=name)
    outside = urlsplit(name).scheme in ("http", "https")
    return Term(short(name), "outside" if outside else "name", name if outside else "", title=name)


def short(name: str) -> str:
    """An IRI with its usual prefix, or unchanged if it has none."""
    for prefix, begins in PREFIXES.items():
        rest = name[len(begins) :]
        if name.startswith(begins) and rest and not set(rest) & set("/#?"):
            return f"{prefix}:{rest}"
    return name


def _called(path: str, name: str) -> str:
    """A thing of this hub as its people call it: lab/net@3, hub:Variant, /tasks/nlp."""
    if path.startswith("ns#"):
        return f"hub:{path[3:]}"
    for pattern in (_VERSION, _MODEL):
        match = pattern.fullmatch(path)
        if match:
            first, second, number, rest = map(unquote, match.groups())
            return f"{first}/{second}@{number}{rest}" if number else f"{first}{rest}"
    return f"/{unquote(path)}" if path else name


def _is_page(path: str) -> bool:
    try:
        resolve(unquote(f"/{path.partition('#')[0].partition('?')[0]}"))
    except Resolver404:
        return False
    return True


def _plain(written: str) -> str:
    """A text or IRI without the escapes that TSV has in common with Turtle."""

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else "\ufffd"
        return _ESCAPED.get(code, code)

    return _ESCAPE.sub(character, written)
