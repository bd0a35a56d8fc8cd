"""The models that everybody may see, page by page, as sitemaps list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from registry.models import SearchDocument
from registry.models.search import EVERYBODY

if TYPE_CHECKING:
    from datetime import datetime

# Models on a page. The format allows 50,000; a page is read and written at once.
PAGE = 5_000


def pages() -> int:
    """The number of pages, one at least."""
    return max(1, -(-SearchDocument.objects.filter(audience=EVERYBODY).count() // PAGE))


def page(number: int) -> list[tuple[str, datetime]]:
    """Title and last change of the models of a page, counted from 1, in order of their keys.

    Empty where there is no such page.
    """
    rows = SearchDocument.objects.filter(audience=EVERYBODY).order_by("pk")
    start = (number - 1) * PAGE
    if start < 0:
        return []
    return list(rows.values_list("title", "updated_at")[start : start + PAGE])
