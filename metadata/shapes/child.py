"""Validates one graph with pySHACL, in a process of its own: rdflib and pySHACL are only here.

Nothing is inferred, imported or run: advanced features, SHACL-JS and owl:imports are off, and the
shapes are the hub's or its operator's, never an uploader's.
"""

from __future__ import annotations

from typing import Any

import pyshacl
import rdflib
from rdflib.namespace import RDF, SH

# More of them say nothing new.
MOST_FINDINGS = 5000
_LONGEST = 500
_CARD_FIELD = "#cardField"


def read(turtle: str) -> rdflib.Graph:
    """A graph that is written in Turtle; raises what rdflib raises where it is none."""
    graph = rdflib.Graph()
    graph.parse(data=turtle, format="turtle")
    return graph


def judge(
    nquads: str, context: str, shapes: rdflib.Graph, vocabulary: rdflib.Graph
) -> dict[str, Any]:
    """What of a graph's own subjects does not conform to ``shapes``, in a fixed order.

    ``context`` and ``vocabulary`` describe things that the graph names: above all their classes.
    """
    data = rdflib.Graph()
    _add(data, nquads)
    own = set(data.subjects())
    _add(data, context)
    data += vocabulary
    _, report, _ = pyshacl.validate(
        data,
        shacl_graph=shapes,
        advanced=False,
        js=False,
        inference="none",
        inplace=True,
        do_owl_imports=False,
        meta_shacl=False,
        abort_on_first=False,
    )
    if not isinstance(report, rdflib.Graph):
        raise TypeError(f"no report: {report}")
    results = list(report.subjects(RDF.type, SH.ValidationResult))
    rows = [
        _result(report, node, shapes) for node in results if report.value(node, SH.focusNode) in own
    ]
    rows.sort(key=lambda row: [str(row[name]) for name in ("focus", "path", "component", "value")])
    return {"found": rows[:MOST_FINDINGS]}


def _add(graph: rdflib.Graph, nquads: str) -> None:
    """Add quads as triples: every line ends with the name of its graph, which holds no space."""
    lines = (line.rpartition(" <")[0] + " ." for line in nquads.split("\n") if line)
    graph.parse(data="\n".join(lines), format="nt")


def _result(report: rdflib.Graph, node: Any, shapes: rdflib.Graph) -> dict[str, Any]:
    shape = report.value(node, SH.sourceShape)
    # A report repeats what shapes without a name say, and only names the others.
    source = report if isinstance(shape, rdflib.BNode) else shapes
    # Of what a shape says, only its own message is for people; pySHACL's own repeats the shape.
    messages = list(source.objects(shape, SH.message))
    return {
        "focus": str(report.value(node, SH.focusNode)),
        "path": _path(report, report.value(node, SH.resultPath)),
        "component": _last(report.value(node, SH.sourceConstraintComponent)),
        "value": str(report.value(node, SH.value) or "")[:_LONGEST],
        "severity": _last(report.value(node, SH.resultSeverity)),
        "message": str(messages[0])[:_LONGEST] if messages else "",
        "field": next(
            (
                str(field)
                for predicate, field in source.predicate_objects(shape)
                if str(predicate).endswith(_CARD_FIELD)
            ),
            "",
        ),
        "wanted": {
            _last(predicate): str(value)[:_LONGEST]
            for predicate, value in source.predicate_objects(shape)
            if predicate in _CONSTRAINTS
        },
    }


_CONSTRAINTS = (SH.minCount, SH.maxCount, SH["class"], SH.datatype, SH.nodeKind, SH.pattern)


def _path(report: rdflib.Graph, path: Any) -> str:
    """A property, or the last of a sequence of them."""
    if isinstance(path, rdflib.BNode):
        path = list(report.items(path))[-1]
    return "" if path is None else str(path)


def _last(iri: Any) -> str:
    return str(iri or "").rpartition("#")[2]
