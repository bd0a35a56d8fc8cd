"""The licences that people name: one, a list of several, or a choice in SPDX's own notation.

Source: SPDX 3 annex D (licence expressions), Hugging Face model card specification.
"""

from __future__ import annotations

import re
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from registry.cards import vocabularies

LONGEST = 64
_OPERATOR = re.compile(r"\s+(?:and|or)\s+|[()]", re.IGNORECASE)
_MOST = 50


def named(value: Any) -> tuple[str, ...]:
    """Each licence that a card's field or a row names, as it is written there, without its choice.

    An expression of SPDX names several; an exception stays with its licence.
    """
    items = value if isinstance(value, list) else [value]
    found = (
        part
        for item in items[:_MOST]
        if isinstance(item, str | int | float) and not isinstance(item, bool)
        for part in _parts(str(item).strip())
    )
    return tuple(dict.fromkeys(found))


def expression(value: Any) -> str:
    """A choice or sum of licences as SPDX writes it; empty for one licence, and for a list.

    A list does not say whether one of its licences holds, or all of them.
    """
    items = value if isinstance(value, list) else [value]
    if len(items) != 1 or not isinstance(items[0], str) or len(named(items)) < 2:
        return ""
    try:
        return str(canonicalize_license_expression(items[0].strip()))
    except InvalidLicenseExpression:
        return ""


def text(value: Any) -> str:
    """The licences in at most LONGEST characters, for columns and lists: none is cut in two."""
    items = value if isinstance(value, list) else [value]
    if len(items) == 1 and isinstance(items[0], str) and len(items[0].strip()) <= LONGEST:
        return items[0].strip()
    names = named(value)
    if len(names) == 1:
        return names[0][:LONGEST]
    shown = ""
    for name in names:
        longer = f"{shown}, {name}" if shown else name
        if len(longer) > LONGEST - 3:
            return f"{shown} …" if shown else f"{name[: LONGEST - 1]}…"
        shown = longer
    return shown


def _parts(written: str) -> list[str]:
    parts = [part.strip() for part in _OPERATOR.split(written) if part.strip()]
    if len(parts) > 1 and all(vocabularies.is_licence(part) for part in parts):
        return parts
    return [written] if written else []
