"""The W3C's query tests over HTTP: each test's data are named graphs of a running hub."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest
import rdflib
from rdflib import RDF, XSD, BNode, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.query import Result

from tests.integration import asking

MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
RS = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")
BASE = "http://suite.example/"
NOTHING = f"{BASE}nothing"
SHARE = 0.95
QUOTING = {",": csv.QUOTE_MINIMAL, "\t": csv.QUOTE_NONE}
FORMATS = {
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".n3": pyoxigraph.RdfFormat.TURTLE,
    ".nt": pyoxigraph.RdfFormat.N_TRIPLES,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
}
# What a query endpoint is not asked for: other semantics, other endpoints, updates.
LEFT_OUT = ("entailment", "service", "syntax-fed", "service-description", "protocol")


@pytest.fixture(scope="module")
def suite():
    """The folder of the W3C's SPARQL tests, as `scripts/test-services` fetches it."""
    folder = os.environ.get("HUB_TEST_SPARQL_SUITE")
    if not folder or not Path(folder, "sparql11").is_dir():
        pytest.skip("HUB_TEST_SPARQL_SUITE names no folder of the W3C's SPARQL tests")
    return Path(folder)


class Case:
    """One test of a manifest."""

    def __init__(self, manifest, node, folder, root):
        kind = str(manifest.value(node, RDF.type) or "").rpartition("#")[2]
        self.kind, self.root = kind, root
        self.name = f"{folder.name}/{manifest.value(node, MF.name)}"
        action = manifest.value(node, MF.action)

        def files(of, term):
            return [
                Path(str(found).removeprefix("file://")) for found in manifest.objects(of, term)
            ]

        queries = files(action, QT.query)
        self.query = queries[0] if queries else Path(str(action).removeprefix("file://"))
        self.default = files(action, QT.data)
        self.named = files(action, QT.graphData)
        results = files(node, MF.result)
        self.result = results[0] if results else None

    def iri(self, path):
        return BASE + str(path.relative_to(self.root))

    def text(self):
        return f"BASE <{self.iri(self.query)}>\n{self.query.read_text(encoding='utf-8')}"

    def ask(self, hub, accept):
        default = [self.iri(path) for path in self.default]
        named = [self.iri(path) for path in self.named]
        if not default and not named:
            default = [NOTHING]
        if "FROM" in self.text().split("{")[0]:
            default, named = (), ()
        return asking.post(hub, self.text(), accept, default=default, named=named)


def cases(root):
    """Every test of every manifest below a folder, but what no query endpoint is asked for."""
    found = []
    for path in sorted(root.glob("*/*/manifest.ttl")):
        folder = path.parent
        if folder.name in LEFT_OUT or not list(folder.glob("*.rq")):
            continue
        manifest = rdflib.Graph().parse(path, format="turtle", publicID=path.as_uri())
        head = next(manifest.subjects(RDF.type, MF.Manifest), None)
        entries = manifest.value(head, MF.entries) if head else None
        nodes = list(manifest.items(entries)) if entries else []
        found += [Case(manifest, node, folder, root) for node in nodes]
    return found


def data_of(found):
    """Every data file of these tests as named graphs."""
    graphs = {}
    for case in found:
        for path in (*case.default, *case.named):
            iri = case.iri(path)
            if iri in graphs or path.suffix not in FORMATS:
                continue
            triples = pyoxigraph.parse(path=path, format=FORMATS[path.suffix], base_iri=iri)
            graphs[iri] = "".join(f"{quad.triple} <{iri}> .\n" for quad in triples)
    graphs[f"{BASE}last"] = f"<{BASE}last> <{BASE}last> <{BASE}last> <{BASE}last> .\n"
    return graphs


def table(found):
    """Rows as a graph, so that blank nodes may have any name."""
    graph = rdflib.Graph()
    for row, times in Counter(found).items():
        node = BNode()
        graph.add((node, RS.times, Literal(times)))
        for name, value in row:
            graph.add((node, URIRef(f"urn:var:{name}"), value))
    return graph


def row_of(pairs):
    return tuple(sorted((str(name), plain(value)) for name, value in pairs if value is not None))


