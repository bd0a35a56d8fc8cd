"""What cards and files claim beside the plain fields, and what workers counted, as triples."""

from __future__ import annotations

from dataclasses import replace

import pytest
import rdflib
from rdflib import DC, DCTERMS, FOAF, PROV, RDF, RDFS, Literal, URIRef

from hub.protocol.facts import read_ports
from hub.protocol.vocabularies import METRICS
from metadata.graphs import facts, projection, references
from metadata.rdf import iris, languages, terms
from registry.models import Variant
from runners.models import ConformanceResult
from tests.unit.metadata.graphs.test_projection import (
    AT,
    CARD,
    HOME,
    HUB,
    IT6,
    KNOWN,
    MAIN,
    SMALL,
    VERSION,
    read,
    told,
)

DQV = rdflib.Namespace(terms.DQV)
MLS = rdflib.Namespace(terms.MLS)
DPV = rdflib.Namespace(terms.DPV)
PD = rdflib.Namespace(terms.PD)
QUDT = rdflib.Namespace(terms.QUDT)
FAIR4ML = rdflib.Namespace(terms.FAIR4ML)
MADE = URIRef(f"{VERSION}#generation")
RICH = {
    "creators": ["Ann Author (0000-0002-1825-0097)", {"name": "CERN", "ror": "01ggx4157"}, 7],
    "citation": "Author, A. (2020). https://doi.org/10.24432/C50P49.",
    "arxiv": "1907.11569",
    "hyperparameters": {
        "seed": 7,
        "optimizer": {"name": "AdamW", "lr": 0.002},
        "amp": True,
        "x": [1],
    },
    "hardware": "a CPU",
    "energy": {"kwh": 1.5, "location": "Portugal"},
    "co2_eq_emissions": {"emissions": 420, "training_type": "fine-tuning", "source": "a meter"},
    "risks": ["May be wrong.", {"title": "Bias", "description": "Few writers.", "severity": "low"}],
    "validated_on": ["stones"],
    "tested_on": [{"name": "pebbles", "iri": "https://data.example/pebbles"}],
    "eval_results": [
        {"dataset": {"id": "org/bench", "task_id": "hard"}, "value": 41.2, "date": "2026-09-10"},
        {"dataset": {"id": "org/bench"}, "metric": "accuracy", "value": 41.2},
    ],
}


MIRRORED = {
    "url": "https://hub.example/zoo/net",
    "commit": "1a2b",
    "date": "2026-10-01T12:00:00+02:00",
    "message": "Upload net",
}


def compared_outputs(figures):
    """A failed result with the figures of its outputs."""
    return ConformanceResult(
        pk=7,
        variant=Variant(name="default"),
        runtime="onnxruntime",
        check_kind="bundled",
        outcome="failed",
        blames="runtime",
        at=AT,
        figures=figures,
    )


def test_a_copy_tells_its_source_and_the_state_of_it():
    graph = told(card={"mirrored_from": MIRRORED})
    place, source = URIRef(MIRRORED["url"]), URIRef(f"{VERSION}#source")
    assert graph.value(VERSION, DCTERMS.source) == place
    assert graph.value(VERSION, PROV.hadPrimarySource) == source
    assert (source, RDF.type, PROV.Entity) in graph
    assert graph.value(source, PROV.specializationOf) == place
    assert graph.value(source, URIRef(f"{terms.DCAT}version")) == Literal("1a2b")
    assert graph.value(source, DCTERMS.issued).toPython().isoformat() == "2026-10-01T10:00:00+00:00"
    assert str(graph.value(source, DCTERMS.title)) == "Upload net"
    assert (VERSION, PROV.wasDerivedFrom, None) not in graph  # no ancestor is told twice


def test_what_a_zoo_import_writes_is_told_in_the_same_terms():
    card = {"imported_from": {"manifest": "https://zoo.example/m.json", "model": "VGG 16"}}
    graph = told(card=card)
    source = graph.value(VERSION, PROV.hadPrimarySource)
    assert graph.value(source, PROV.specializationOf) == URIRef("https://zoo.example/m.json")
    assert str(graph.value(source, DCTERMS.title)) == "VGG 16"
    file = told(card={"imported_from": {"manifest": "ONNX_HUB_MANIFEST.json"}})
    source = file.value(VERSION, PROV.hadPrimarySource)
    assert file.value(source, DC.source) == Literal("ONNX_HUB_MANIFEST.json")
    assert (VERSION, DCTERMS.source, None) not in file


