"""SPARQL 1.1 Protocol: the query of a request, and the format of its result.

Source: SPARQL 1.1 Protocol, section 2.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

import pyoxigraph

from hub.protocol import problems
from metadata.sparql.guard import LONGEST_BYTES
from metadata.store import negotiation

FORM, DIRECT, UPDATE = (
    "application/x-www-form-urlencoded",
    "application/sparql-query",
    "application/sparql-update",
)
# A query whose every byte is percent-encoded, and room for names of graphs.
LONGEST_BODY = 4 * LONGEST_BYTES
_MOST_PARAMETERS = 1000
_MOST_GRAPHS = 100
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+")


@dataclass(frozen=True, slots=True)
class Format:
    """A way of writing an answer: its name among the W3C's formats, and others' media types."""

    name: str
    writer: pyoxigraph.RdfFormat | pyoxigraph.QueryResultsFormat
    aliases: tuple[str, ...] = ()

    @property
    def media_type(self) -> str:
        """Its media type without parameters."""
        return self.writer.media_type.partition(";")[0]


RESULTS = (
    Format("SPARQL_Results_JSON", pyoxigraph.QueryResultsFormat.JSON, ("application/json",)),
    Format(
        "SPARQL_Results_XML",
        pyoxigraph.QueryResultsFormat.XML,
        ("application/xml", "text/xml"),
    ),
    Format("SPARQL_Results_CSV", pyoxigraph.QueryResultsFormat.CSV),
    Format("SPARQL_Results_TSV", pyoxigraph.QueryResultsFormat.TSV),
)
GRAPHS = (
    Format("Turtle", pyoxigraph.RdfFormat.TURTLE, ("application/x-turtle",)),
    Format("JSON-LD", pyoxigraph.RdfFormat.JSON_LD, ("application/json",)),
    Format("N-Triples", pyoxigraph.RdfFormat.N_TRIPLES, ("text/plain",)),
    Format("RDF_XML", pyoxigraph.RdfFormat.RDF_XML, ("application/xml", "text/xml")),
)


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """The query of one request; no text where it requests the service description."""

    text: str | None
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()


def from_get(query_string: str) -> QueryRequest:
    """The query of a GET. Raises InvalidRequest, QueryInvalid, NotAllowed."""
    return _query_request(_parameters(query_string.encode("latin-1", "replace")), [])


def from_post(query_string: str, content_type: str, body: bytes) -> QueryRequest:
    """The query of a POST, in a form or direct.

    Raises InvalidRequest, QueryInvalid, NotAllowed, UnsupportedMediaType.
    """
    kind, _, more = content_type.partition(";")
    kind = kind.strip().lower()
    charset = re.search(r"charset\s*=\s*\"?([\w-]+)", more, re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise problems.UnsupportedMediaType(f"Queries must be UTF-8, not {charset[1]}.")
    if kind == UPDATE:
        raise _no_updates()
    if kind not in (FORM, DIRECT):
        raise problems.UnsupportedMediaType(
            f"Send the query as {FORM} (query=…) or {DIRECT}, not {kind or 'an unnamed type'}."
        )
    parameters = _parameters(query_string.encode("latin-1", "replace"))
    if kind == DIRECT:
        return _query_request(parameters, [_text(body)])
    return _query_request([*parameters, *_parameters(body)], [], needed=True)


def _parameters(encoded: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            encoded.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except UnicodeDecodeError:
        raise problems.InvalidRequest(
            "The parameters are not percent-encoded UTF-8. Encode the query as UTF-8."
        ) from None
    except ValueError:
        raise problems.InvalidRequest(f"More than {_MOST_PARAMETERS} parameters.") from None


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise problems.QueryInvalid(
            f"The query is not UTF-8: byte {error.start} is not valid. Save it as UTF-8."
        ) from None


def _query_request(
    parameters: list[tuple[str, str]], direct: list[str], *, needed: bool = False
) -> QueryRequest:
    values: dict[str, list[str]] = {}
    for name, value in parameters:
        values.setdefault(name, []).append(value)
    if "update" in values:
        raise _no_updates()
    texts = [*direct, *values.get("query", [])]
    if len(texts) > 1:
        raise problems.InvalidRequest("The request has more than one query. Send one at a time.")
    graphs = [values.get(f"{kind}-graph-uri", []) for kind in ("default", "named")]
    if not texts and (needed or any(graphs)):
        raise problems.InvalidRequest("The request has no query. Send it in the parameter `query`.")
    return QueryRequest(texts[0] if texts else None, _iris(graphs[0]), _iris(graphs[1]))


def _iris(iris: Sequence[str]) -> tuple[str, ...]:
    if len(iris) > _MOST_GRAPHS:
        raise problems.InvalidRequest(f"A request names at most {_MOST_GRAPHS} graphs.")
    for iri in iris:
        if not _IRI.fullmatch(iri):
            raise problems.InvalidRequest(f"{iri[:200]!r} is not an absolute IRI of a graph.")
    return tuple(iris)


def _no_updates() -> problems.NotAllowed:
    return problems.NotAllowed(
        "This endpoint is read-only: its graphs are built from published versions."
    )


def choose(accept: str, offered: Sequence[Format]) -> Format:
    """The format that an Accept header prefers, the first of equals; none given is any.

    Raises NotAcceptable.
    """
    names = {form.media_type: form for form in offered}
    for form in offered:
        for alias in form.aliases:
            names.setdefault(alias, form)
    name = negotiation.best(accept, names)
    if name is None:
        kinds = ", ".join(form.media_type for form in offered)
        raise problems.NotAcceptable(
            f"The result is available as {kinds}. Name one of them in Accept."
        )
    return names[name]


def prefers_html(accept: str) -> bool:
    """Whether a page is wanted rather than a description: a browser."""
    offers = ["text/turtle", negotiation.HTML, *(form.media_type for form in GRAPHS)]
    return negotiation.best(accept, offers) == negotiation.HTML
