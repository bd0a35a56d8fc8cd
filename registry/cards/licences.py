"""The licences that people name: one, a list of several, or a choice in SPDX's own notation.

Source: SPDX 3 annex D (licence expressions), Hugging Face model card specification.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from registry.cards import vocabularies

LONGEST = 64
# Between the licences of a column.
_BETWEEN = ", "
_OPERATOR = re.compile(r"\s+(?:and|or)\s+|[()]", re.IGNORECASE)
_MOST = 50


def named(*written: str) -> tuple[str, ...]:
    """Each licence that texts of a card or a row name, as it is written there, without its choice.

    An expression of SPDX names several; an exception stays with its licence.
    """
    return tuple(dict.fromkeys(part for item in items(*written) for part in _parts(item)))


def items(*written: str) -> tuple[str, ...]:
    """Each licence or choice of licences that texts of a card or a row list.

    A text with commas is a list if each of its parts is a known licence.
    """
    parts: list[str] = []
    for item in filter(None, (item.strip() for item in written[:_MOST])):
        pieces = item.split(_BETWEEN)
        is_list = len(pieces) > 1 and all(map(vocabularies.is_licence, pieces))
        parts += pieces if is_list else [item]
    return tuple(dict.fromkeys(parts))


def of_column(column: str, written: Sequence[str]) -> tuple[str, ...]:
    """Each licence of a column; `text` may have made it of those that are written in the card."""
    return named(*written) if column == text(*written) else named(column)


def expression(*written: str) -> str:
    """A choice or sum of licences as SPDX writes it; empty for one licence, and for several texts.

    A list does not say whether one of its licences holds, or all of them.
    """
    if len(written) != 1 or len(named(*written)) < 2:
        return ""
    try:
        return str(canonicalize_license_expression(written[0].strip()))
    except InvalidLicenseExpression:
        return ""


def text(*written: str) -> str:
    """The licences in at most LONGEST characters, for columns and lists: none is cut in two."""
    if len(written) == 1 and len(written[0].strip()) <= LONGEST:
        return written[0].strip()
    names = named(*written)
    if len(names) == 1:
        return names[0][:LONGEST]
    listing = ""
    for name in names:
        longer = f"{listing}{_BETWEEN}{name}" if listing else name
        if len(longer) > LONGEST - 3:
            return f"{listing} …" if listing else f"{name[: LONGEST - 1]}…"
        listing = longer
    return listing


def _parts(written: str) -> list[str]:
    parts = [part.strip() for part in _OPERATOR.split(written) if part.strip()]
    if len(parts) > 1 and all(vocabularies.is_licence(part) for part in parts):
        return parts
    return [written]