@pytest.mark.parametrize(
    "said", ["https://hub.example/x", [MIRRORED], {}, {"commit": "1"}, {"url": ""}, {"url": None}]
)
def test_a_source_without_a_place_is_none(said):
    assert (VERSION, PROV.hadPrimarySource, None) not in told(card={"mirrored_from": said})


def test_hostile_words_of_a_source_stay_words():
    said = {"url": "javascript:alert(1)", "commit": ["x"], "date": "yesterday", "message": '"<>\\'}
    graph = told(card={"mirrored_from": said})
    source = URIRef(f"{VERSION}#source")
    assert graph.value(source, DC.source) == Literal("javascript:alert(1)")
    assert graph.value(source, DCTERMS.issued) is None
    assert str(graph.value(source, DCTERMS.title)) == '"<>\\'


def with_props(**metadata):
    return (replace(MAIN, facts=replace(MAIN.facts, metadata=metadata)), SMALL)


def test_creators_are_parts_of_the_version_with_whom_the_card_says_they_are():
    graph = told(card=RICH)
    found = {
        (str(graph.value(node, FOAF.name)), str(graph.value(node, PROV.specializationOf)))
        for node in graph.objects(VERSION, DCTERMS.creator)
    }
    assert found == {
        ("Ann Author", "https://orcid.org/0000-0002-1825-0097"),
        ("CERN", "https://ror.org/01ggx4157"),
    }
    ann = URIRef(f"{VERSION}#creator-1")
    assert (ann, RDF.type, PROV.Person) in graph
    assert (URIRef(f"{VERSION}#creator-2"), RDF.type, PROV.Organization) in graph


def test_a_wrong_orcid_names_nobody():
    graph = told(card={"creators": ["Ann 0000-0002-1825-0098"]})
    node = graph.value(VERSION, DCTERMS.creator)
    assert graph.value(node, PROV.specializationOf) is None


@pytest.mark.parametrize(
    ("card", "file", "conflict"),
    [
        ("mit", "Apache License 2.0", True),
        ("gpl-3.0-only", "GPL-3.0", False),
        ("mit", "https://opensource.org/licenses/MIT", False),
        ("mit", "ask the author", False),
        ("", "MIT", False),
    ],
)
def test_a_file_and_a_card_of_different_licences_are_told(card, file, conflict):
    graph = told(licenses=(card,), variants=with_props(Model_License=file, model_author="Ann, Bob"))
    assert ((VERSION, HUB.licenceConflict, Literal(True)) in graph) is conflict
    assert graph.value(VERSION, HUB.authorInFile) == Literal("Ann, Bob")
    licence = graph.value(VERSION, HUB.licenceInFile)
    assert licence == URIRef(iris.Places(HOME).licence(file))


def test_a_model_whose_licence_is_not_its_newest_cards_says_so():
    known = facts.ModelFacts(
        facts.AgentFacts("lab"),
        "net",
        AT,
        AT,
        licenses=("mit",),
        card_licenses=("apache-2.0",),
    )
    graph = read(projection.model_graph(known, HOME))
    model = URIRef(f"{HOME}/models/lab/net")
    assert (model, HUB.licenceConflict, Literal(True)) in graph
    agreed = replace(known, card_licenses=("MIT",))
    again = read(projection.model_graph(agreed, HOME))
    assert (model, HUB.licenceConflict, None) not in again


def test_papers_are_named_by_doi_and_arxiv():
    graph = told(card=RICH)
    node = graph.value(VERSION, IT6.hasBibliographicReference)
    assert graph.value(node, DCTERMS.references) == URIRef("https://doi.org/10.24432/C50P49")
    assert graph.value(node, DCTERMS["format"]) == Literal("text")
    paper = URIRef("https://arxiv.org/abs/1907.11569")
    assert set(graph.objects(VERSION, DCTERMS.isReferencedBy)) == {paper}


def test_training_has_settings_hardware_energy_and_place():
    graph = told(card=RICH)
    settings = {
        str(graph.value(graph.value(node, MLS.specifiedBy), RDFS.label)): graph.value(
            node, MLS.hasValue
        ).toPython()
        for node in graph.objects(MADE, MLS.hasInput)
    }
    assert {name: str(value) for name, value in settings.items()} == {
        "seed": "7",
        "optimizer.name": "AdamW",
        "optimizer.lr": "0.002",
        "amp": "True",
        "x": "[1]",
    }
    hardware = graph.value(MADE, IT6.hasHardware)
    assert graph.value(hardware, DCTERMS.title) == Literal("a CPU", lang="und")
    impact = graph.value(MADE, IT6.hasTrainingImpact)
    assert str(graph.value(impact, IT6.powerConsumption)) == "1.5"
    assert str(graph.value(impact, IT6.carbonEmitted)) == "0.42"
    assert str(graph.value(graph.value(MADE, DCTERMS.spatial), RDFS.label)) == "Portugal"
    assert (MADE, RDF.type, HUB.Finetuning) in graph


