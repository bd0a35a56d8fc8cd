"""What addresses carry: whole numbers, numbers of pages, and queries without empty parts."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

# The name of a form's field for the size of a dimension begins with it.
SIZE_FIELD = "size:"


def whole(text: str, digits: int = 9) -> int | None:
    """The whole number that a text is; None for any other text, or for more digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def page(text: str, pages: int | None = None) -> int:
    """The number of a page, from 1; the last one where there are fewer ``pages``."""
    number = max(1, whole(text) or 1)
    return number if pages is None else min(number, max(1, pages))


def join(path: str, parts: Mapping[str, object]) -> str:
    """A path with the parts of a query that are not empty."""
    query = urlencode({name: value for name, value in parts.items() if value})
    return f"{path}?{query}" if query else path
