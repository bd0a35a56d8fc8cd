"""Matching a text with the words of models: SQLite FTS5, or PostgreSQL's full text."""

from __future__ import annotations

from django.db import connection
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from registry.catalogue import selectors
from registry.core import public_counts, spellings, typos
from registry.core.permissions import Actor
from registry.models import SearchDocument
from registry.models.search import EVERYBODY

# A text that finds more is common: walking the most downloaded meets it soon.
COMMON = 10_000
# PostgreSQL cannot tell how many words begin with a term as short as this, such as a number.
SHORT = 2


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return spellings.WORD.findall(text.lower())


def terms(text: str) -> list[str]:
    """What is asked for: the first twelve words."""
    return words(text)[:12]


def may_be_common(text: str) -> bool:
    """Whether PostgreSQL should look among the most downloaded before it gathers all that match."""
    return connection.vendor == "postgresql" and any(len(term) <= SHORT for term in terms(text))


def is_nowhere(actor: Actor, text: str) -> bool:
    """Whether nothing that the actor may see holds a text that is a name with a typo perhaps."""
    if not typos.may_be(terms(text)):
        return False
    matches = match(text)
    return not any(_exists(rows.filter(matches)) for rows in selectors.documents_apart(actor))


def _exists(rows: QuerySet[SearchDocument]) -> bool:
    """Whether a row matches a text.

    PostgreSQL expects to meet one soon and walks the whole table where there is none; of rows that
    it has to gather first it asks the index.
    """
    if connection.vendor != "postgresql":
        return rows.exists()
    sql, parameters = rows.order_by().values("pk").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH matches AS MATERIALIZED ({sql}) SELECT EXISTS (SELECT 1 FROM matches)",  # noqa: S608
            parameters,
        )
        return bool(cursor.fetchone()[0])


def _name_words() -> list[str]:
    """Every word in the names of public models, in order, as of some time ago.

    Without numbers: each has another one keystroke away, and large hubs have as many as models.
    """
    titles = SearchDocument.objects.filter(audience=EVERYBODY).order_by().values_list("title")

    def count() -> list[str]:
        every = {word for (title,) in titles.iterator() for word in words(title)}
        return sorted(word for word in every if not word.isdigit())

    vocabulary: list[str] = public_counts.get("counts:words", count)
    return vocabulary


def match(text: str, *, near: bool = False) -> RawSQL | None:
    """Whether title or body hold every term, or a word that begins with it.

    With ``near`` the title holds a word that is one term with a typo, see registry.core.typos.
    """
    asked_for = terms(text)
    corrected = typos.expression(asked_for, _name_words(), connection.vendor) if near else ""
    if not asked_for or (near and not corrected):
        return None
    if connection.vendor == "postgresql":
        expression = corrected or _expression(asked_for, " & ", " | ", "{}:*")
        sql = "registry_searchdocument.vector @@ to_tsquery('simple', %s)"
        return RawSQL(sql, [expression], BooleanField())  # noqa: S611 - the text is a parameter
    expression = corrected or _expression(asked_for, " AND ", " OR ", '"{}"*')
    matches = "SELECT rowid FROM registry_search_fts WHERE registry_search_fts MATCH %s"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({matches} LIMIT {COMMON + 1})", [expression])  # noqa: S608
        common = cursor.fetchone()[0] > COMMON
    # The plus sign bars the index of ids: rows come in the order wanted, not sorted afterwards.
    sql = f"{'+' if common else ''}registry_searchdocument.model_id IN ({matches})"
    return RawSQL(sql, [expression], BooleanField())  # noqa: S611 - the text is a parameter


def _expression(asked_for: list[str], both: str, either: str, beginning: str) -> str:
    """What an index is asked for: words that begin with each term, or with its expansion."""
    choices = (dict.fromkeys((term, spellings.expansion(term) or term)) for term in asked_for)
    return both.join(f"({either.join(map(beginning.format, choice))})" for choice in choices)