def test_a_method_without_a_number_is_told_and_no_number_is_made_up():
    graph = told(card={"carbon_method": "Not measured."})
    impact = graph.value(MADE, IT6.hasTrainingImpact)
    assert graph.value(impact, IT6.measurementMethodology) == Literal("Not measured.", lang="und")
    assert graph.value(VERSION, HUB.trainingCO2eKg) is None
    assert graph.value(impact, IT6.carbonEmitted) is None


def test_risks_have_a_title_and_a_description():
    graph = told(card=RICH)
    found = {
        (str(graph.value(node, DCTERMS.title)), str(graph.value(node, DCTERMS.description)))
        for node in graph.objects(VERSION, IT6.hasRisk)
    }
    assert found == {("May be wrong.", "May be wrong."), ("Bias", "Few writers.")}


def test_data_for_validation_and_tests_are_apart():
    graph = told(card=RICH)
    assert graph.value(VERSION, FAIR4ML.validatedOn) == URIRef(f"{VERSION}#data-stones")
    tested = graph.value(VERSION, IT6.testedOn)
    assert graph.value(tested, PROV.specializationOf) == URIRef("https://data.example/pebbles")
    assert graph.value(VERSION, FAIR4ML.trainedOn) is None


def test_results_in_the_other_form_are_evaluations_too():
    graph = told(card=RICH)
    values = {
        str(graph.value(node, DQV.isMeasurementOf)).rpartition("/")[2]: str(
            graph.value(node, DQV.value)
        )
        for node in graph.objects(VERSION, FAIR4ML.hasEvaluation)
    }
    assert values == {"hard": "41.2", "accuracy": "0.412"}
    data = URIRef(f"{VERSION}#data-org%2Fbench")
    assert set(graph.objects(VERSION, FAIR4ML.evaluatedOn)) == {data}
    same = URIRef("https://huggingface.co/datasets/org/bench")
    assert graph.value(data, PROV.specializationOf) == same


def test_a_result_without_metrics_moves_no_address_of_another():
    bare = {"dataset": {"type": "mnist"}}
    scored = {**bare, "metrics": [{"type": "accuracy", "value": 0.9}]}
    graph = told(card={"model-index": [{"results": [bare, scored]}]})
    assert set(graph.objects(VERSION, FAIR4ML.hasEvaluation)) == {URIRef(f"{VERSION}#eval-1")}


def test_a_data_set_of_the_hub_is_pointed_at_and_claims_stay_apart():
    entry = facts.EntryFacts("stones", ("stones", "https://doi.org/10.1234/stones"))
    card = {
        "datasets": ["doi:10.1234/Stones", "other"],
        "validated_on": [{"name": "stones", "rows": 5, "personal_data": "no"}],
    }
    graph = told(card=card, entries=(entry,))
    here = URIRef(f"{HOME}/datasets/stones")
    assert set(graph.objects(VERSION, FAIR4ML.trainedOn)) == {here, URIRef(f"{VERSION}#data-other")}
    claim = URIRef(f"{VERSION}#data-stones")
    assert set(graph.objects(VERSION, IT6.validatedOn)) == {here, claim}
    assert graph.value(claim, PROV.specializationOf) == here
    assert (claim, DPV.hasData, DPV.NonPersonalData) in graph
    assert (here, None, None) not in graph


def test_a_base_without_a_number_is_the_version_that_was_meant():
    card = {"base_model": ["Zoo/Base", "zoo/other"], "base_model_relation": "quantized"}
    based = (facts.BaseFacts("zoo/base", "zoo", "base", 2),)
    graph = told(card=card, bases=based, undecided=("zoo/other",))
    base = URIRef(f"{HOME}/models/zoo/base/v/2")
    assert set(graph.objects(VERSION, PROV.wasDerivedFrom)) == {base}
    written = set(graph.objects(VERSION, URIRef(terms.DC + "source")))
    assert written == {Literal("Zoo/Base"), Literal("zoo/other")}


