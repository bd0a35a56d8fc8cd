"""The condition that a name or a summary contains a text, with the indexes that serve it.

SQLite looks into every row. PostgreSQL has an index of trigrams for texts with three letters or
digits in a row, and one of single characters and pairs for all others, which have no trigram
(`registry/migrations/0002_laws.py`).
"""

from __future__ import annotations

import re

from django.db import connection
from django.db.models import BooleanField, Q, Value
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KT
from django.db.models.functions import StrIndex, Upper
from django.db.models.lookups import GreaterThan

_HAS_TRIGRAM = re.compile(r"[^\W_]{3}")
_PAIRS = (
    "registry_character_pairs(UPPER(registry_searchdocument.title::text) || ' ' || "
    "UPPER(COALESCE(registry_searchdocument.latest ->> 'summary', '')))"
)


def contain(text: str) -> Q:
    """The condition that the name of a published model, or its summary, contains ``text``."""
    is_published = Q(latest__isnull=False)
    if connection.vendor == "postgresql" and not _HAS_TRIGRAM.search(text):
        # No LIKE, whose trigrams the planner would take from the other index: all that there are.
        is_named, is_summarised = (
            Q(GreaterThan(StrIndex(Upper(column), Upper(Value(text))), 0))
            for column in ("model__name", KT("latest__summary"))
        )
        return is_published & _has_pairs(text) & (is_named | is_summarised)
    # The title holds the name, and has an index; the name itself lies in another table.
    is_named = Q(title__icontains=text) & Q(model__name__icontains=text)
    return is_published & (is_named | Q(latest__summary__icontains=text))


def _has_pairs(text: str) -> Q:
    pairs = [text[at : at + 2] for at in range(len(text) - 1)] or [text]
    sql = f"{_PAIRS} @> ARRAY[{', '.join(['UPPER(%s)'] * len(pairs))}]"
    return Q(RawSQL(sql, pairs, BooleanField()))  # noqa: S611 - the texts are parameters
