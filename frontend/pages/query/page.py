"""The query page's addresses, its examples, and its error messages.

A query lives in the address, so that a view can be kept and sent; one that is too long for an
address is answered all the same, and the page says that it has none.
"""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.urls import reverse

from frontend.pages.query import results
from frontend.parts import formatting
from hub.protocol.problems import Problem
from metadata.sparql import listing
from metadata.sparql.example_queries import ExampleQuery

# Requests of this length pass the servers and proxies that a hub is run behind.
ADDRESS_CHARACTERS = 6_000
START = """
SELECT ?model ?title WHERE {
  ?model a fair4ml:MLModel ;
         dcterms:title ?title .
}
ORDER BY ?title ?model
LIMIT 20
"""
# Ending of a whole result as a file -> its name and its media type.
DOWNLOADS = {
    "csv": ("CSV", "text/csv"),
    "tsv": ("TSV", "text/tab-separated-values"),
    "json": ("JSON", "application/sparql-results+json"),
    "xml": ("XML", "application/sparql-results+xml"),
}
# How the words of a problem begin that has a place; the page says it in its title.
_PLACE = re.compile(r"^Line \d+, column \d+: ")
# Status -> title. Anything else is said in the problem's own words.
_TITLES = {
    400: "Not valid SPARQL.",
    403: "This endpoint is read-only.",
    413: "The query is too long.",
    422: "Query too expensive.",
    429: "Too many queries.",
    503: "Queries are temporarily unavailable.",
    504: "Query timed out.",
}
# Status -> what that means, and what helps.
_CURES = {
    422: "The query was stopped, so this is not an empty result. Reduce it: add "
    "a LIMIT, name a model or a task, or count instead of listing.",
    429: "The query was not run, so this is not an empty result.",
    503: "The query was not run, so this is not an empty result. Lists and their filters, pages "
    "and downloads are not affected.",
    504: "This is not an empty result. Reduce the query: put the rarest condition first, avoid "
    "paths such as (a|b)* without a fixed end, add a LIMIT.",
}


def limits(*, signed_in: bool) -> str:
    """What one query may take, said before it is asked."""
    seconds = settings.HUB_SPARQL_USER_SECONDS if signed_in else settings.HUB_SPARQL_SECONDS
    size = formatting.size(settings.HUB_SPARQL_RESULT_BYTES)
    return (
        f"A query may take {formatting.duration(seconds)} and give {size}; the page shows up to "
        f"{results.ROWS} rows of it."
    )


def tidy(text: str) -> str:
    """A query as a form sends it, with the line ends that its author typed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def start() -> str:
    """What the editor holds before anything is asked."""
    return listing.prologue(START, settings.HUB_PUBLIC_URL) + START.lstrip()


def address(text: str, examples: tuple[ExampleQuery, ...]) -> str:
    """The permalink of a query, an example's own where it is one; empty where it is too long."""
    for example in examples:
        if example.query.strip() == text.strip():
            return f"{reverse('query')}?example={example.slug}"
    written = f"{reverse('query')}?{_query_string(text)}"
    return written if len(written) <= ADDRESS_CHARACTERS else ""


def downloads(text: str) -> list[tuple[str, str]]:
    """The whole table in each format: its name and its address; none for a query too long."""
    query = _query_string(text)
    if len(query) > ADDRESS_CHARACTERS:
        return []
    return [
        (name, f"{reverse('query-result', args=[ending])}?{query}")
        for ending, (name, _) in DOWNLOADS.items()
    ]


def curl(text: str, media_type: str) -> str:
    """The shell command that asks the endpoint the same."""
    accept = shlex.quote(f"Accept: {media_type}")
    query = shlex.quote(f"query={text}")
    return f"curl -H {accept} --data-urlencode {query} {settings.HUB_PUBLIC_URL}/sparql"


def trouble(problem: Problem, text: str) -> dict[str, Any]:
    """What a problem means for who asked, and the place in the query that it names."""
    title = _TITLES.get(problem.status, f"{problem.title}.")
    cure = _CURES.get(problem.status, "")
    line, column = _place(problem)
    words = _PLACE.sub("", problem.detail, count=1) if line else problem.detail
    if problem.status in (429, 503):
        cure = f"{cure} {_wait(problem)}".strip()
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return {
            "title": title,
            "words": words,
            "cure": cure,
        }
    source_line = lines[line - 1]
    at = min(max(column, 1), len(source_line) + 1)
    title = f"Line {line}, column {at}: {title[0].lower()}{title[1:]}"
    return {
        "title": title,
        "words": words,
        "cure": cure,
        "line": line,
        "column": at,
        "before": source_line[: at - 1][-80:],
        "after": source_line[at - 1 :][:200],
    }


def _wait(problem: Problem) -> str:
    seconds = problem.extensions.get("retry_after")
    if not isinstance(seconds, int | float) or seconds <= 0:
        return ""
    return f"Try again in {formatting.duration(seconds)}."


def _query_string(text: str) -> str:
    return urlencode({"query": text}, quote_via=quote)


def _place(problem: Problem) -> tuple[int, int]:
    """Line and column, from 1, where the problem names them."""
    line, column = problem.extensions.get("line"), problem.extensions.get("column")
    return (line, column if isinstance(column, int) else 1) if isinstance(line, int) else (0, 0)
