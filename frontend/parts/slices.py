"""A page of a long list that is searched by a text: files, of which a version has thousands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from frontend.parts import addresses

if TYPE_CHECKING:
    from django.http import HttpRequest

Row = TypeVar("Row")
LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Slice(Generic[Row]):
    """Some rows of a list, where they stand in it, and the addresses of other pages.

    ``count`` is the number of rows that match ``text``, ``total`` that of all rows; ``start`` and
    ``stop`` count from 1.
    """

    rows: Sequence[Row]
    text: str
    total: int
    count: int
    start: int
    stop: int
    first: str
    next: str

    @property
    def is_long(self) -> bool:
        """Whether a search helps, since not all rows fit on a page."""
        return bool(self.text) or self.total > len(self.rows)


def of(
    request: HttpRequest, rows: Sequence[Row], words: Callable[[Row], str], size: int
) -> Slice[Row]:
    """The rows whose ``words`` hold the text `q` of an address, on its page `page`."""
    text = request.GET.get("q", "").strip()[:LONGEST_TEXT]
    matches = [row for row in rows if text.lower() in words(row).lower()] if text else rows
    number = addresses.page(request.GET.get("page", ""), -(-len(matches) // size))
    start = (number - 1) * size
    query = {key: request.GET[key] for key in request.GET if key != "page"}
    has_next = start + size < len(matches)
    return Slice(
        rows=matches[start : start + size],
        text=text,
        total=len(rows),
        count=len(matches),
        start=min(start + 1, len(matches)),
        stop=min(start + size, len(matches)),
        first=addresses.join(request.path, query) if number > 1 else "",
        next=addresses.join(request.path, {**query, "page": number + 1}) if has_next else "",
    )
