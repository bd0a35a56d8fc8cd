"""Verdicts as EARL assertions: who tested what, when, and with which outcome.

What was not tested says so: `untested` and `cantTell` are outcomes, an absent verdict is not.
"""

from __future__ import annotations

from datetime import datetime

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE
from metadata.graphs.facts import CheckFacts
from metadata.rdf.graph import Graph
from metadata.rdf.iris import file_of, variant_of
from metadata.rdf.quads import link, moment, part, string, truth
from runners.engine.reports import Verdict
from runners.models import ConformanceResult

_EARL = frozenset({"passed", "failed", "cantTell", "inapplicable", "untested"})
# Outcome of a check, and verdict of one of its stages -> outcome of EARL.
_OUTCOMES = {
    "errored": "cantTell",
    "pending": "untested",
    "ok": "passed",
    "invalid": "failed",
    "refused": "failed",
    "crashed": "failed",
    "unsupported": "inapplicable",
    "timed out": "cantTell",
    "out of memory": "cantTell",
    "not run": "untested",
}
_STAGES = ("scan", "checker", "inference", "load")
_RUNTIMES = (REFERENCE, ONNXRUNTIME, OPENVINO)
_CHECKS = ("bundled", "reference", "optimisation", "determinism")
# Names of a test in its IRI, and those of the test that it is a part of.
TESTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("onnx",), ()),
    *(((stage,), ("onnx",)) for stage in _STAGES),
    *(((runtime,), ()) for runtime in _RUNTIMES),
    *(((runtime, check), (runtime,)) for runtime in _RUNTIMES for check in _CHECKS),
)


def describe_check(graph: Graph, version: str, of: CheckFacts) -> None:
    """Describe a check of a version, and each stage of it for each file."""
    node = f"{version}#conf-{part(of.kind)}"
    _describe(graph, node, version, graph.places.test(of.kind), of.outcome, of.at)
    for file in of.files:
        if file.verdicts is None:
            continue
        for stage in _STAGES:
            outcome = file.verdicts.get(stage, Verdict()).status
            here = f"{node}-{stage}/{part(file.path, '/')}"
            test = graph.places.test(stage)
            _describe(graph, here, file_of(version, file.path), test, outcome, of.at)


def describe_result(graph: Graph, version: str, subject: str, of: ConformanceResult) -> str:
    """Describe a conformance result of ``subject``; return the IRI of its assertion.

    The subject is the version for its main variant, else the variant.
    """
    node = f"{version}#conf-{of.pk}"
    test = graph.places.test(of.runtime, of.check_kind)
    result = _describe(graph, node, subject, test, of.outcome, of.at)
    graph.state(
        node,
        {
            "hub:variant": link(variant_of(version, of.variant.name)),
            "hub:runtime": string(of.runtime),
            "hub:runtimeVersion": string(of.runtime_version),
        },
    )
    graph.state(
        result,
        {
            "hub:blames": string(of.blames),
            "hub:graphPass": string(of.graph_pass),
            "hub:runs": "" if of.runs is None else truth(of.runs),
            "earl:info": string(of.reason, "en"),
        },
    )
    return node


def describe_test(
    graph: Graph, node: str, subject: str, title: str, word: str, at: datetime
) -> str:
    """Describe an assertion by a test that this graph alone names; return the IRI of the result."""
    test = f"{node}-test"
    graph.describe(test, "earl:TestCase", {"dcterms:title": string(title, "en")})
    return _describe(graph, node, subject, test, word, at)


def _describe(graph: Graph, node: str, subject: str, test: str, word: str, at: datetime) -> str:
    """Describe an assertion and its result; return the IRI of the result."""
    result = f"{node}-result"
    outcome = word if word in _EARL else _OUTCOMES.get(word.replace("-", " "), "cantTell")
    graph.describe(
        node,
        "earl:Assertion",
        {
            "earl:subject": link(subject),
            "earl:test": link(test),
            "earl:mode": graph.term("earl:automatic"),
            "earl:assertedBy": link(graph.places.worker),
            "earl:result": link(result),
        },
    )
    graph.describe(
        result,
        "earl:TestResult",
        {"earl:outcome": graph.term(f"earl:{outcome}"), "dcterms:date": moment(at)},
    )
    return result
