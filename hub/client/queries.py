"""SPARQL queries on the public graphs of a hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hub.client.hub import Hub
from hub.protocol import problems
from hub.protocol.stored import mapping, rows, text

# Below the hub's own address, which may have a path.
ADDRESS: Final = "sparql"
JSON, CSV, TSV = "application/sparql-results+json", "text/csv", "text/tab-separated-values"
TURTLE = "text/turtle"


@dataclass(frozen=True, slots=True)
class Term:
    """An RDF term: its kind is `uri`, `literal` or `bnode`."""

    kind: str
    value: str
    datatype: str | None = None
    language: str | None = None

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer of a SELECT: variables, and for each row the terms of those that are bound."""

    variables: tuple[str, ...]
    rows: tuple[dict[str, Term], ...]


def query(hub: Hub, sparql: str) -> Solutions | bool | str:
    """Answer a SPARQL query: `Solutions` of a SELECT, bool of an ASK, else a graph as Turtle.

    Raises QueryInvalid, QueryTooCostly, QueryTimeout, and Unavailable while the graphs are not
    up to date.
    """
    media, body = send(hub, sparql, f"{JSON}, {TURTLE};q=0.9")
    if media != JSON:
        return body.decode("utf-8")
    return _solutions(body)


def send(hub: Hub, sparql: str, accept: str) -> tuple[str, bytes]:
    """The answer in a format of SPARQL 1.1, as its media type and bytes; raises as `query`."""
    hub.config.require_network(sparql[:40], "hub.query")
    answer = hub.transport.request(
        "POST",
        ADDRESS,
        body=sparql.encode(),
        headers={"Content-Type": "application/sparql-query", "Accept": accept},
        repeatable=True,
    )
    return answer.headers.get("Content-Type", "").partition(";")[0].strip(), answer.body


def _solutions(body: bytes) -> Solutions | bool:
    import json  # noqa: PLC0415  (each verb imports what it needs)

    try:
        document = mapping(json.loads(body))
    except ValueError as error:
        raise problems.Unreachable("The hub's response is no JSON.", is_transient=False) from error
    if isinstance(document.get("boolean"), bool):
        return bool(document["boolean"])
    variables = mapping(document.get("head")).get("vars")
    if not isinstance(variables, list):
        raise problems.Unreachable(
            "The hub's response is no result of a query.", is_transient=False
        )
    bindings = rows(mapping(document.get("results")).get("bindings"))
    return Solutions(
        tuple(str(name) for name in variables),
        tuple({name: _term(mapping(term)) for name, term in row.items()} for row in bindings),
    )


def _term(term: dict[str, object]) -> Term:
    return Term(
        kind=text(term.get("type")),
        value=text(term.get("value")),
        datatype=text(term.get("datatype")) or None,
        language=text(term.get("xml:lang")) or None,
    )