def plain(term):
    """A term by its value: a store may write 5 for 5.0, and a string has a type or none."""
    if not isinstance(term, Literal) or term.language:
        return term
    if term.datatype in (None, XSD.string):
        return Literal(str(term))
    if term.datatype in (XSD.integer, XSD.decimal, XSD.double, XSD.float):
        return Literal(repr(number(str(term))), datatype=term.datatype, normalize=False)
    return term


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def cells(text, separator):
    """The rows of a table of text, whatever the order of its columns, and numbers by value."""
    lines = csv.reader(io.StringIO(text), delimiter=separator, quoting=QUOTING[separator])
    head, *others = [line for line in lines if line]
    found = []
    for line in others:
        row = sorted(
            (name.lstrip("?"), cell(value)) for name, value in zip(head, line, strict=True)
        )
        found.append(tuple(row))
    return sorted(found)


def cell(text):
    text = text.removesuffix(f"^^<{XSD.string}>")
    return "_:" if text.startswith("_:") else repr(number(text))


def told(body):
    """The rows of a result in JSON."""
    return [
        row_of((name, term_of(term)) for name, term in binding.items())
        for binding in json.loads(body)["results"]["bindings"]
    ]


def term_of(term):
    if term["type"] == "uri":
        return URIRef(term["value"])
    if term["type"] == "bnode":
        return BNode(term["value"])
    return Literal(
        term["value"], lang=term.get("xml:lang"), datatype=term.get("datatype"), normalize=False
    )


def expected(case):
    """The rows, the truth or the graph that a test wants."""
    path = case.result
    kinds = {".srx": "xml", ".srj": "json"}
    if path.suffix in kinds:
        with path.open("rb") as source:
            result = Result.parse(source, format=kinds[path.suffix])
        if result.type == "ASK":
            return result.askAnswer
        return [row_of(row.asdict().items()) for row in result]
    graph = rdflib.Graph().parse(
        path, format="xml" if path.suffix == ".rdf" else "turtle", publicID=case.iri(path)
    )
    head = next(graph.subjects(RDF.type, RS.ResultSet), None)
    if head is None:
        return graph
    answer = graph.value(head, RS.boolean)
    if answer is not None:
        return bool(answer.toPython())
    return [
        row_of(
            (graph.value(pair, RS.variable), graph.value(pair, RS.value))
            for pair in graph.objects(solution, RS.binding)
        )
        for solution in graph.objects(head, RS.solution)
    ]


def passes(case, hub):  # noqa: PLR0911 - one way to compare for each kind of result
    """Whether a test passes; whatever cannot be read does not."""
    if "Syntax" in case.kind:
        wanted = 400 if case.kind.startswith("Negative") else 200
        return case.ask(hub, "*/*")[0] == wanted
    if case.result.suffix in (".csv", ".tsv"):
        kinds = {".csv": "text/csv", ".tsv": "text/tab-separated-values"}
        status, _, body = case.ask(hub, kinds[case.result.suffix])
        separator = {".csv": ",", ".tsv": "\t"}[case.result.suffix]
        wanted = cells(case.result.read_text(), separator)
        return status == 200 and cells(body.decode(), separator) == wanted
    wanted = expected(case)
    if isinstance(wanted, rdflib.Graph):
        status, _, body = case.ask(hub, "application/n-triples")
        return status == 200 and isomorphic(rdflib.Graph().parse(body, format="nt"), wanted)
    status, _, body = case.ask(hub, asking.JSON)
    if status != 200:
        return False
    if isinstance(wanted, bool):
        return json.loads(body).get("boolean") is wanted
    if Counter(told(body)) == Counter(wanted):
        return True
    return isomorphic(table(told(body)), table(wanted))


def test_the_query_tests_of_the_w3c(suite, tmp_path_factory):
    root, part = suite, "sparql11"
    found = [
        case
        for case in cases(root)
        if case.query.is_relative_to(root / part)
        and case.query.suffix == ".rq"
        and (case.result is not None or "Syntax" in case.kind)
        and "Update" not in case.kind
    ]
    assert len(found) > 100
    folder = tmp_path_factory.mktemp("suite")
    hub = asking.hub_at(folder)
    try:
        asking.put_graphs(hub, data_of(found), folder)
        failed = []
        for case in found:
            try:
                good = passes(case, hub)
            except Exception as error:  # noqa: BLE001 - one unreadable test is one that fails
                good = False
                case.name += f" ({type(error).__name__}: {error})"[:200]
            if not good:
                failed.append(case.name)
    finally:
        hub.stop()
    print(f"{part}: {len(found) - len(failed)} of {len(found)}; failed: {failed}")  # noqa: T201
    assert len(failed) <= (1 - SHARE) * len(found), failed
