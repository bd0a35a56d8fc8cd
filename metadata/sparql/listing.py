"""A list of models as SPARQL: the same models in the same order, or words on what it cannot say.

The graphs know no downloads, no index of words and nothing that is private. Where a list depends on
these, the query leaves them out and the notes beside it say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hub.protocol import filters, sorts
from hub.protocol.accuracy import Limit
from hub.protocol.sorts import Sort
from metadata.rdf import quads
from metadata.rdf.iris import Places
from metadata.rdf.terms import PREFIXES
from metadata.sparql import list_patterns
from metadata.sparql.list_patterns import literal
from registry.catalogue.query import Query

_USED = re.compile(r"\b([a-z0-9]+):[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Listing:
    """A query, and what it cannot say of the list, in sentences.

    ``is_same`` tells whether it gives the very models of the list, in its order.
    """

    query: str
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        return not self.notes


def of(
    query: Query,
    home: str,
    spellings: Mapping[str, Iterable[str]] | None = None,
    *,
    own: bool = False,
    collated: bool = False,
) -> Listing:
    """The list that ``query`` asks for, as the hub at ``home`` would be asked for it.

    ``spellings`` has the values of groups that models here have: a graph makes several spellings
    one thing. ``own`` says that the list may hold models that only its reader may see, ``collated``
    that its database sorts names by the rules of a language.
    """
    if query.sort == sorts.FASTEST.name and not query.device:  # nothing is measured
        query = replace(query, sort=sorts.UPDATED.name)
    sort = sorts.SORTS[query.sort]
    places = Places(home)
    conditions, notes = _conditions(places, query)
    notes += _merged(places, query, spellings or {})
    if own:
        notes.append("Private models are not in the graphs, so the query leaves them out.")
    if collated and sort is sorts.BY_NAME:
        notes.append(
            "The query sorts names by character codes; the database may sort capitals and "
            "hyphens differently."
        )
    lines = [
        f"<{places.catalogue}> dcat:resource ?model .",
        "?model dcterms:identifier ?name ; dcterms:created ?created .",
        *_newest(
            sort, any("?version" in line or line == list_patterns.NOTHING for line in conditions)
        ),
        *conditions,
        *(_speed(places, query) if sort is sorts.FASTEST else []),
    ]
    order, column = sort.order, sort.attribute.variable if sort.attribute else ""
    if sort is sorts.FASTEST:
        column = "?p50"
    elif sort is sorts.ACCURACY:
        column = "?accuracy1"
        order = "?accuracy1 ?created" if query.accuracy[0].is_maximum else order
    body = "\n".join(f"  {line}" for line in lines)
    text = f"SELECT ?model ?name{column and f' {column}'} WHERE {{\n{body}\n}}\nORDER BY {order}\n"
    return Listing(f"{prologue(text, home)}{text}", tuple(notes))


def prologue(text: str, home: str) -> str:
    """The PREFIX lines of the vocabularies that a query uses, and an empty line."""
    bare = re.sub(r"<[^<>\s]*>|\"(?:[^\"\\]|\\.)*\"", "", text)
    prefixes = PREFIXES | {"hub": Places(home).term("")}
    used = sorted(set(_USED.findall(bare)) & prefixes.keys())
    lines = "".join(f"PREFIX {name}: <{prefixes[name]}>\n" for name in used)
    return f"{lines}\n" if lines else ""


def _newest(sort: Sort, narrowed: bool) -> list[str]:  # noqa: FBT001 - the value is the argument
    """The newest version; of a list of everything also models that have none any more."""
    newest = "?model dcat:hasCurrentVersion ?version ."
    if sort.attribute:
        return [newest, sort.attribute.pattern]
    if narrowed:
        return [
            newest,
            *([] if sort is sorts.BY_NAME else ["?version dcterms:issued ?updated ."]),
        ]
    if sort is sorts.BY_NAME:
        return []
    return [
        "OPTIONAL { ?model dcat:hasCurrentVersion ?version . ?version dcterms:issued ?issued }",
        "BIND(COALESCE(?issued, ?created) AS ?updated)",
    ]


def _speed(places: Places, query: Query) -> list[str]:
    """The result that lists show of the newest version in the query's setup, if any.

    An accepted one is its ?p50, a noisy one its ?noisy.
    """
    return [
        line
        for name, status in (("p50", "accepted"), ("noisy", "noisy"))
        for line in ("OPTIONAL {", *_result(places, query, name, status), "}")
    ]


def _result(places: Places, query: Query, name: str, status: str) -> list[str]:
    """The result of a status that lists show of ?model in the query's setup, with its ?name."""
    setup = query.setup
    ran = f"hub:device <{places.device(setup.device)}> ; hub:runtime {literal(setup.runtime)}"
    by = f"?{name}Result hub:executionProvider {literal(setup.provider)} ."
    if not setup.provider:
        by = f"FILTER NOT EXISTS {{ ?{name}Result hub:executionProvider ?{name}Other }}"
    return [
        f"  ?model dcat:hasCurrentVersion/hub:listedBenchmark ?{name}Result .",
        f"  ?{name}Result {ran} ;",
        f'    hub:resultStatus "{status}" ; hub:hasFigure ?{name}Figure .',
        f"  {by}",
        f"  ?{name}Figure dqv:isMeasurementOf <{places.metric('latency-p50')}> ;",
        f"    dqv:value ?{name} .",
    ]


