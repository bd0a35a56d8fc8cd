"""What the query page adds to other pages: links, examples, and what they show as queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import connection
from django.template import Context

from frontend.pages.query.page import address
from frontend.pages.query.results import short
from frontend.presenters.page_parts import PagePart, Place, page_parts
from frontend.presenters.statement_queries import StatementQuery, statement_queries
from metadata.sparql import comparison, example_queries, listing

# Of the examples, those that most people understand.
QUESTIONS = (
    "training-carbon",
    "models-by-licence",
    "failed-conformance",
    "trained-on-personal-data",
)
_TITLES = {query.slug: query.title for query in example_queries.filled("", {"V": "", "D": ""})}


def register(package: str) -> None:
    """Plug into the pages."""
    statement_queries.register(package, StatementQuery(_statements))
    page_parts.register(
        package,
        PagePart(Place.MENU, "query/menu.html"),
        PagePart(Place.SHORT_MENU, "query/link.html"),
        PagePart(Place.FOOTER, "query/link.html"),
        PagePart(Place.SHORTCUTS, "query/shortcuts.html"),
        PagePart(Place.KEYS, "query/keys.html"),
        PagePart(Place.DOCUMENTS, "query/documents.html"),
        PagePart(Place.HOME, "query/home.html", _examples),
        PagePart(Place.LIST, "query/list.html", _list),
        PagePart(Place.LIST_END, "query/list_form.html", _list),
        PagePart(Place.FIND, "query/find.html", _list),
        PagePart(Place.COMPARISON, "query/comparison.html", _comparison),
    )


def _examples(_: Context) -> dict[str, Any]:
    return {"asked": [(slug, _TITLES[slug]) for slug in QUESTIONS]}


def _list(context: Context) -> dict[str, Any]:
    """The models of a list as SPARQL."""
    list_query = listing.of(
        context["query"],
        settings.HUB_PUBLIC_URL,
        context["listed_values"],
        own=context["request"].user.is_authenticated,
        collated=connection.vendor == "postgresql",
    )
    return {"asked": list_query, "asked_url": address(list_query.query, ())}


def _comparison(context: Context) -> dict[str, Any]:
    """The public columns of a table as SPARQL, and how many others there are."""
    columns = [column for column, *_ in context["columns"]]
    public = [
        comparison.ComparedVariant(
            column.pinned,
            column.version.model.namespace.slug,
            column.version.model.name,
            column.version.number,
            column.variant.name,
        )
        for column in columns
        if column.variant and column.version.is_served and column.version.model.is_public
    ]
    text = comparison.of(public, settings.HUB_PUBLIC_URL) if public else ""
    return {
        "query": text,
        "query_url": address(text, ()) if text else "",
        "missing_count": len(columns) - len(public),
    }


def _statements(subject: str, predicates: Sequence[str]) -> str:
    """The query that finds the statements of a subject."""
    names = [short(predicate) for predicate in predicates]
    values = " ".join(f"<{name}>" if name.startswith("http") else name for name in names)
    query = f"SELECT ?statement ?value WHERE {{\n  VALUES ?statement {{ {values} }}\n"
    query += f"  <{subject}> ?statement ?value .\n}}"
    return address(listing.prologue(query, settings.HUB_PUBLIC_URL) + query, ())
