"""The models that everybody may see, page by page, as sitemaps list them."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, Window
from django.db.models.functions import Mod, RowNumber

from registry.core import public_counts
from registry.models import SearchDocument
from registry.models.search import EVERYBODY

# Models on a page, but for those that are newer than the last count, which are on the last. The
# format allows 50,000; a page is read and written at once.
PAGE = 5_000


def pages() -> int:
    """The number of pages, one at least."""
    return max(1, len(_first_keys()))


def page(number: int) -> list[tuple[str, datetime]]:
    """Title and last change of the models of a page, counted from 1, in order of their keys.

    Empty where there is no such page.
    """
    keys = _first_keys()
    if not 1 <= number <= len(keys):
        return []
    rows = SearchDocument.objects.filter(audience=EVERYBODY, pk__gte=keys[number - 1])
    if number < len(keys):
        rows = rows.filter(pk__lt=keys[number])
    return list(rows.order_by("pk").values_list("title", "updated_at"))


def _first_keys() -> list[int]:
    """The key of the first model of each page; of public ones alone, so no key tells of others."""
    place = Mod(Window(RowNumber(), order_by=F("pk").asc()) - 1, PAGE)
    rows = SearchDocument.objects.filter(audience=EVERYBODY).annotate(place=place).filter(place=0)
    keys: list[int] = public_counts.get(
        "counts:sitemap", lambda: list(rows.order_by("pk").values_list("pk", flat=True)) or None
    )
    return keys or []
