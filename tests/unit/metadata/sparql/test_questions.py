"""The questions, asked of hand-made facts; each answer is worked out in Python."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

import pyoxigraph
import pytest

from hub.protocol.facts import Facts
from hub.protocol.intervals import IntervalMethod
from hub.protocol.vocabularies import TASKS_OF
from metadata.graphs import facts, projection, references
from metadata.rdf import iris
from metadata.sparql import example_queries
from registry.models import Dataset, DatasetVersion, Variant
from runners.models import ConformanceResult, Evaluation

HOME = "https://hub.example"
PLACES = iris.Places(HOME)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
DIGEST = "ab" * 32
GRID = {"domain": "ai.onnx", "name": "GridSample", "count": 1}
PEOPLE = "people"
BENCHMARK = "https://data.example/benchmark"
MEASURED = "benchmark"


def iri(name, number=1):
    return PLACES.version("lab", name, number)


def version(name, *, number=1, sizes=(100,), card=None, told=None, precision="fp32", **more):
    """What is known of a version: files of these sizes, and whatever else is said."""
    main = facts.VariantFacts(
        "default",
        "f0.onnx",
        opset=more.pop("opset", 17),
        precision=precision,
        facts=Facts.read({"producer": {"name": "pytorch", "version": "2"}} | (told or {})),
    )
    return facts.VersionFacts(
        namespace="lab",
        name=name,
        number=number,
        state="published",
        uploader="ada",
        created_at=AT,
        published_at=AT,
        card=card or {},
        files=tuple(
            facts.FileFacts(f"f{index}.onnx", DIGEST, size) for index, size in enumerate(sizes)
        ),
        variants=(main, *more.pop("variants", ())),
        **more,
    )


def reported(value, dataset=BENCHMARK, metric="accuracy"):
    row = {"dataset": {"type": dataset}, "metrics": [{"type": metric, "value": value}]}
    return {"model-index": [{"results": [row]}]}


def measured(value, metric="accuracy", variant="default"):
    """A measurement on the entry that BENCHMARK is, on 400 rows."""
    low, high = (round(float(value) + part, 9) for part in (-0.01, 0.01))
    row = Evaluation(
        pk=1,
        variant=Variant(name=variant),
        metric=metric,
        value=float(value),
        low=low,
        high=high,
        interval_method=IntervalMethod.CLOPPER_PEARSON,
        dataset_version=DatasetVersion(dataset=Dataset(slug=MEASURED), number=1),
        split="test",
        rows=400,
        predictions_sha256=DIGEST,
        at=AT,
    )
    return (row,)


SMALL = facts.VariantFacts("int8", "f0.onnx", "converted", source="default", precision="int8")
ENTRY = facts.EntryFacts(PEOPLE, (PEOPLE, "https://data.example/people"))
ENTRIES = (facts.EntryFacts(MEASURED, (BENCHMARK,)),)


def bundled_result(pk, outcome="failed", variant="default", blames="runtime"):
    """A result of the check of bundled data."""
    return ConformanceResult(
        pk=pk,
        variant=Variant(name=variant),
        runtime="onnxruntime",
        runtime_version="1.31",
        check_kind="bundled",
        outcome=outcome,
        blames=blames,
        reason="Off by one.",
        at=AT,
    )


WRONG = bundled_result(4)
VERSIONS = (
    version(
        "writer",
        task="text-generation",
        sizes=(300, 20),
        summary="Writes digits as words.",
        licenses=("mit",),
        card={
            "creators": [{"name": "Ann Author", "orcid": "0000-0002-1825-0097"}, "Bob"],
            "co2_eq_emissions": {"emissions": 2500, "source": "a meter"},
            "base_model": "lab/base@1",
            "base_model_relation": "finetune",
        },
        bases=(facts.BaseFacts("lab/base@1", "lab", "base", 1, has_number=True),),
    ),
    version("reader", task="summarization", sizes=(200,), licenses=("apache-2.0",)),
    version(
        "base",
        task="fill-mask",
        sizes=(5000,),
        licenses=("cc-by-nc-4.0",),
        card={
            "datasets": ["https://data.example/people"],
            "co2_eq_emissions": 1000000,
            "base_model_relation": "merge",
        },
        entries=(ENTRY,),
    ),
    version(
        "watcher",
        task="image-classification",
        sizes=(49_999_999,),
        precision="mixed",
        opset=16,
        licenses=("mit",),
        told={
            "operators": [GRID],
            "metadata": {"Image.BitmapPixelFormat": "BGR8"},
            "precision_profile": {"bytes_by_dtype": {"float32": 50, "float16": 50}},
        },
        card=reported(97) | {"training_data": [{"name": "faces", "personal_data": "yes"}]},
        measured=measured("0.9"),
        entries=ENTRIES,
        results=(WRONG,),
    ),
    version(
        "giant",
        task="image-classification",
        sizes=(40_000_000, 10_000_000),
        opset=20,
        told={"operators": [GRID]},
        card=reported(0.97) | {"personal_data": "no", "datasets": ["stones"]},
        measured=measured("0.96"),
        entries=ENTRIES,
    ),
    version(
        "small",
        task="image-classification",
        sizes=(10,),
        card=reported(0.99),
        measured=measured("0.95"),
        entries=ENTRIES,
        variants=(SMALL,),
        results=(bundled_result(5, variant="int8"), bundled_result(6, "passed")),
    ),
    version("boaster", task="image-classification", card=reported(1)),
)
# An older version: it is an ancestor, and in no list of models.
OLD = version("writer", number=9, task="text-generation", sizes=(1,), licenses=("mit",))
NEWEST = {one.name: one for one in VERSIONS}


def graphs(told):
    """Every graph of a hub with these versions: those of what they name come last."""
    named = set()
    for text in _graphs(told):
        named |= references.named_in(text, HOME)
        yield text
    for entity in sorted(named):
        agent = facts.AgentFacts(entity.login, organisation=True, title="The Laboratory")
        yield projection.entity_graph(entity, agent, HOME)


def _graphs(told):
    yield projection.catalogue_graph(HOME)
    people = facts.DatasetFacts(
        PEOPLE, facts.AgentFacts("lab"), "People", AT, AT, personal_data="yes", categories=("Age",)
    )
    yield projection.dataset_graph(people, HOME)
    for one in told:
        yield projection.version_graph(one, HOME)
        newest = one.number if NEWEST.get(one.name) == one else None
        model = facts.ModelFacts(facts.AgentFacts("lab"), one.name, AT, AT, newest=newest)
        if newest is not None:
            yield projection.model_graph(model, HOME)


@pytest.fixture(scope="module")
def store():
    """What the endpoint has: the graphs of what is public; hidden models have none."""
    made = pyoxigraph.Store()
    for text in graphs((*VERSIONS, OLD)):
        made.extend(pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS))
    return made


@pytest.fixture
def ask(store):
    """Rows of a question as dicts of plain values."""
    return asking(store)


def asking(store):
    """The same of any store."""

    def asked(slug, **about):
        subject = {"V": iri("writer"), "D": PLACES.dataset(MEASURED)} | about
        found = {one.slug: one for one in example_queries.filled(HOME, subject)}[slug]
        answer = store.query(found.query, use_default_graph_as_union=True)
        names = [variable.value for variable in answer.variables]
        return [
            {name: row[name].value for name in names if row[name] is not None} for row in answer
        ]

    return asked


def models(rows):
    return [row["model"].rsplit("/", 3)[1] for row in rows]


def size(name):
    return sum(file.size_bytes for file in NEWEST[name].files)


def test_no_triple_stands_in_two_graphs():
    lines = [line for text in graphs((*VERSIONS, OLD)) for line in text.splitlines()]
    triples = [line.rpartition(" <")[0] for line in lines]
    assert len(triples) > 1000
    assert len(set(triples)) == len(triples)


def test_every_question_counts_as_in_one_graph_without_repetition(store):
    """The default graph is a bag of graphs: a triple in two of them would be counted twice."""
    merged = pyoxigraph.Store()
    merged.extend(
        pyoxigraph.Quad(one.subject, one.predicate, one.object, pyoxigraph.DefaultGraph())
        for one in store
    )
    for one in example_queries.filled(HOME, {"V": iri("writer"), "D": PLACES.dataset(MEASURED)})[
        :-1
    ]:
        bag = store.query(one.query, use_default_graph_as_union=True)
        # GROUP_CONCAT has no order, so the characters of a row are compared.
        found, wanted = (
            [sorted(str(row)) for row in rows] for rows in (bag, merged.query(one.query))
        )
        assert found == wanted, one.slug


def test_bytes_are_summed_once_beside_the_publishers_name(store):
    query = """
        PREFIX dcat: <http://www.w3.org/ns/dcat#> PREFIX dcterms: <http://purl.org/dc/terms/>
        PREFIX foaf: <http://xmlns.com/foaf/0.1/>
        SELECT ?name (SUM(?bytes) AS ?sum) (COUNT(*) AS ?files) WHERE {
          ?version dcat:distribution ?file ; dcterms:publisher ?publisher .
          ?file dcat:byteSize ?bytes . ?publisher foaf:name ?name } GROUP BY ?name"""
    (row,) = store.query(query, use_default_graph_as_union=True)
    files = [file.size_bytes for one in (*VERSIONS, OLD) for file in one.files]
    assert row["name"].value == "The Laboratory"
    assert (int(row["sum"].value), int(row["files"].value)) == (sum(files), len(files))


def test_there_are_eighteen_and_each_is_whole():
    found = example_queries.filled(HOME, {"V": iri("a"), "D": PLACES.dataset(MEASURED)})
    assert len(found) == len({one.slug for one in found}) == 18
    for one in found:
        assert re.fullmatch(r"[a-z-]+", one.slug)
        assert one.title
        assert one.words.endswith(".")
        assert not re.search(r"\{[A-Z]\}", one.query)


def test_language_models_by_size(ask):
    domain = [name for name, one in NEWEST.items() if one.task in TASKS_OF["nlp"]]
    rows = ask("language-models-by-size")
    assert models(rows) == sorted(domain, key=size) == ["reader", "writer", "base"]
    assert [int(row["bytes"]) for row in rows] == [size(name) for name in models(rows)]
    assert sorted(rows[1]["creators"].split(", ")) == ["Ann Author", "Bob"]
    assert not rows[0].get("creators")


def test_training_carbon(ask):
    rows = ask("training-carbon")
    assert [(name, float(row["kg"])) for name, row in zip(models(rows), rows, strict=True)] == [
        ("writer", 2.5),
        ("base", 1000.0),
    ]


def test_trained_on_personal_data_by_an_entry_by_a_claim_and_by_an_ancestor(ask):
    rows = ask("trained-on-personal-data")
    entry, claim = PLACES.dataset(PEOPLE), f"{iri('watcher')}#data-faces"
    assert sorted((row["model"], row["ancestor"], row["data"]) for row in rows) == [
        (iri("base"), iri("base"), entry),
        (iri("watcher"), iri("watcher"), claim),
        (iri("writer"), iri("base"), entry),
    ]


def test_mixed_precision(ask):
    rows = ask("mixed-precision")
    assert models(rows) == ["watcher"]
    assert len(rows[0]["types"].split()) == 2
    assert set(rows[0]["types"].split()) == {"float16", "float32"}


def test_provenance_of_a_version(ask):
    rows = ask("provenance-of-a-version")
    assert [(row["ancestor"], row["title"], row["step"], row["tool"]) for row in rows] == [
        (iri("base"), "base", PLACES.term("Merge"), "pytorch")
    ]
    assert ask("provenance-of-a-version", V=iri("reader")) == []


def test_best_measured_accuracy_of_what_is_small(ask):
    best = sorted(
        (name for name, one in NEWEST.items() if one.measured and size(name) < 50_000_000),
        key=lambda name: -NEWEST[name].measured[0].figure.value,
    )
    rows = ask("best-measured-accuracy")
    assert models(rows) == best == ["small", "watcher"]
    assert [Decimal(row["accuracy"]) for row in rows] == [Decimal("0.95"), Decimal("0.9")]
    assert ask("best-measured-accuracy", D="https://data.example/other") == []


def test_models_by_licence(ask):
    rows = ask("models-by-licence")
    counts = {row["licence"]: int(row["models"]) for row in rows}
    assert len(rows) == len(counts)
    expected = {}
    for one in VERSIONS:
        licence = PLACES.licence("".join(one.licenses))
        expected[licence] = expected.get(licence, 0) + 1
    assert counts == expected
    assert counts[PLACES.term("NoLicenceGiven")] == 3


def test_models_about_digits(ask):
    assert models(ask("models-about-digits")) == ["writer"]


def test_carbon_by_task(ask):
    rows = [(row["task"], int(row["models"]), float(row["total"])) for row in ask("carbon-by-task")]
    assert rows == [(PLACES.task("fill-mask"), 1, 1000.0), (PLACES.task("text-generation"), 1, 2.5)]


def test_less_accurate_than_claimed(ask):
    (row,) = ask("less-accurate-than-claimed")
    assert row["model"] == iri("watcher")
    assert (Decimal(row["claimed"]), Decimal(row["measured"])) == (Decimal("0.97"), Decimal("0.9"))
    assert set(row["types"].split()) == {"float16", "float32"}
    assert row["failed"] == PLACES.test("onnxruntime", "bundled")


def test_failed_conformance_of_a_version_and_of_a_variant(ask):
    rows = ask("failed-conformance")
    assert sorted((row["model"], row["subject"]) for row in rows) == [
        (iri("small"), f"{iri('small')}#variant-int8"),
        (iri("watcher"), iri("watcher")),
    ]
    assert {row["reason"] for row in rows} == {"Off by one."}


def test_expects_bgr_images(ask):
    assert models(ask("expects-bgr-images")) == ["watcher"]


def test_licence_wider_than_ancestors(ask):
    assert [(row["model"], row["ancestor"]) for row in ask("licence-wider-than-ancestors")] == [
        (iri("writer"), iri("base"))
    ]


def test_depends_on_withdrawn_data(store):
    """Directly, and through an ancestor."""
    made = pyoxigraph.Store()
    made.extend(store)
    assert asking(made)("depends-on-withdrawn-data") == []
    entry = facts.DatasetFacts(
        PEOPLE, facts.AgentFacts("lab"), "People", AT, AT, personal_data="yes",
        withdrawal=facts.WithdrawalFacts(AT, "Consent withdrawn.", "ada"),
    )  # fmt: skip
    text = projection.dataset_graph(entry, HOME)
    made.extend(pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS))
    rows = asking(made)("depends-on-withdrawn-data")
    assert sorted(models(rows)) == ["base", "writer"]
    assert {(row["data"], row["reason"]) for row in rows} == {
        (PLACES.dataset(PEOPLE), "Consent withdrawn.")
    }


def test_variant_that_fits_and_passes():
    """The main variant, and one of two files; none that is too large or failed."""
    others = (
        facts.VariantFacts("large", "f1.onnx"),
        facts.VariantFacts("split", "f0.onnx", external=("f2.onnx",)),
        facts.VariantFacts("wrong", "f0.onnx"),
    )
    passed = (
        bundled_result(key, "passed", name, blames="")
        for key, name in enumerate(("default", "large", "split"))
    )
    results = (*passed, bundled_result(3, variant="wrong"))
    fits = version("fits", sizes=(400, 2_000_000, 500), variants=others, results=results)
    model = facts.ModelFacts(facts.AgentFacts("lab"), "fits", AT, AT, newest=1)
    made = pyoxigraph.Store()
    for text in (projection.version_graph(fits, HOME), projection.model_graph(model, HOME)):
        made.extend(pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS))
    rows = asking(made)("variant-that-fits-and-passes")
    assert [(row["variant"].rpartition("-")[2], int(row["bytes"])) for row in rows] == [
        ("default", 400),
        ("split", 900),
    ]


def test_operator_at_old_opset(ask):
    rows = ask("operator-at-old-opset")
    assert [(name, row["opset"]) for name, row in zip(models(rows), rows, strict=True)] == [
        ("watcher", "16")
    ]


def test_everything_about_a_version(store):
    subject = {"V": iri("base"), "D": PLACES.dataset(MEASURED)}
    query = example_queries.filled(HOME, subject)[-1].query
    text = projection.version_graph(NEWEST["base"], HOME)
    quads = pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    # A store writes numbers in its own form, so only where they stand is compared.
    expected = sorted((str(quad.subject), str(quad.predicate)) for quad in quads)
    found = store.query(query)
    assert sorted((str(one.subject), str(one.predicate)) for one in found) == expected