def test_no_base_of_this_hub_is_an_address_that_does_not_answer():
    here = f"{HOME}/models/zoo"
    names = ["zoo/base@9", f"{here}/gone/v/1", f"{here}/base/v/2", f"{HOME.upper()}/x", "zoo/a@2"]
    based = (
        facts.BaseFacts(f"{here}/base/v/2", "zoo", "base", 2, has_number=True),
        facts.BaseFacts("zoo/a@2", "zoo", "a", 2, has_number=True),
    )
    graph = told(card={"base_model": names, "datasets": [f"{HOME}/datasets/gone"]}, bases=based)
    meant = {URIRef(f"{here}/base/v/2"), URIRef(f"{here}/a/v/2")}
    assert set(graph.objects(VERSION, PROV.wasDerivedFrom)) == meant
    written = set(graph.objects(VERSION, URIRef(terms.DC + "source")))
    assert written == {Literal(names[0]), Literal(names[1]), Literal(names[3])}
    assert not [
        one
        for one in graph.objects()
        if str(one).endswith("/datasets/gone") and isinstance(one, URIRef)
    ]


def test_a_base_of_elsewhere_is_a_node():
    card = {"base_model": ["meta-llama/Llama-3.1-8B", "resnet 50"]}
    graph = told(card={**card, "base_model_relation": "finetune"})
    base = URIRef("https://huggingface.co/meta-llama/Llama-3.1-8B")
    for predicate in (PROV.wasDerivedFrom, IT6.fineTunedFrom, FAIR4ML.fineTunedFrom):
        assert set(graph.objects(VERSION, predicate)) == {base}
    written = set(graph.objects(VERSION, URIRef(terms.DC + "source")))
    assert Literal("resnet 50") in written


def test_training_and_evaluation_data_of_one_name_are_one_iri_of_the_version():
    card = {
        "datasets": ["MNIST", "ylecun/mnist"],
        "training_data": [{"name": "Digits", "iri": "doi:10.24432/C50P49", "rows": 5}],
        "model-index": [
            {
                "results": [
                    {"dataset": {"type": kind}, "metrics": [{"type": "accuracy", "value": 0.9}]}
                    for kind in ("mnist", "https://doi.org/10.24432/C50P49", "ylecun/mnist")
                ]
            }
        ],
    }
    graph = told(card=card)
    trained = set(graph.objects(VERSION, FAIR4ML.trainedOn))
    assert trained == set(graph.objects(VERSION, FAIR4ML.evaluatedOn))
    assert {str(one).removeprefix(f"{VERSION}#data-") for one in trained} == {
        "mnist", "digits", "ylecun%2Fmnist",
    }  # fmt: skip
    assert len(list(graph.objects(None, FAIR4ML.evaluationDataset))) == 3
    digits = URIRef(f"{VERSION}#data-digits")
    assert graph.value(digits, PROV.specializationOf) == URIRef("https://doi.org/10.24432/C50P49")
    assert graph.value(URIRef(f"{VERSION}#data-mnist"), PROV.specializationOf) is None
    assert not [one for one in graph.all_nodes() if str(one).startswith(f"{HOME}/datasets/")]


def test_figures_of_runs_are_measurements_of_the_worker_with_known_metrics():
    rows = [{"max_abs": 1e-7, "top1": 1.0}, {"max_abs": 3e-7, "top1": 0.5, "ulp_max": "inf"}]
    result = compared_outputs(rows)
    small = replace(SMALL, derivation={"parity": {"cosine": 0.99, "made": {"cosine": 0.1}}})
    graph = told(results=(result,), variants=(MAIN, small))
    worker = URIRef(f"{HOME}/agents/worker")

    def figures(subject):
        found = {}
        for node in graph.objects(subject, DQV.hasQualityMeasurement):
            assert graph.value(node, PROV.wasAttributedTo) == worker
            metric = str(graph.value(node, DQV.isMeasurementOf)).rpartition("/")[2]
            assert METRICS[metric].needs_no_dataset
            found[metric] = float(graph.value(node, DQV.value))
        return found

    assert figures(VERSION) == {"max-abs-difference": 3e-7, "top1-agreement": 0.5}
    assert figures(URIRef(f"{VERSION}#variant-int8")) == {"cosine-similarity": 0.99}
    assert (VERSION, FAIR4ML.hasEvaluation, None) not in graph


@pytest.mark.parametrize(
    ("ports", "task", "words"),
    [
        ([{"name": "x", "denotation": "AUDIO"}], "image-classification", {"audio"}),
        ([{"name": "x"}], "image-classification", {"image"}),
        ([{"name": "x"}], "", set()),
        ([{"name": "x"}], "my-own-task", set()),
    ],
)
def test_modalities_are_the_files_word_else_what_the_task_implies(ports, task, words):
    main = replace(MAIN, facts=replace(MAIN.facts, inputs=read_ports(ports)))
    graph = told(task=task, variants=(main,))
    found = set(graph.objects(VERSION, IT6.hasInputModality))
    assert found == {URIRef(f"{HOME}/modalities/{word}") for word in words}