def _latency(places: Places, query: Query) -> list[str]:
    """That an accepted result in the query's setup keeps its limit of latency."""
    limit = query[filters.MAX_LATENCY]
    if limit is None:
        return []
    if not query.device:  # nothing is measured
        return [list_patterns.NOTHING]
    return [
        "FILTER EXISTS {",
        "  ?model dcat:hasCurrentVersion ?version .",
        *_result(places, query, "limit", "accepted"),
        f"  FILTER(?limit <= {limit!r})",
        "}",
    ]


def _accuracies(places: Places, query: Query) -> list[str]:
    """That the figures keep their limits; the first limit's is ?accuracy1."""
    numbered = enumerate(query.accuracy, start=1)
    return [
        line for place, limit in numbered for line in _accuracy(places, limit, f"?accuracy{place}")
    ]


def _accuracy(places: Places, limit: Limit, best: str) -> list[str]:
    """That the best figure of the main variant that a limit is about keeps it.

    Evaluations of other variants belong to these, and what publishers claim to publishers.
    """
    terms = [
        f"dqv:isMeasurementOf <{places.metric(limit.metric)}>",
        f"prov:wasAttributedTo <{places.worker}>",
        *([f"fair4ml:evaluationDataset <{places.dataset(limit.dataset)}>"] * bool(limit.dataset)),
        *([f'dcat:version "{limit.version}"'] * bool(limit.version)),
        *([f"hub:split {literal(limit.split)}"] * bool(limit.split)),
        "dqv:value ?figure",
    ]
    function, sign = ("MIN", "<=") if limit.is_maximum else ("MAX", ">=")
    bound = quads.decimal(limit.value).partition("^")[0].strip('"')
    return [
        f"{{ SELECT ?version ({function}(?figure) AS {best}) WHERE {{",
        "  ?version fair4ml:hasEvaluation ?evaluation .",
        f"  ?evaluation {' ; '.join(terms)} .",
        "} GROUP BY ?version }",
        f"FILTER({best} {sign} {bound})",
    ]


