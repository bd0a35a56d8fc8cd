"""Lists of models and the graphs give one answer, each where it can say the question."""

from __future__ import annotations

import pyoxigraph
import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from metadata.models import NamedGraph
from metadata.rdf.iris import Places
from metadata.sparql import example_queries
from registry.catalogue import facets, search
from registry.catalogue.query import Query
from registry.core import outbox
from registry.datasets import services
from registry.models import Dataset, User
from tests import deliveries, factories
from tests import shelf as models_of_all_kinds

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
HOME = "http://testserver"
GUEST = AnonymousUser()


@pytest.fixture(scope="module")
def shelf(django_db_setup, django_db_blocker):
    """Models of every kind that the questions tell apart; each test undoes what it changes."""
    with (
        django_db_blocker.unblock(),
        transaction.atomic(),
        pytest.MonkeyPatch.context() as patched,
    ):
        # As for every test; this is made before the patches of each.
        patched.setattr("metadata.validation.card_check.judge", lambda _: ("passed", {"files": []}))
        patched.setattr("metadata.validation.reports.renew", lambda _: False)
        with deliveries.together():
            models_of_all_kinds.fill(factories.user("ada"), factories.user("bob"))
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def store(shelf):
    graphs = pyoxigraph.Store()
    for text in NamedGraph.objects.values_list("nquads", flat=True):
        graphs.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    return graphs


def person(name):
    return User.objects.get(username=name)


def rows(store, slug):
    query = example_queries.find(slug, HOME).query
    found = store.query(query, use_default_graph_as_union=True)
    return [
        tuple(value.value if value is not None else None for value in solution)
        for solution in found
    ]


def models(found):
    """Names of models, in order and each once, from rows that begin with a version's IRI."""
    names = [row[0].removeprefix(f"{HOME}/models/").partition("/v/")[0] for row in found]
    return list(dict.fromkeys(names))


def titles(**asked):
    page = search.find(GUEST, Query.of(**asked), limit=100)
    return [document.title for document in page.items]


def test_language_models_by_size(store):
    found = search.find(GUEST, Query.of(domain=("nlp",), sort="size")).items
    told = [(document.title, document.size) for document in found]
    assert sorted(name for name, _ in told) == ["ada/back", "ada/big", "ada/failing", "ada/tiny"]
    in_graphs = rows(store, "language-models-by-size")
    assert dict(told) == dict(
        zip(models(in_graphs), [int(row[2]) for row in in_graphs], strict=True)
    )
    assert [size for _, size in told] == [int(row[2]) for row in in_graphs]


def test_carbon_of_training(store):
    found = search.find(GUEST, Query.of(sort="carbon")).items
    told = [(document.title, document.carbon_kg) for document in found]
    assert told == [("ada/back", 0.007), ("ada/digits", 0.0205), ("ada/tiny", 1.5)]
    in_graphs = rows(store, "training-carbon")
    assert told == list(zip(models(in_graphs), [float(row[2]) for row in in_graphs], strict=True))
    assert sorted(titles(evidence=("carbon",))) == sorted(models(in_graphs))


def test_personal_data(store):
    found = sorted(titles(personal_data=("yes",)))
    assert found == ["ada/portraits", "ada/warp"]
    assert sorted(models(rows(store, "trained-on-personal-data"))) == found
    assert titles(personal_data=("no",)) == ["ada/warp-new"]
    assert titles(personal_data=("anonymised",)) == ["ada/anonymous"]


def test_what_is_told_of_a_data_set_later_counts(shelf):
    services.edit(person("bob"), dataset=Dataset.objects.get(slug="faces"), personal_data="no")
    outbox.deliver()
    assert titles(personal_data=("yes",)) == ["ada/portraits"]
    assert sorted(titles(personal_data=("no",))) == ["ada/warp", "ada/warp-new"]


@pytest.mark.parametrize(
    ("slug", "asked", "expected"),
    [
        ("mixed-precision", {"precision": ("mixed",)}, ["ada/big"]),
        ("models-about-digits", {"contains": "digit"}, ["ada/digits", "ada/warp"]),
        ("expects-bgr-images", {"pixel_format": ("Bgr8",)}, ["ada/digits"]),
        ("operator-at-old-opset", {"operator": ("GridSample",), "opset_max": 16}, ["ada/warp"]),
        ("failed-conformance", {"fails_on": ("onnxruntime",)}, ["ada/failing"]),
    ],
)
def test_a_filter_lists_what_the_query_does(store, slug, asked, expected):
    assert sorted(titles(**asked)) == expected
    assert sorted(models(rows(store, slug))) == expected


def test_licences_are_counted_alike(store):
    counts = facets.count(GUEST, Query())
    places = Places(HOME)
    told = {places.licence(value): count for value, count in counts["license"]}
    current = len(
        [document for document in search.find(GUEST, Query(), limit=100).items if document.latest]
    )
    told[places.term("NoLicenceGiven")] = current - sum(told.values())
    assert told == {row[0]: int(row[1]) for row in rows(store, "models-by-licence")}
    assert told[places.licence("mit")] == 3


def test_passing_takes_every_check_that_applies(shelf):
    assert titles(passes_on=("onnxruntime",)) == ["ada/passing"]
    assert titles(passes_on=("onnxruntime", "openvino")) == []
    assert dict(facets.count(GUEST, Query())["passes_on"]) == {"onnxruntime": 1}
    narrowed = facets.count(GUEST, Query.of(license=("cc-by-4.0",)))
    assert dict(narrowed["passes_on"]) == {"onnxruntime": 1}
    assert narrowed["evidence"] == []


def test_who_may_see_more_is_told_more(shelf):
    ada = person("ada")
    titles = {row.title for row in search.find(ada, Query.of(sort="carbon")).items}
    assert "ada/hidden-digits" in titles
    own = facets.count(ada, Query())
    assert dict(own["evidence"])["carbon"] == len(titles)
