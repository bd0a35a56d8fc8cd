"""Writing one named graph as canonical N-Quads: sorted lines, no blank nodes, equal bytes always.

Everything a stranger wrote is escaped here and nowhere else. Source: RDF 1.1 N-Quads, RFC 3987.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote, urlsplit

from metadata.rdf.terms import RDF, UNTOLD, XSD

# What XML 1.0 cannot hold: a graph must go into every format, so such characters are replaced.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x7f": "\\u007F"}
)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_IN_IRI = "/:@!$&'()*+,;=~%?"
# Digits beyond this make a number that most readers cannot hold.
_DIGITS = 60


class Graph:
    """Triples of one named graph, each told once."""

    def __init__(self, iri: str) -> None:
        self.iri = iri
        self._lines: set[str] = set()

    def add(self, subject: str, predicate: str, *terms: str) -> None:
        """Tell of ``subject`` (an IRI) one triple for each object that is not empty."""
        for term in terms:
            if term:
                self._lines.add(f"<{subject}> <{predicate}> {term} <{self.iri}> .\n")

    def type(self, subject: str, *classes: str) -> None:
        """Say of which classes ``subject`` is."""
        self.add(subject, f"{RDF}type", *map(link, classes))

    def text(self) -> str:
        """The graph as sorted N-Quads; empty for a graph of which nothing was told."""
        return "".join(sorted(self._lines))


def link(iri: str) -> str:
    """An IRI as a term; nothing for none."""
    return f"<{iri}>" if iri else ""


def part(text: str, safe: str = "") -> str:
    """Any text as a part of an IRI."""
    return quote(text.encode("utf-8", "replace"), safe=safe)


def foreign(text: str) -> str:
    """A web address that somebody wrote as an IRI that every parser takes; empty if it is none."""
    try:
        found = urlsplit(text.strip())
    except ValueError:
        return ""
    if found.scheme not in ("http", "https") or not _HOST.fullmatch(found.netloc):
        return ""
    iri = f"{found.scheme}://{found.netloc}{_tidy(found.path)}"
    iri += f"?{_tidy(found.query)}" if found.query else ""
    return iri + (f"#{_tidy(found.fragment)}" if found.fragment else "")


def _tidy(text: str) -> str:
    return part(_STRAY_PERCENT.sub("%25", text), _IN_IRI)


def string(text: Any, language: str = "") -> str:
    """A plain string, or a text in a language; nothing for nothing."""
    written = "" if text is None else _UNWRITABLE.sub("\ufffd", str(text))
    if not written.strip():
        return ""
    return f'"{written.translate(_ESCAPES)}"' + (f"@{language}" if language else "")


def words(text: Any) -> str:
    """A text for people, in a language that nobody told."""
    return string(text, UNTOLD)


def typed(value: str, datatype: str) -> str:
    """A literal of one of XSD's types; ``value`` is in its lexical form."""
    return f'"{value}"^^<{XSD}{datatype}>'


def count(value: Any) -> str:
    """A whole number from nought up; nothing for whatever else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return ""
    return typed(str(value), "nonNegativeInteger")


def whole(value: Any) -> str:
    """An integer; nothing for whatever else."""
    return (
        ""
        if isinstance(value, bool) or not isinstance(value, int)
        else typed(str(value), "integer")
    )


def number(value: Any) -> Decimal | None:
    """What a card or a report gives as a number; None where it is none that a decimal can say."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if not found.is_finite() or abs(found.adjusted()) > _DIGITS:
        return None
    return found


def decimal(value: Decimal | None) -> str:
    """An xsd:decimal in canonical form; nothing for None."""
    if value is None:
        return ""
    plain = format(value, "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return typed(
        "0.0" if plain in ("0", "-0", "") else plain if "." in plain else f"{plain}.0", "decimal"
    )


def truth(value: bool) -> str:  # noqa: FBT001 - the value is the argument
    """An xsd:boolean."""
    return typed("true" if value else "false", "boolean")


def moment(at: datetime.datetime | None) -> str:
    """A point in time, in UTC; nothing for None."""
    if at is None:
        return ""
    text = at.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return typed(f"{text.rstrip('0').rstrip('.')}Z", "dateTime")
