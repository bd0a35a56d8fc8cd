"""Terms of RDF as N-Quads writes them: IRIs and literals.

Everything a stranger wrote is escaped here and nowhere else. Source: RDF 1.1 N-Quads, RFC 3987.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote, urlsplit

from hub.protocol import stored
from metadata.rdf.terms import UNDETERMINED, XSD

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


def link(iri: str) -> str:
    """An IRI as a term; empty for an empty one."""
    return f"<{iri}>" if iri else ""


def part(text: str, safe: str = "") -> str:
    """Any text as a part of an IRI."""
    return quote(text.encode("utf-8", "replace"), safe=safe)


def foreign(text: str) -> str:
    """A web address from a card as an IRI that every parser accepts; empty if it is none."""
    try:
        url = urlsplit(text.strip())
    except ValueError:
        return ""
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.netloc):
        return ""
    iri = f"{url.scheme}://{url.netloc}{_tidy(url.path)}"
    iri += f"?{_tidy(url.query)}" if url.query else ""
    return iri + (f"#{_tidy(url.fragment)}" if url.fragment else "")


def _tidy(text: str) -> str:
    return part(_STRAY_PERCENT.sub("%25", text), _IN_IRI)


def string(text: Any, language: str = "") -> str:
    """A plain string, or a text in a language; empty for an empty text."""
    clean = "" if text is None else _UNWRITABLE.sub("\ufffd", str(text))
    if not clean.strip():
        return ""
    return f'"{clean.translate(_ESCAPES)}"' + (f"@{language}" if language else "")


def words(text: Any) -> str:
    """A text for people, in an unknown language."""
    return string(text, UNDETERMINED)


def typed(value: str, datatype: str) -> str:
    """A literal of one of XSD's types; ``value`` is in its lexical form."""
    return f'"{value}"^^<{XSD}{datatype}>'


def count(value: Any) -> str:
    """A whole number, 0 or more; empty for anything else."""
    number = stored.whole(value)
    return typed(str(number), "nonNegativeInteger") if number is not None and number >= 0 else ""


def whole(value: Any) -> str:
    """An integer; empty for anything else."""
    return "" if stored.whole(value) is None else typed(str(value), "integer")


def number(value: Any) -> Decimal | None:
    """A number of a card or a report; None for what a decimal cannot hold."""
    if not stored.is_scalar(value):
        return None
    try:
        exact = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return exact if exact.is_finite() and abs(exact.adjusted()) <= _DIGITS else None


def decimal(value: Any) -> str:
    """An xsd:decimal in canonical form; empty for what is no number."""
    exact = number(value) if not isinstance(value, Decimal) else value
    if exact is None:
        return ""
    whole, _, fraction = format(exact, "f").partition(".")
    digits = f"{whole}.{fraction.rstrip('0') or '0'}"
    return typed("0.0" if digits == "-0.0" else digits, "decimal")


def truth(value: bool) -> str:  # noqa: FBT001 - the value is the argument
    """An xsd:boolean."""
    return typed("true" if value else "false", "boolean")


def moment(at: datetime.datetime | None) -> str:
    """A point in time, in UTC; empty for None."""
    if at is None:
        return ""
    text = at.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return typed(f"{text.rstrip('0').rstrip('.')}Z", "dateTime")
