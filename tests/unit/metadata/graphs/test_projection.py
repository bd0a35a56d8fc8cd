"""The graph of a version says what its facts say, in terms that two parsers read alike."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pyoxigraph
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import DCTERMS, PROV, RDF, Literal, URIRef

from hub.protocol.facts import Facts
from hub.protocol.vocabularies import TASKS_OF
from metadata.graphs import facts, projection, references
from metadata.rdf import iris, quads, terms
from metadata.store import negotiation
from registry.models import Variant
from runners.engine.reports import FileCheck, Verdict
from runners.models import ConformanceResult, Job

HOME = "https://hub.example"
VERSION = URIRef(f"{HOME}/models/lab/net/v/3")
HUB = rdflib.Namespace(f"{HOME}/ns#")
DCAT = rdflib.Namespace(terms.DCAT)
EARL = rdflib.Namespace(terms.EARL)
IT6 = rdflib.Namespace(terms.IT6)
FAIR4ML = rdflib.Namespace(terms.FAIR4ML)
SPDX = rdflib.Namespace(terms.SPDX)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
DIGEST = "ab" * 32
NQUADS = pyoxigraph.RdfFormat.N_QUADS
ONNX = {
    "opsets": {"ai.onnx": 17, "my.ops": 1},
    "operators": [
        {"domain": "ai.onnx", "name": "Gemm", "count": 1},
        {"domain": "ai.onnx.ml", "name": "Scaler", "count": 1},
        {"domain": "my.ops", "name": "Odd Op", "count": 1},
    ],
    "inputs": [
        {
            "name": "x:0",
            "type": "tensor",
            "dtype": "float32",
            "shape": ["batch", 3, None],
            "denotation": "IMAGE",
        }
    ],
    "outputs": [{"name": "y", "type": "tensor", "dtype": "int64", "shape": None}],
    "metadata": {"image.bitmappixelformat": "BGR8", "Image.ColorSpaceGamma": "purple"},
    "precision_profile": {"bytes_by_dtype": {"float32": 1000, "int64": 2}, "forms": ["qdq"]},
    "producer": {"name": "pytorch", "version": "2.13"},
}
MAIN = facts.VariantFacts("default", "model.onnx", "uploaded", 17, 8, "fp32", 12, Facts.read(ONNX))
SMALL = facts.VariantFacts(
    "int8",
    "model.int8.onnx",
    "converted",
    17,
    8,
    "int8",
    12,
    source="default",
    derivation={"task": "convert", "recipe": "int8"},
    job=Job(pk="5f1c", kind="convert", started_at=AT, finished_at=AT),
)
KNOWN = facts.VersionFacts(
    namespace="lab",
    name="net",
    number=3,
    state="published",
    uploader="ada",
    created_at=AT,
    published_at=AT,
    previous=1,
    summary="Tells digits apart.",
    licenses=("apache-2.0",),
    task="image-classification",
    keywords=("digits",),
    files=(
        facts.FileFacts("model.onnx", DIGEST, 42),
        facts.FileFacts("odd dir/é#1?%.txt", DIGEST, 0),
        facts.FileFacts("model.int8.onnx", DIGEST, 20, derived=True),
    ),
    variants=(MAIN, SMALL),
    checks=(
        facts.CheckFacts(
            "onnx",
            "passed",
            (FileCheck("model.onnx", verdicts={"checker": Verdict("ok")}),),
            AT,
        ),
    ),
    results=(
        ConformanceResult(
            pk=7,
            variant=Variant(name="default"),
            runtime="onnxruntime",
            runtime_version="1.31",
            check_kind="bundled",
            outcome="failed",
            blames="runtime",
            reason="Off.",
            at=AT,
        ),
        ConformanceResult(
            pk=8,
            variant=Variant(name="int8"),
            runtime="openvino",
            runtime_version="2026",
            check_kind="reference",
            outcome="cantTell",
            at=AT,
        ),
    ),
)
CARD = {
    "language": ["en", "not a code!"],
    "datasets": ["mnist", "https://data.example/d 1"],
    "personal_data": "unknown",
    "base_model": ["zoo/base@2", "google/bert", "https://elsewhere.example/m"],
    "base_model_relation": "finetune",
    "co2_eq_emissions": {"emissions": 420, "source": "a meter"},
    "intended_use": "Digits only.",
    "model-index": [
        {
            "results": [
                {
                    "dataset": {"name": "MNIST", "type": "mnist"},
                    "metrics": [
                        {"type": "accuracy", "value": 97.5},
                        {"type": "loss", "value": "nan"},
                        {"type": "wer", "value": 12.5},
                    ],
                }
            ]
        }
    ],
}


def read(nquads: str) -> rdflib.Graph:
    """The triples of a graph by rdflib, after making sure that both parsers find the same."""
    strict = list(pyoxigraph.parse(nquads.encode(), format=NQUADS))
    graphs = {str(quad.graph_name) for quad in strict}
    assert len(graphs) == 1
    ending = f" {graphs.pop()} ."
    lines = nquads.split("\n")[:-1]
    assert all(line.endswith(ending) for line in lines)
    graph = rdflib.Graph()
    graph.parse(data="\n".join(line.removesuffix(ending) + " ." for line in lines), format="nt")
    assert len(graph) == len(lines) == len(strict)
    for quad in strict:
        assert not isinstance(quad.subject, pyoxigraph.BlankNode)
        assert not isinstance(quad.object, pyoxigraph.BlankNode)
    return graph


def told(**changed) -> rdflib.Graph:
    return read(projection.version_graph(replace(KNOWN, **changed), HOME))


def test_a_version_is_described():
    graph = told()
    assert (VERSION, RDF.type, IT6.MachineLearningModel) in graph
    assert (VERSION, RDF.type, FAIR4ML.MLModel) in graph
    assert (VERSION, DCTERMS.identifier, Literal("lab/net@3")) in graph
    assert (VERSION, DCTERMS.license, URIRef(terms.LICENCE + "Apache-2.0")) in graph
    assert (VERSION, FAIR4ML.mlTask, URIRef(f"{HOME}/tasks/image-classification")) in graph
    assert (VERSION, DCAT.keyword, Literal("digits", lang="und")) in graph
    assert (VERSION, DCAT.previousVersion, URIRef(f"{HOME}/models/lab/net/v/1")) in graph
    assert graph.value(VERSION, DCTERMS.created).toPython() == AT
    assert graph.value(VERSION, DCTERMS.publisher) == URIRef(f"{HOME}/agents/lab")
    assert graph.value(VERSION, FAIR4ML.sharedBy) == URIRef(f"{HOME}/agents/ada")


def test_every_subject_is_the_version_or_a_part_of_it():
    for subject in told(card=CARD).subjects():
        assert str(subject) == str(VERSION) or str(subject).startswith(
            (f"{VERSION}#", f"{VERSION}/files/")
        )


def test_files_have_digests_and_odd_names_stay_addresses():
    graph = told()
    odd = URIRef(f"{VERSION}/files/odd%20dir/%C3%A9%231%3F%25.txt")
    assert (VERSION, DCAT.distribution, odd) in graph
    assert (VERSION, DCAT.distribution, URIRef(f"{VERSION}/files/model.int8.onnx")) not in graph
    assert graph.value(odd, DCTERMS.title) == Literal("odd dir/é#1?%.txt")
    checksum = graph.value(odd, SPDX.checksum)
    assert str(graph.value(checksum, SPDX.checksumValue)) == DIGEST
    assert graph.value(checksum, SPDX.algorithm) == SPDX.checksumAlgorithm_sha256
    model = URIRef(f"{VERSION}/files/model.onnx")
    assert graph.value(model, DCAT.byteSize).toPython() == 42


def test_onnx_facts_are_the_versions_and_its_main_variants():
    graph = told()
    main = URIRef(f"{VERSION}#variant-default")
    for subject in (VERSION, main):
        assert graph.value(subject, HUB.opsetVersion).toPython() == 17
        assert graph.value(subject, HUB.irVersion).toPython() == 8
        assert set(graph.objects(subject, HUB.usesOperator)) == {
            URIRef("https://onnx.ai/onnx/operators/onnx__Gemm.html"),
            URIRef("https://onnx.ai/onnx/operators/onnx_aionnxml_Scaler.html"),
            URIRef(f"{HOME}/ops/my.ops/Odd%20Op"),
        }
    assert list(graph.objects(VERSION, HUB.weightDataType)) == [HUB["dt-float32"]]
    assert graph.value(VERSION, HUB.mixedPrecision).toPython() is False
    assert graph.value(VERSION, HUB.bitmapPixelFormat) == Literal("Bgr8")
    assert graph.value(VERSION, HUB.colorSpaceGamma) is None
    port = graph.value(VERSION, HUB.hasInput)
    assert port == URIRef(f"{VERSION}#in-default/x%3A0")
    assert graph.value(port, HUB.shape) == Literal('["batch",3,null]')
    assert graph.value(port, HUB.elementType) == HUB["dt-float32"]
    assert graph.value(graph.value(VERSION, HUB.hasOutput), HUB.shape) is None
    domains = {
        (str(graph.value(node, HUB.opsetDomain)), graph.value(node, HUB.opsetVersion).toPython())
        for node in graph.objects(VERSION, HUB.opsetImport)
    }
    assert domains == {("ai.onnx", 17), ("my.ops", 1)}


def test_a_derived_variant_names_its_source_and_the_job():
    graph = told()
    small = URIRef(f"{VERSION}#variant-int8")
    assert graph.value(small, PROV.wasDerivedFrom) == URIRef(f"{VERSION}#variant-default")
    made = graph.value(small, PROV.wasGeneratedBy)
    assert (made, RDF.type, HUB.Conversion) in graph
    assert graph.value(made, PROV.wasAssociatedWith) == URIRef(f"{HOME}/agents/worker")
    assert graph.value(made, PROV.endedAtTime).toPython() == AT
    assert graph.value(made, rdflib.RDFS.seeAlso) == URIRef(f"{HOME}/jobs/5f1c")


def test_verdicts_are_assertions_of_the_hub_and_untested_is_said():
    graph = told()

    def outcome(fragment):
        node = URIRef(f"{VERSION}#{fragment}")
        assert graph.value(node, EARL.assertedBy) == URIRef(f"{HOME}/agents/worker")
        return graph.value(graph.value(node, EARL.result), EARL.outcome)

    assert outcome("conf-onnx") == EARL.passed
    assert outcome("conf-onnx-checker/model.onnx") == EARL.passed
    assert outcome("conf-onnx-load/model.onnx") == EARL.untested
    assert outcome("conf-7") == EARL.failed
    assert outcome("conf-8") == EARL.cantTell
    failed = URIRef(f"{VERSION}#conf-7")
    assert graph.value(failed, EARL.subject) == VERSION
    assert graph.value(failed, EARL.test) == URIRef(f"{HOME}/tests/onnxruntime/bundled")
    assert graph.value(URIRef(f"{VERSION}#conf-8"), EARL.subject) == URIRef(
        f"{VERSION}#variant-int8"
    )


def test_what_a_card_declares_is_its_publishers_word():
    based = facts.BaseFacts("zoo/base@2", "zoo", "base", 2, has_number=True)
    graph = told(card=CARD, bases=(based,))
    english = URIRef("http://publications.europa.eu/resource/authority/language/ENG")
    assert set(graph.objects(VERSION, DCTERMS.language)) == {english}
    assert str(graph.value(VERSION, HUB.trainingCO2eKg)) == "0.42"
    assert set(graph.objects(VERSION, PROV.wasDerivedFrom)) == {
        URIRef(f"{HOME}/models/zoo/base/v/2"),
        URIRef("https://elsewhere.example/m"),
        URIRef("https://huggingface.co/google/bert"),
    }
    assert graph.value(VERSION, URIRef(terms.DC + "source")) == Literal("google/bert")
    assert (graph.value(VERSION, PROV.wasGeneratedBy), RDF.type, HUB.Finetuning) in graph
    values = {}
    for node in graph.objects(VERSION, FAIR4ML.hasEvaluation):
        assert graph.value(node, PROV.wasAttributedTo) == URIRef(f"{HOME}/agents/lab")
        data = graph.value(node, FAIR4ML.evaluationDataset)
        assert data == URIRef(f"{VERSION}#data-mnist")
        assert (VERSION, FAIR4ML.trainedOn, data) in graph
        metric = str(graph.value(node, URIRef(terms.DQV + "isMeasurementOf")))
        values[metric] = float(graph.value(node, URIRef(terms.DQV + "value")))
    assert values == {f"{HOME}/metrics/accuracy": 0.975, f"{HOME}/metrics/wer": 0.125}


@pytest.mark.parametrize(
    ("said", "term", "kind"),
    [
        ("yes", "hasPersonalData", "PersonalData"),
        (True, "hasPersonalData", "PersonalData"),
        ("no", "hasData", "NonPersonalData"),
        ({"status": "anonymised"}, "hasData", "AnonymisedData"),
    ],
)
def test_personal_data_of_training_data(said, term, kind):
    graph = told(card={"training_data": [{"name": "d", "personal_data": said}]})
    data = graph.value(VERSION, FAIR4ML.trainedOn)
    assert (data, URIRef(terms.DPV + term), URIRef(terms.DPV + kind)) in graph


def test_unknown_personal_data_is_neither_yes_nor_no():
    graph = told(card=CARD)
    data = list(graph.objects(VERSION, FAIR4ML.trainedOn))
    assert {str(node).removeprefix(f"{VERSION}#") for node in data} == {
        "data-mnist",
        "data-https%3A%2F%2Fdata.example%2Fd%201",
    }
    assert not [p for node in data for p in graph.predicates(node) if str(p).startswith(terms.DPV)]
    same = {graph.value(node, PROV.specializationOf) for node in data}
    assert same == {None, URIRef("https://data.example/d%201")}


def test_a_lacking_licence_is_said_and_an_unknown_one_is_the_hubs_own():
    assert told(licenses=()).value(VERSION, DCTERMS.license) == HUB.NoLicenceGiven
    other = told(licenses=("My Licence/2",)).value(VERSION, DCTERMS.license)
    assert other == URIRef(f"{HOME}/licences/my%20licence%2F2")


def test_nobody_is_taken_for_the_hubs_own_software():
    graph = told(namespace="Worker", uploader="worker")
    agents = {str(found) for found in graph.objects() if "/agents/users/" in str(found)}
    assert agents == {f"{HOME}/agents/users/Worker", f"{HOME}/agents/users/worker"}
    hub = iris.Places(HOME).worker
    version = URIRef(f"{HOME}/models/Worker/net/v/3")
    assert graph.value(version, PROV.wasAttributedTo) != URIRef(hub)


def test_a_yanked_version_is_deprecated_with_its_reason():
    graph = told(state="yanked", reason="Wrong labels.")
    assert graph.value(VERSION, rdflib.OWL.deprecated).toPython() is True
    assert graph.value(VERSION, rdflib.SKOS.changeNote) == Literal("Wrong labels.", lang="und")


def test_a_deprecation_names_its_successor():
    message = Literal("Old.", lang="und")
    for number, place in ((None, "models/lab/better"), (4, "models/lab/better/v/4")):
        deprecation = facts.DeprecationFacts("Old.", ("lab", "better"), number)
        graph = told(deprecation=deprecation)
        assert graph.value(VERSION, rdflib.OWL.deprecated).toPython() is True
        assert graph.value(VERSION, rdflib.SKOS.changeNote) == message
        assert graph.value(VERSION, DCTERMS.isReplacedBy) == URIRef(f"{HOME}/{place}")
    graph = told(deprecation=facts.DeprecationFacts("Old."))
    assert not list(graph.objects(VERSION, DCTERMS.isReplacedBy))


def test_the_same_facts_give_the_same_sorted_bytes():
    first = projection.version_graph(replace(KNOWN, card=CARD), HOME)
    turned = replace(
        KNOWN,
        card=dict(reversed(CARD.items())),
        files=KNOWN.files[::-1],
        results=KNOWN.results[::-1],
    )
    assert projection.version_graph(turned, HOME) == first
    assert first.splitlines() == sorted(set(first.splitlines()))


@settings(deadline=None, max_examples=60)
@given(st.text(), st.text(min_size=1))
def test_whatever_strangers_write_stays_inside_its_term(words, name):
    known = replace(
        KNOWN,
        body=words,
        licenses=(name,),
        keywords=(words, name),
        files=(facts.FileFacts(name, DIGEST, 1),),
        card={"base_model": [name], "datasets": [words, f"https://{name}"], "bias": words},
    )
    text = projection.version_graph(known, HOME)
    graph = read(text)
    for subject in graph.subjects():
        assert str(subject).startswith(str(VERSION))
    told = {str(quad.triple) for quad in pyoxigraph.parse(text.encode(), format=NQUADS)}
    for ending, form in negotiation.FORMATS.items():
        written = negotiation.write(text, ending)
        assert {str(quad.triple) for quad in pyoxigraph.parse(written, format=form.writer)} == told


@pytest.mark.parametrize(
    ("shape", "field"),
    [(shape, field) for shape in (None, 3, "x", [1], {"a": [2]}, [[None]]) for field in CARD],
)
def test_a_card_of_any_shape_is_no_error(shape, field):
    read(projection.version_graph(replace(KNOWN, card={field: shape}), HOME))


@pytest.mark.parametrize("shape", [None, 3, "x", [1, {}], {"a": 2}, [[None]]])
def test_facts_of_any_shape_are_no_error(shape):
    broken = replace(MAIN, facts=Facts.read(dict.fromkeys(ONNX, shape)))
    read(projection.version_graph(replace(KNOWN, variants=(broken,)), HOME))


@pytest.mark.parametrize(
    ("written", "iri"),
    [
        ("https://a.example/x y<>", "https://a.example/x%20y%3C%3E"),
        ("https://a.example/100%", "https://a.example/100%25"),
        ("https://a.example/é?q=[1]#f#g", "https://a.example/%C3%A9?q=%5B1%5D#f%23g"),
        ("https://user:secret@a.example/", ""),
        ("javascript:alert(1)", ""),
        ("https://[::1", ""),
        ("mnist", ""),
    ],
)
def test_addresses_that_strangers_wrote(written, iri):
    assert quads.foreign(written) == iri


@pytest.mark.parametrize(
    ("value", "term"),
    [("0.10", "0.1"), (5, "5.0"), (1e-7, "0.0000001"), ("-0", "0.0"), ("100", "100.0")],
)
def test_decimals_have_one_form(value, term):
    assert quads.decimal(quads.number(value)) == quads.typed(term, "decimal")


@pytest.mark.parametrize("value", [True, None, "inf", "nan", "1e999999", [1], "one"])
def test_what_is_no_number_is_left_out(value):
    assert quads.number(value) is None


def test_a_models_graph_names_its_versions_and_the_newest():
    known = facts.ModelFacts(
        facts.AgentFacts("lab", organisation=True, title="The lab"),
        "net",
        AT,
        AT,
        versions=(1, 3),
        newest=3,
    )
    graph = read(projection.model_graph(known, HOME))
    model = URIRef(f"{HOME}/models/lab/net")
    assert (URIRef(f"{HOME}/catalog"), DCAT.resource, model) in graph
    assert graph.value(model, DCAT.hasCurrentVersion) == VERSION
    assert len(list(graph.objects(model, DCAT.hasVersion))) == 2
    assert graph.value(model, DCTERMS.license) == HUB.NoLicenceGiven
    lab = URIRef(f"{HOME}/agents/lab")
    assert not list(graph.triples((lab, None, None)))
    agent = references.Entity("agents", "lab")
    assert agent in references.named_in(projection.model_graph(known, HOME), HOME)
    graph = read(projection.entity_graph(agent, known.namespace, HOME))
    assert (lab, RDF.type, PROV.Organization) in graph
    assert not projection.entity_graph(agent, None, HOME)


def test_the_catalogue_knows_domains_of_tasks():
    graph = read(projection.catalogue_graph(HOME))
    nlp = URIRef(f"{HOME}/tasks/nlp")
    assert (URIRef(f"{HOME}/tasks/summarization"), rdflib.SKOS.broader, nlp) in graph
    assert set(TASKS_OF) >= {"nlp", "cv", "audio", "tabular"}


def test_declared_inputs_are_told_of_their_ports():
    card = {
        "inputs": {
            "x:0": {
                "example": "a.png",
                "image": {
                    "channels": "BGR", "scale": "0-1", "mean": [0.5, 0.25, 0], "std": 0.5,
                    "polarity": "light-on-dark", "layout": "CHW",
                    "resize": {"mode": "letterbox", "width": 8, "pad": 114},
                },
            },
            "other": {"range": [0, 1]},
            "wrong": {"range": [1, 0]},
        }
    }  # fmt: skip
    graph = told(card=card)
    assert not list(graph.subjects(HUB.exampleFile))  # no such file
    graph = told(card=card, files=(facts.FileFacts("a.png", DIGEST, 1),))
    (port,) = graph.subjects(HUB.channelOrder, unique=True)
    assert (VERSION, HUB.hasInput, port) in graph
    said = {
        str(term).removeprefix(str(HUB)): str(value)
        for term, value in graph.predicate_objects(port)
    }
    expected = {
        "channelOrder": "BGR", "pixelScale": "0-1", "channelMean": "[0.5, 0.25, 0.0]",
        "channelDeviation": "[0.5, 0.5, 0.5]", "polarity": "light-on-dark", "tensorLayout": "CHW",
        "resizeMode": "letterbox", "resizeWidth": "8", "paddingLevel": "114",
        "lowestValue": "-1.0", "highestValue": "2.0", "exampleFile": "a.png", "portName": "x:0",
    }  # fmt: skip
    assert expected.items() <= said.items()
    assert list(graph.subjects(HUB.lowestValue)) == [port]
