"""What the hub's shapes refuse, what MLDCAT-AP's report, and the vocabulary that graphs use."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import rdflib
from rdflib import DCTERMS, OWL, RDF, RDFS, SKOS

from hub.protocol.vocabularies import SHARES
from metadata.graphs import projection
from metadata.rdf import iris, terms, vocabulary
from metadata.rdf.vocabulary import Shapes, ShapesUnavailableError
from metadata.validation import messages
from runners.engine.onnx_files.vocabulary import DATA_TYPES
from tests.unit.metadata import shaping
from tests.unit.metadata.graphs.test_projection import CARD, HOME, KNOWN

V = f"{HOME}/models/lab/net/v/3"
CONTEXT = projection.catalogue_graph(HOME)


@pytest.fixture(autouse=True)
def _home(settings):
    settings.HUB_PUBLIC_URL = HOME
    settings.HUB_MLDCAT_SHAPES = ""


def graph(**changed):
    return projection.version_graph(replace(KNOWN, **{"card": CARD, **changed}), HOME)


def found(nquads, against="hub"):
    return shaping.validate(nquads, against=against, context=CONTEXT)


def results(*metrics, dataset="mnist"):
    said = {"metrics": list(metrics)}
    if dataset:
        said["dataset"] = {"type": dataset}
    return {"model-index": [{"results": [said]}]}


def test_a_graph_that_the_hub_makes_keeps_its_rules():
    assert found(graph()) == []
    assert found(graph(licenses=(), task="", keywords=(), summary="", body="", card={})) == []


def test_a_copy_breaks_no_rule_by_telling_its_source():
    told = {"url": "https://hub.example/zoo/net", "commit": "1a", "date": "2026-10-01T12:00:00Z"}
    copy = graph(card=CARD | {"mirrored_from": told})
    assert found(copy) == []
    assert found(copy, "mldcat-ap") == found(graph(), "mldcat-ap")


BREAKING = [
    (rf"<{V}> <{DCTERMS.title}> .*\n", "", "exactly one title"),
    (rf"(<{V}> <{DCTERMS.description}> ).*( <.*\n)", r'\1"a"@und\2\1"b"@und\2', "one description"),
    (rf"<{V}> <{DCTERMS.identifier}> .*\n", "", "has an identifier"),
    (rf"<{V}> <{terms.DCAT}version> .*\n", "", "exactly one number"),
    (rf"<{V}> <{DCTERMS.created}> .*\n", "", "exactly one date"),
    (rf"<{V}> <{DCTERMS.publisher}> .*\n", "", "exactly one publisher"),
    (rf"<{V}> <{DCTERMS.license}> .*\n", "", "Name a licence"),
    (rf"<{V}/files/model.onnx> <{terms.DCAT}byteSize> .*\n", "", "one size in bytes"),
    (rf"<{V}/files/model.onnx> <{terms.SPDX}checksum> .*\n", "", "has a SHA-256"),
    (r'#sha256-model.onnx>(.*)"(ab)+"\^\^', r'#sha256-model.onnx>\1"abab"^^', "64 hexadecimal"),
    (r'CO2eKg> "0\.42"\^\^', 'CO2eKg> "-0.42"^^', "from nought up"),
    (rf"<{V}#eval-1> <{terms.DQV}value> .*\n", "", "exactly one value"),
    (rf"<{V}#eval-3> <{terms.PROV}wasAttributedTo> .*\n", "", "whose word"),
    (
        rf"<{terms.EARL}outcome> <{terms.EARL}cantTell>",
        f"<{terms.EARL}outcome> <x:y>",
        "one outcome",
    ),
]


def test_what_a_graph_must_not_lack():
    """All of them at once, as each question to pySHACL takes its time."""
    broken = graph(card=CARD, body="Words.")
    for pattern, replacement, _ in BREAKING:
        changed = re.sub(pattern, replacement, broken)
        assert changed != broken, pattern
        broken = changed
    said = [one.message for one in found(broken)]
    for _, _, words in BREAKING:
        assert [words in message for message in said].count(True) == 1, (words, said)
    assert len(said) == len(BREAKING)


def test_a_version_has_files():
    [one] = found(re.sub(rf"<{V}> <{terms.IT6}hasFile> .*\n", "", graph()))
    assert one.message == "A version has at least one file."


@pytest.mark.parametrize(
    ("metric", "dataset", "place"),
    [
        ({"type": "accuracy", "value": 250}, "mnist", "model-index/0/results/0/metrics/0/value"),
        ({"type": "f1", "value": -0.1}, "mnist", "model-index/0/results/0/metrics/0/value"),
        ({"type": "wer", "value": 12}, "", "model-index/0/results/0/dataset"),
    ],
)
def test_a_result_is_told_of_its_place_in_the_card(metric, dataset, place):
    card = results(metric, dataset=dataset)
    [one] = found(graph(card=card))
    assert one.focus == f"{V}#eval-1"
    assert messages.pointer(card, one.field, one.focus) == place


def test_only_the_result_at_fault_is_named():
    card = results({"type": "loss", "value": -3}, "nonsense", {"type": "auc", "value": 101})
    [one] = found(graph(card=card))
    assert messages.pointer(card, one.field, one.focus) == "model-index/0/results/0/metrics/2/value"
    assert messages.sentence(one).startswith("This metric is a share")


def test_data_cannot_be_personal_and_not():
    rows = [{"name": "Faces", "personal_data": "yes"}, {"name": "Faces", "personal_data": "no"}]
    card = {"training_data": rows}
    [one] = found(graph(card=card))
    assert messages.pointer(card, one.field, one.focus) == "training_data/0/personal_data"


def test_a_result_of_a_benchmark_has_its_own_place():
    card = {"eval_results": [{"dataset": {"id": "x/y", "task_id": "auc"}, "value": 400}]}
    [one] = found(graph(card=card))
    assert messages.pointer(card, one.field, one.focus) == "eval_results/0/value"


def test_the_metrics_that_are_shares_are_those_of_the_projection():
    members = vocabulary.read("shapes").partition("sh:in ( metric")[2].partition(")")[0]
    known = iris.Places(HOME)
    here = {known.metric(name) for name in re.findall(r":([\w-]+)", members)}
    assert here == {known.metric(name) for name in SHARES}


def test_mldcat_ap_is_satisfied_by_a_model_that_says_everything():
    nquads = f"""\
