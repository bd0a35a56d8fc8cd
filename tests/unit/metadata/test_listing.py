"""The list as SPARQL: for every filter and sort the same models in the same order, or a note."""

from __future__ import annotations

from dataclasses import fields

import pyoxigraph
import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from frontend import filters
from metadata import listing, upkeep
from metadata.models import NamedGraph
from registry import search
from tests import factories, proven
from tests import shelf as models_of_all_kinds

pytestmark = pytest.mark.django_db
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
        patched.setattr("metadata.gate.judge", lambda _: ("passed", {"files": []}))
        patched.setattr("metadata.reports.renew", lambda _: False)
        ada, bob = factories.user("ada"), factories.user("bob")
        models_of_all_kinds.fill(ada, bob)
        models_of_all_kinds.publish(
            bob, "trees", SCALER, tags="[Digits, Größe]", license="license-ref-own", language="de"
        )
        both = models_of_all_kinds.publish(bob, "both", tags="[digits]", license="mit")
        for runtime in ("onnxruntime", "openvino"):
            proven.conformance(both, [proven.measure("reference", runtime=runtime)], runtime)
        proven.convert(both)
        proven.conformance(both, [proven.measure("determinism", "failed")], entry="model.int8.onnx")
        upkeep.refresh_catalogue()
        factories.work()
        graphs = pyoxigraph.Store()
        for text in NamedGraph.objects.values_list("nquads", flat=True):
            graphs.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
        yield graphs
        transaction.set_rollback(True)


def asked(store, query, **more):
    found = store.query(listing.of(query, HOME, **more).query, use_default_graph_as_union=True)
    return [row["name"].value for row in found]


def listed(query):
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
    "operator": {"operator": ("GridSample",)},
    "operators": {"operator": ("GridSample", "ai.onnx.ml.Scaler")},
    "pixel format": {"pixel_format": ("Bgr8",)},
    "personal data": {"personal_data": ("yes",)},
    "personal data, two": {"personal_data": ("no", "anonymised")},
    "passes": {"passes_on": ("onnxruntime",)},
    "passes on both": {"passes_on": ("onnxruntime", "openvino")},
    "fails": {"fails_on": ("onnxruntime",)},
    "evidence": {"evidence": ("carbon",)},
    "no such evidence": {"evidence": ("nothing",)},
    "contains": {"contains": "Digit"},
    "several groups": {"license": ("mit",), "evidence": ("carbon",), "task": ("fill-mask",)},
}


@pytest.mark.parametrize("sort", ["updated", "size", "carbon", "name"])
@pytest.mark.parametrize("name", NARROWED)
def test_the_query_gives_the_list(store, name, sort):
    query = search.Query(sort=sort, **NARROWED[name])
    assert listing.of(query, HOME).is_same
    assert asked(store, query) == listed(query)


def test_most_filters_narrow_to_something(store):
    empty = {name for name, given in NARROWED.items() if not listed(search.Query(**given))}
    assert empty == {"no such domain", "no such evidence", "quoted keyword"}
    assert listed(search.Query(fails_on=("onnxruntime",))) == ["bob/both", "ada/failing"]


def test_every_filter_and_sort_of_the_page_is_there():
    groups = set(listing._WRITERS) | {"opset_max", "contains"}
    assert groups == {*filters.GROUPS, *filters.MORE}
    assert set(listing._ORDER) == set(filters.SORTS)
    assert {field.name for field in fields(search.Query)} == {
        *groups,
        "text",
        "near",
        "sort",
        "tags",
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sort": "downloads"}, "Downloads are in no graph"),
        ({"text": "digits"}, "index of all texts"),
        ({"license": ("other",)}, "licence called other"),
        ({"personal_data": ("unknown", "yes")}, "unknown"),
        ({"tags": ("onnx",)}, "Tags"),
    ],
)
def test_what_no_graph_says_is_said_in_words(store, given, said):
    query = search.Query(**given)
    found = listing.of(query, HOME)
    assert not found.is_same
    assert said in " ".join(found.notes)
    asked(store, query)  # it is SPARQL all the same


def test_spellings_that_a_graph_makes_one_are_named():
    query = search.Query(license=("apache-2.0",), task=("fill-mask",))
    known = {"license": ["apache-2.0", "apache 2.0", "mit"], "task": ["Fill-Mask", "fill-mask"]}
    notes = " ".join(listing.of(query, HOME, known).notes)
    assert "one licence for this and apache 2.0" in notes
    assert "one task for this and Fill-Mask" in notes
    assert "mit" not in notes.split()


def test_who_sees_more_is_told_that_graphs_do_not():
    assert "Private models" in listing.of(search.Query(), HOME, own=True).notes[0]


def test_a_database_may_sort_names_otherwise():
    notes = listing.of(search.Query(sort="name"), HOME, collated=True).notes
    assert "sorts names by their characters" in notes[0]
    assert listing.of(search.Query(), HOME, collated=True).is_same


def test_it_reads_well():
    found = listing.of(search.Query(precision=("fp32",), opset_max=17), HOME)
    assert found.query.startswith("PREFIX dcat: <http://www.w3.org/ns/dcat#>\n")
    assert "PREFIX earl:" not in found.query
    assert found.preview == (
        '?version hub:precision "fp32" . ?version hub:opsetVersion ?opset . FILTER(?opset <= 17)'
    )