def _conditions(places: Places, query: Query) -> tuple[list[str], list[str]]:
    """The lines of the pattern that narrow the list, and notes on what they cannot say."""
    lines, notes = [], []
    if query.text:
        notes.append(
            f"The words {query.text!r} need the full-text index, which the graphs do not have. "
            "The query ignores them and does not sort by relevance."
        )
    if query.sort == sorts.DOWNLOADS.name:
        notes.append("Downloads are not in the graphs. The query sorts by date instead.")
    is_limited = query[filters.MAX_LATENCY] is not None
    if query.predicted and (is_limited or query.sort == sorts.FASTEST.name):
        notes.append("Predictions are not in the graphs. The query lists only what was measured.")
    if query.tags:
        notes.append("Tags are not in the graphs. The query ignores them.")
    for group, write in list_patterns.WRITERS.items():
        if values := query[filters.CHOICES[group]]:
            lines += write(places, values)
    lines += [*_bounds(query), *_latency(places, query), *_accuracies(places, query)]
    lines += [*_loss(places, query), *_days(query)]
    if text := query[filters.CONTAINS]:
        lines.append(
            "FILTER EXISTS { ?version dcterms:title|it6:shortDescription ?said . "
            f"FILTER(CONTAINS(LCASE(STR(?said)), {literal(text.lower())})) }}"
        )
    if "other" in (value.lower() for value in query[filters.LICENCE]):
        notes.append(
            "Models with licence other and a licence_name use that name in the graphs. The query "
            "finds only those without one."
        )
    if "unknown" in query[filters.PERSONAL_DATA]:
        notes.append(
            "The graphs do not state that something is unknown. The query ignores that value."
        )
    return lines, notes


def _bounds(query: Query) -> list[str]:
    """What is asked for exactly or at most: opset, size of the files, parameters, costs."""
    lines = []
    for name, value in query.values:
        bound = filters.BOUNDS.get(name)
        if bound is None or bound.attribute is None:
            continue
        is_bound = sorts.SORTS[query.sort].attribute is bound.attribute
        sign = "=" if bound.is_exact else "<="
        limit = f"FILTER({bound.attribute.variable} {sign} {value})"
        lines.append(limit if is_bound else f"{bound.attribute.pattern} {limit}")
    return lines


def _merged(places: Places, query: Query, spellings: Mapping[str, Iterable[str]]) -> list[str]:
    """Notes on values that the list tells apart and the graphs do not."""
    notes = []
    for choice, iri in ((filters.LICENCE, places.licence), (filters.TASK, places.task)):
        is_licence, noun = choice is filters.LICENCE, choice.title.lower()
        values = {value.lower() if is_licence else value for value in query[choice]}
        iris = {iri(value) for value in values}
        others = sorted(
            value
            for value in spellings.get(choice.name, ())
            if value not in values and iri(value) in iris
        )
        if others:
            notes.append(f"The graphs use one {noun} for this and {', '.join(others)}.")
    return notes


def _days(query: Query) -> list[str]:
    """That the newest version was published between two days."""
    lines = []
    for day in filters.DAYS.values():
        if text := query[day]:
            moment = quads.moment(day.bound(text))
            sign = "<" if day.is_end else ">="
            lines.append(f"?version dcterms:issued ?at . FILTER(?at {sign} {moment})")
    return lines


def _loss(places: Places, query: Query) -> list[str]:
    """That the variant that loses the least accuracy against its source keeps a limit."""
    limit = query[filters.MAX_ACCURACY_LOSS]
    if limit is None:
        return []
    about = (
        f"dqv:isMeasurementOf <{places.metric('accuracy')}> ; fair4ml:evaluationDataset ?data ; "
        "dcat:version ?number ; hub:split ?split"
    )
    return [
        "{ SELECT ?version (MIN(?most) AS ?loss) WHERE {",
        "  { SELECT ?version ?derived (MAX(100 * (?before - ?after)) AS ?most) WHERE {",
        "    ?version hub:hasVariant ?derived . ?derived prov:wasDerivedFrom ?source .",
        f"    ?old hub:variant ?source ; {about} ; dqv:value ?before .",
        f"    ?new hub:variant ?derived ; {about} ; dqv:value ?after .",
        "  } GROUP BY ?version ?derived }",
        "} GROUP BY ?version }",
        f"FILTER(?loss <= {limit!r})",
    ]
