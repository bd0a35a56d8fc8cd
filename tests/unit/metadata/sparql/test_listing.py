"""The list as SPARQL: for every filter and sort the same models in the same order, or a note."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyoxigraph
import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from hub.protocol import filters
from metadata.models import NamedGraph
from metadata.sparql import list_patterns, listing
from metadata.store import maintenance
from registry.catalogue import search
from registry.catalogue.query import Query
from registry.core import events, outbox
from registry.datasets import services as datasets
from registry.models import Dataset, Variant, Version
from runners.evaluations import scheduling
from tests import deliveries, evaluated, factories, learning, proven, timed
from tests import shelf as models_of_all_kinds
from tests.conftest import Api

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
HOME = "http://testserver"
GUEST = AnonymousUser()
SCALER = {"operators": [{"domain": "ai.onnx.ml", "name": "Scaler", "count": 1}]}


@pytest.fixture(scope="module")
def store(django_db_setup, django_db_blocker):
    """Models of every kind, and everything that the graphs tell of them."""
    with (
        django_db_blocker.unblock(),
        transaction.atomic(),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr("metadata.validation.card_check.judge", lambda _: ("passed", {"files": []}))
        patched.setattr("metadata.validation.reports.renew", lambda _: False)
        ada, bob = factories.user("ada"), factories.user("bob")
        with deliveries.together():
            models_of_all_kinds.fill(ada, bob)
            trees = models_of_all_kinds.publish(
                bob,
                "trees",
                SCALER,
                tags="[Digits, Größe]",
                license="license-ref-own",
                language="de",
            )
            both = models_of_all_kinds.publish(bob, "both", tags="[digits]", license="mit")
            for runtime in ("onnxruntime", "openvino"):
                proven.conformance(both, [proven.measure("reference", runtime=runtime)], runtime)
            judge_in_every_way(bob)
            proven.convert(both)
            proven.upgrade(both)
            proven.upgrade(trees, target=9)  # a lower opset is no upgrade that stands ready
            proven.upgrade(trees, b"old", target=25, proof=None)  # nor one without enough proof
            proven.upgrade(trees, b"ran", target=26, proof=proven.SAMPLED.to_json())
            make_in_rounds(ada)
            proven.conformance(
                both, [proven.measure("determinism", "failed")], entry="model.int8.onnx"
            )
            timed.benchmark(both)
            timed.benchmark(both, spread=0.3, environment={"cpu_model": "Another CPU"})
            time_models_of_all_kinds(both)
            count_costs()
            lose_accuracy(bob, both)
            make_family(ada, bob)
            faces = Dataset.objects.select_related("namespace").get(slug="faces")
            datasets.withdraw(bob, dataset=faces, reason="Consent withdrawn.")
        maintenance.refresh_catalogue()
        outbox.deliver()
        graphs = pyoxigraph.Store()
        for text in NamedGraph.objects.values_list("nquads", flat=True):
            graphs.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
        yield graphs
        transaction.set_rollback(True)


# Model -> the outcomes of its checks: those that pass on ONNX Runtime begin with "passes".
JUDGED = {
    "passes-beside-data": [
        proven.measure("bundled", "cantTell", blames="data"), proven.measure("reference"),
    ],
    "passes-alone": [
        proven.measure("bundled", "untested"), proven.measure("reference", "inapplicable"),
        proven.measure("determinism"),
    ],
    "too-slow": [proven.measure("reference", "cantTell"), proven.measure("determinism")],
    "refused": [proven.measure("reference", "cantTell", runs=False)],
}  # fmt: skip


def judge_in_every_way(bob):
    for name, measures in JUDGED.items():
        version = models_of_all_kinds.publish(bob, name, tags="[judged]", license="mit")
        proven.conformance(version, measures)


def make_in_rounds(ada):
    """A model whose newest version, which is checked, came of a federated round."""
    if "federated" not in settings.HUB_CAPABILITIES:
        return
    training = learning.training(ada, release_every=1)
    code = learning.invited(ada, training)
    for device in [learning.Device(Api, training, code) for _ in range(2)]:
        device.push(device.task(), learning.tensors())
    learning.work()
    factories.work(version=Version.objects.get(model=training.model, number=2))


def time_models_of_all_kinds(both):
    """Give some a speed: faster, as fast, noisy, on another device, of a variant, of old times."""

    def main(name):
        rows = Version.objects.filter(model__name=name, state="published")
        return rows.order_by("-number").first()

    timed.benchmark(main("tiny"), 0.5)
    for median in (0.2, 3.0):
        timed.benchmark(main("passing"), median)
    timed.benchmark(main("warp"), 1.0)
    timed.benchmark(main("digits"), 0.1, spread=0.3)
    timed.benchmark(main("big"), 0.3, environment={"cpu_model": "Another CPU"})
    timed.benchmark(main("failing"), 0.3, config={"batch": 8})
    timed.benchmark(main("portraits"), 0.3, config={"intra_op_threads": 2})
    timed.benchmark(both, 0.1, variant="int8")
    for name in ("changed", "back"):
        first = Version.objects.get(model__name=name, number=1)
        timed.benchmark(first, 0.05 if name == "changed" else 4.0)


def lose_accuracy(bob, both):
    """Measure one model and its variant, which loses 1.5 points of accuracy."""
    evaluated.stones(bob)
    for name, figure in (("default", 0.8), ("int8", 0.785)):
        job = scheduling.request(bob, version=both, dataset="stones", split="test", variant=name)
        evaluated.end(job, evaluated.report((("accuracy", figure, 0.7, 0.9),)))


def make_family(ada, bob):
    """A base, a model of another user that comes from it, and one that comes from that one.

    A hidden model comes from the base, too, and a model from the hidden one; nobody knows of that.
    """
    models_of_all_kinds.publish(ada, "root", risks="[{title: Misuse, severity: High}]")
    models_of_all_kinds.publish(ada, "child", base_model="ada/root@1", risks="[It errs.]")
    address = f"{HOME}/models/ada/child/v/1"
    models_of_all_kinds.publish(
        bob, "heir", base_model=address, risks="[{title: Misuse, mitigation: Review}]"
    )
    models_of_all_kinds.publish(ada, "secret", visibility="private", base_model="ada/root@1")
    models_of_all_kinds.publish(ada, "orphan", base_model="ada/secret@1")
    old = Version.objects.filter(model__name__in=["root", "child"])
    old.update(published_at=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC))
    for version in old:
        events.record("version.annotated", version, actor=None, model=version.model)


def count_costs():
    """Give two models of three the operations of a run, and one of these its memory."""
    variants = Variant.objects.filter(name="default", version__state="published").order_by("pk")
    for place, variant in enumerate(variants):
        if place % 3:
            variant.macs = 1000 * (place % 5)
            variant.memory_bytes = 400 * place if place % 3 == 1 else None
            variant.save(update_fields=["macs", "memory_bytes"])
            model = variant.version.model
            events.record("variant.counted", variant.version, actor=None, model=model)


def asked(store, query, **more):
    found = store.query(listing.of(query, HOME, **more).query, use_default_graph_as_union=True)
    return [row["name"].value for row in found]


def titles(query):
    return [row.title for row in search.find(GUEST, query, limit=100).items]


NARROWED = {
    "everything": {},
    "namespace": {"namespace": ("ada",)},
    "namespaces": {"namespace": ("ada", "bob")},
    "license": {"license": ("mit",)},
    "licenses": {"license": ("MIT", "cc-by-4.0")},
    "own license": {"license": ("license-ref-own",)},
    "domain": {"domain": ("nlp",)},
    "domains": {"domain": ("nlp", "cv")},
    "no such domain": {"domain": ("nothing",)},
    "task": {"task": ("fill-mask",)},
    "tasks": {"task": ("fill-mask", "text-generation")},
    "keyword": {"keyword": ("digits",)},
    "keywords": {"keyword": ("DIGITS", "größe")},
    "quoted keyword": {"keyword": ('a"b\\c\n',)},
    "precision": {"precision": ("mixed",)},
    "precisions": {"precision": ("mixed", "fp32")},
    "opset": {"opset_max": 16},
    "higher opset": {"opset_max": 19},
    "exact opset": {"opset": 17},
    "another exact opset": {"opset": 16, "opset_max": 19},
    "operator": {"operator": ("GridSample",)},
    "operators": {"operator": ("GridSample", "ai.onnx.ml.Scaler")},
    "pixel format": {"pixel_format": ("Bgr8",)},
    "personal data": {"personal_data": ("yes",)},
    "personal data, two": {"personal_data": ("no", "anonymised")},
    "withdrawn data": {"withdrawn_data": ("yes",)},
    "derived": {"derived_from": ("ada/root",)},
    "derived from one of two": {"derived_from": ("ada/child", "nobody/nothing")},
    "derived from nothing": {"derived_from": ("ada/heir", "nothing")},
    "derived from a hidden model": {"derived_from": ("ada/secret",)},
    "risks": {"risk": ("stated",)},
    "no risks": {"risk": ("unstated",), "namespace": ("ada",)},
    "risks of two kinds": {"risk": ("unmitigated", "high")},
    "severity": {"risk": ("high",)},
    "published until": {"published_until": "2026-01-31"},
    "published until the day before": {"published_until": "2026-01-30"},
    "published since": {"published_since": "2026-02-01"},
    "published between": {"published_since": "2026-01-31", "published_until": "2026-01-31"},
    "accuracy loss": {"max_accuracy_loss": 1.5},
    "less accuracy loss": {"max_accuracy_loss": 1.4},
    "passes": {"passes_on": ("onnxruntime",)},
    "passes on both": {"passes_on": ("onnxruntime", "openvino")},
    "fails": {"fails_on": ("onnxruntime",)},
    "evidence": {"evidence": ("carbon",)},
    "upgrade ready": {"evidence": ("upgrade",)},
    "federated": {"evidence": ("federated",)},
    "no such evidence": {"evidence": ("nothing",)},
    "measured on": {"measured_on": ("example-cpu-2-cores",)},
    "measured on one of two": {"measured_on": ("another-cpu-2-cores", "nothing")},
    "measured nowhere": {"measured_on": ("nothing",)},
    "contains": {"contains": "Digit"},
    "small files": {"max_bytes": 600},
    "few parameters": {"max_parameters": 12},
    "small of both": {"max_bytes": 10**6, "max_parameters": 10**6, "passes_on": ("onnxruntime",)},
    "cheap": {"max_macs": 2000},
    "light": {"max_memory": 4000},
    "nothing so cheap": {"max_macs": 0, "max_memory": 1},
    "several groups": {"license": ("mit",), "evidence": ("carbon",), "task": ("fill-mask",)},
}


def test_what_counts_against_nobody_fails_nobody_in_the_list_and_in_the_graphs(store):
    query = Query.of(keyword=("judged",), passes_on=("onnxruntime",), sort="name")
    passing = {name for name in JUDGED if name.startswith("passes")}
    assert {one.rpartition("/")[2] for one in titles(query)} == passing
    assert asked(store, query) == titles(query)


def answers_of_both(store, name, orders):
    """What the graphs and the list give for a filter in each of these orders."""
    queries = [Query.of(**order, **NARROWED[name]) for order in orders]
    assert all(listing.of(query, HOME).is_same for query in queries)
    return [asked(store, query) for query in queries], [titles(query) for query in queries]


# One test for all orders of a filter: to begin and end a test takes longer than to ask for one.
@pytest.mark.parametrize("name", NARROWED)
def test_the_query_gives_the_list(store, name):
    sorts = ("updated", "size", "carbon", "macs", "memory", "parameters", "name")
    of_graphs, of_rows = answers_of_both(store, name, [{"sort": sort} for sort in sorts])
    assert of_graphs == of_rows


SETUPS = (
    {},
    {"device": "example-cpu-2-cores", "runtime": "onnxruntime", "provider": timed.CPU},
    {"device": "another-cpu-2-cores", "runtime": "onnxruntime", "provider": timed.CPU},
    {"device": "example-cpu-2-cores", "runtime": "onnxruntime"},
    {"device": 'no "such> device', "runtime": "onnxruntime", "provider": timed.CPU},
)


@pytest.mark.parametrize("name", NARROWED)
def test_the_query_gives_the_list_by_speed(store, name):
    orders = [{"sort": "fastest", **setup} for setup in SETUPS]
    of_graphs, of_rows = answers_of_both(store, name, orders)
    assert of_graphs == of_rows


@pytest.mark.parametrize("sort", ["updated", "fastest", "name"])
@pytest.mark.parametrize("limit", [0.4, 1.0, 1.5, 100.0])
def test_a_limit_of_latency_is_kept_by_both(store, limit, sort):
    for device in ("example-cpu-2-cores", "another-cpu-2-cores", ""):
        setup = {"device": device, "runtime": "onnxruntime", "provider": timed.CPU}
        query = Query.of(sort=sort, max_p50=limit, **(setup if device else {}))
        assert listing.of(query, HOME).is_same
        assert asked(store, query) == titles(query)
    setup["device"] = "example-cpu-2-cores"
    assert bool(titles(replace(query, **setup))) == (limit > 0.5)


def test_the_list_by_speed_begins_with_what_was_measured(store):
    here = {"device": "example-cpu-2-cores", "runtime": "onnxruntime", "provider": timed.CPU}
    fastest = titles(Query.of(sort="fastest", **here))
    assert fastest[:5] == ["ada/tiny", "ada/warp", "bob/both", "ada/passing", "ada/back"]
    newest = titles(Query())
    assert fastest[5] == "ada/digits"  # noisy, and measured all the same
    assert fastest[6:] == [name for name in newest if name not in fastest[:6]]


@pytest.mark.capability("federated")
def test_most_filters_narrow_to_something(store):
    empty = {name for name, given in NARROWED.items() if not titles(Query.of(**given))}
    assert empty == {
        "no such domain", "no such evidence", "quoted keyword", "measured nowhere",
        "nothing so cheap", "derived from nothing", "derived from a hidden model",
        "published until the day before", "less accuracy loss",
    }  # fmt: skip
    assert titles(Query.of(fails_on=("onnxruntime",))) == ["bob/both", "ada/failing"]
    assert set(titles(Query.of(derived_from=("ada/root",)))) == {"ada/child", "bob/heir"}
    assert set(titles(Query.of(derived_from=("ADA/child",)))) == {"bob/heir"}
    assert set(titles(Query.of(risk=("unmitigated",)))) == {"ada/root", "ada/child"}
    assert set(titles(Query.of(published_until="2026-01-31"))) == {"ada/root", "ada/child"}
    assert titles(Query.of(max_accuracy_loss=1.5)) == ["bob/both"]


def test_every_choice_has_a_pattern():
    assert set(list_patterns.WRITERS) == set(filters.CHOICES)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sort": "downloads"}, "Downloads are not in the graphs"),
        ({"text": "digits"}, "full-text index"),
        ({"license": ("other",)}, "licence other"),
        ({"personal_data": ("unknown", "yes")}, "unknown"),
        ({"tags": ("onnx",)}, "Tags"),
        ({"max_p50": 9.0, "predicted": True}, "Predictions are not in the graphs"),
    ],
)
def test_what_no_graph_says_is_said_in_words(store, given, said):
    query = Query.of(**given)
    found = listing.of(query, HOME)
    assert not found.is_same
    assert said in " ".join(found.notes)
    asked(store, query)  # it is SPARQL all the same


def test_spellings_that_a_graph_makes_one_are_named():
    query = Query.of(license=("apache-2.0",), task=("fill-mask",))
    known = {"license": ["apache-2.0", "apache 2.0", "mit"], "task": ["Fill-Mask", "fill-mask"]}
    notes = " ".join(listing.of(query, HOME, known).notes)
    assert "one licence for this and apache 2.0" in notes
    assert "one task for this and Fill-Mask" in notes
    assert "mit" not in notes.split()


def test_who_sees_more_is_told_that_graphs_do_not():
    assert "Private models" in listing.of(Query(), HOME, own=True).notes[0]


def test_a_database_may_sort_names_otherwise():
    notes = listing.of(Query.of(sort="name"), HOME, collated=True).notes
    assert "sorts names by character codes" in notes[0]
    assert listing.of(Query(), HOME, collated=True).is_same


def test_it_reads_well():
    found = listing.of(Query.of(precision=("fp32",), opset_max=17), HOME)
    assert found.query.startswith("PREFIX dcat: <http://www.w3.org/ns/dcat#>\n")
    assert "PREFIX earl:" not in found.query
    assert '?version hub:precision "fp32" .\n' in found.query
    assert "?version hub:opsetVersion ?opset . FILTER(?opset <= 17)" in found.query