def test_a_data_sets_graph_tells_of_people_licence_and_owner():
    known = facts.DatasetFacts(
        "faces",
        facts.AgentFacts("lab", organisation=True, title="The lab"),
        "Faces",
        AT,
        AT,
        iri="https://data.example/faces",
        licenses=("cc-by-4.0",),
        personal_data="yes",
        categories=("Picture", "Biometric"),
        legal_basis="Consent",
        rows=12,
        collected_on=AT.date(),
    )
    graph = read(projection.dataset_graph(known, HOME))
    data = URIRef(f"{HOME}/datasets/faces")
    assert set(graph.objects(data, DPV.hasPersonalData)) == {
        DPV.PersonalData,
        DPV.SpecialCategoryPersonalData,
        PD.Picture,
        PD.Biometric,
    }
    assert graph.value(data, DPV.hasLegalBasis) == DPV.Consent
    assert graph.value(data, rdflib.OWL.sameAs) == URIRef("https://data.example/faces")
    assert graph.value(data, DCTERMS.license) == URIRef(terms.LICENCE + "CC-BY-4.0")
    assert graph.value(data, PROV.wasAttributedTo) == URIRef(f"{HOME}/agents/lab")
    assert str(graph.value(data, IT6.collectionDate)) == "2026-01-02"
    silent = read(projection.dataset_graph(replace(known, personal_data="unknown"), HOME))
    assert not [one for one in silent.predicates(data) if str(one).startswith(terms.DPV)]


def test_every_own_term_that_graphs_hold_is_listed():
    compared = compared_outputs([{"max_abs": 1.0}])
    rich = replace(
        KNOWN,
        licenses=("mit",),
        license_expression="MIT OR Apache-2.0",
        card={**CARD, **RICH, "training_data": [{"name": "a", "split": "b"}]},
        variants=with_props(model_license="Apache-2.0", model_author="Ann", **MAIN.facts.metadata),
        results=(*KNOWN.results, compared),
    )
    latency = references.Entity("metrics", "latency-p50")
    texts = [
        projection.version_graph(rich, HOME),
        projection.catalogue_graph(HOME),
        projection.entity_graph(latency, None, HOME),
    ]
    terms_used = {
        str(node).removeprefix(str(HUB))
        for text in texts
        for triple in read(text)
        for node in triple
        if str(node).startswith(str(HUB))
    }
    assert {one for one in terms_used if not one.startswith(terms.DATA_TYPE)} <= terms.OWN
    assert {"licenceConflict", "needsNoDataset", "split", "trainingCO2eKg"} <= terms_used


def test_metrics_and_licences_have_graphs_of_their_own():
    metric = references.Entity("metrics", "accuracy")
    graph = read(projection.entity_graph(metric, None, HOME))
    accuracy = URIRef(f"{HOME}/metrics/accuracy")
    assert graph.value(accuracy, QUDT.hasUnit) == URIRef(terms.UNIT + "FRACTION")
    graph = read(projection.entity_graph(references.Entity("licences", "mit"), None, HOME))
    assert (URIRef(terms.LICENCE + "MIT"), RDF.type, DCTERMS.LicenseDocument) in graph
    known = facts.ModelFacts(facts.AgentFacts("lab"), "net", AT, AT, licenses=("My own",))
    (licence,) = (
        one
        for one in references.named_in(projection.model_graph(known, HOME), HOME)
        if one.kind == "licences"
    )
    assert licence.graph(HOME) == f"{HOME}/licences/my%20own/metadata"
    graph = read(projection.entity_graph(licence, None, HOME))
    own = URIRef(f"{HOME}/licences/my%20own")
    assert (own, RDF.type, DCTERMS.LicenseDocument) in graph
    assert str(graph.value(own, DCTERMS.title)) == "my own"


def test_the_catalogue_declares_languages_and_formats():
    graph = read(projection.catalogue_graph(HOME))
    assert (URIRef(languages.iri("pt-BR")), RDF.type, DCTERMS.LinguisticSystem) in graph
    model = URIRef(f"{VERSION}/files/model.onnx")
    onnx = told().value(model, DCTERMS["format"])
    assert (onnx, RDF.type, rdflib.SKOS.Concept) in graph
    assert languages.iri("xx-unknown") == ""


@pytest.mark.parametrize("shape", [None, 3, "x", [1], {"a": [2]}, [[None]], [{"name": [1]}], True])
def test_fields_of_any_shape_are_no_error(shape):
    fields = [*RICH, "training_data", "doi", "tags"]
    read(projection.version_graph(replace(KNOWN, card=dict.fromkeys(fields, shape)), HOME))
