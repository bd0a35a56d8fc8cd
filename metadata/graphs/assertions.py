"""Verdicts as EARL assertions: who tested what, when, and how it ended.

What was not tested says so: `untested` and `cantTell` are outcomes, an absent verdict is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.protocol.stored import rows
from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE
from metadata.rdf import quads
from metadata.rdf.terms import DCTERMS, EARL

if TYPE_CHECKING:
    from datetime import datetime

    from metadata.graphs.facts import CheckFacts, ResultFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph

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


def tell_check(graph: Graph, places: Places, version: str, of: CheckFacts) -> None:
    """A gate of a version, and each stage of it for each file."""
    node = f"{version}#conf-{quads.part(of.kind)}"
    _assertion(graph, places, node, version, places.test(of.kind), of.outcome, of.at)
    for file in rows(of.report.get("files")):
        path = file.get("path")
        verdicts = file.get("verdicts")
        if not isinstance(path, str) or not isinstance(verdicts, dict):
            continue
        place = f"{version}/files/{quads.part(path, '/')}"
        for stage in _STAGES:
            found = verdicts.get(stage)
            word = str(found.get("verdict", "")) if isinstance(found, dict) else "not run"
            here = f"{version}#conf-{quads.part(of.kind)}-{stage}/{quads.part(path, '/')}"
            _assertion(graph, places, here, place, places.test(stage), word, of.at)


def tell_result(graph: Graph, places: Places, version: str, subject: str, of: ResultFacts) -> None:
    """A conformance result of ``subject``: the version for its main variant, else the variant."""
    node = f"{version}#conf-{of.key}"
    test = places.test(of.runtime, of.check)
    result = _assertion(graph, places, node, subject, test, of.outcome, of.at)
    variant = f"{version}#variant-{quads.part(of.variant)}"
    graph.add(node, places.term("variant"), quads.link(variant))
    graph.add(node, places.term("runtime"), quads.string(of.runtime))
    graph.add(node, places.term("runtimeVersion"), quads.string(of.runtime_version))
    graph.add(result, places.term("blames"), quads.string(of.blames))
    if of.runs is not None:
        graph.add(result, places.term("runs"), quads.truth(of.runs))
    graph.add(result, f"{EARL}info", quads.string(of.reason, "en"))


def _assertion(
    graph: Graph, places: Places, node: str, subject: str, test: str, word: str, at: datetime
) -> str:
    result = f"{node}-result"
    outcome = word if word in _EARL else _OUTCOMES.get(word.replace("-", " "), "cantTell")
    graph.type(node, f"{EARL}Assertion")
    graph.add(node, f"{EARL}subject", quads.link(subject))
    graph.add(node, f"{EARL}test", quads.link(test))
    graph.add(node, f"{EARL}mode", quads.link(f"{EARL}automatic"))
    graph.add(node, f"{EARL}assertedBy", quads.link(places.worker))
    graph.add(node, f"{EARL}result", quads.link(result))
    graph.type(result, f"{EARL}TestResult")
    graph.add(result, f"{EARL}outcome", quads.link(f"{EARL}{outcome}"))
    graph.add(result, f"{DCTERMS}date", quads.moment(at))
    return result