<x:m> <{RDF.type}> <{terms.IT6}MachineLearningModel> <x:g> .
<x:m> <{DCTERMS.title}> "m" <x:g> .
<x:m> <{DCTERMS.identifier}> "m" <x:g> .
<x:m> <{terms.DCAT}version> "1" <x:g> .
<x:m> <{DCTERMS.created}> "2026-01-01" <x:g> .
<x:m> <{terms.IT6}trainedOn> <x:d> <x:g> .
<x:m> <{terms.IT6}hasFile> <x:f> <x:g> .
<x:d> <{RDF.type}> <{terms.DCAT}Dataset> <x:g> .
<x:d> <{DCTERMS.title}> "d" <x:g> .
<x:d> <{DCTERMS.description}> "d" <x:g> .
<x:d> <{terms.IT6}collectionDate> "2025" <x:g> .
<x:f> <{RDF.type}> <{terms.IT6}File> <x:g> .
<x:f> <{RDF.type}> <{terms.DCAT}Resource> <x:g> .
<x:f> <{DCTERMS.title}> "f" <x:g> .
<x:f> <{DCTERMS.identifier}> "f" <x:g> .
<x:f> <{terms.IT6}url> <x:f> <x:g> .
<x:f> <{DCTERMS.format}> <x:onnx> <x:g> .
"""
    context = f"<x:onnx> <{RDF.type}> <{SKOS.Concept}> <x:g> .\n"
    assert shaping.validate(nquads, against="mldcat-ap", context=context) == []
    without = nquads.replace(f"<x:m> <{terms.IT6}trainedOn> <x:d> <x:g> .\n", "")
    [one] = shaping.validate(without, against="mldcat-ap", context=context)
    assert messages.sentence(one) == "it6:trainedOn is missing: at least 1 is required."
    [one] = shaping.validate(nquads, against="mldcat-ap")
    assert messages.sentence(one) == (
        "dcterms:format is x:onnx, which is not declared as a skos:Concept."
    )


def test_the_operators_own_shapes_are_asked_and_named(settings, tmp_path):
    path = tmp_path / "official.ttl"
    settings.HUB_MLDCAT_SHAPES = str(path)
    with pytest.raises(ShapesUnavailableError, match="HUB_MLDCAT_SHAPES names"):
        vocabulary.shapes("mldcat-ap")
    path.write_text("# none\n")
    shapes = vocabulary.shapes("mldcat-ap")
    assert shapes == Shapes("the official MLDCAT-AP shapes", "# none\n", official=True)
    assert found(graph(), shapes) == []


def test_findings_are_of_the_graph_itself_and_not_of_what_it_names():
    nobody = f"<x:a> <{RDF.type}> <{terms.FOAF}Agent> <x:g> .\n"
    assert [one.path for one in shaping.validate(nobody, against="mldcat-ap")] == [
        f"{terms.FOAF}name"
    ]
    assert shaping.validate("", against="mldcat-ap", context=nobody) == []


def own_terms():
    own = rdflib.Graph()
    own.parse(data=vocabulary.read("terms"), format="turtle")
    return own


def test_every_term_that_a_graph_uses_is_in_the_vocabulary_and_no_other():
    base = f"{HOME}/ns#"
    own = own_terms()
    known = {str(term).removeprefix(base) for term in own.subjects(RDFS.label)}
    used = set(re.findall(rf"<{re.escape(base)}([^>]+)>", graph() + CONTEXT))
    assert used <= known, used - known
    types = {term for term in known if term.startswith(terms.DATA_TYPE)}
    assert known - types == terms.OWN | {"cardField", "dataTypes"}
    assert set(re.findall(r"hub:([\w-]+)", vocabulary.read("shapes"))) <= known


def test_every_term_says_what_it_is():
    own = own_terms()
    for term in set(own.subjects(RDFS.isDefinedBy)):
        assert own.value(term, RDF.type), term
        assert own.value(term, RDFS.label), term
        if own.value(term, RDF.type) in (OWL.Class, OWL.DatatypeProperty, OWL.ObjectProperty):
            assert own.value(term, RDFS.comment), term


def test_types_of_elements_are_those_of_onnx():
    own = own_terms()
    scheme = rdflib.URIRef(f"{HOME}/ns#dataTypes")
    types = {
        str(own.value(term, SKOS.notation)): str(own.value(term, SKOS.prefLabel))
        for term in own.subjects(SKOS.inScheme, scheme)
    }
    assert types == {str(number): name for number, (name, _) in DATA_TYPES.items()}
