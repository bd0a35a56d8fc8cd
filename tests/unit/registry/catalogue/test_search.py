"""Lists: public and own parts in one order, kept counts that nobody else's models enter."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from hub.protocol import sorts
from registry.api import serializers as shapes
from registry.catalogue import conditions, documents, facets, full_text, search, summaries
from registry.catalogue import selectors as catalogue
from registry.catalogue.query import Query
from registry.core import outbox, usage
from registry.models import DocumentFact, SearchDocument
from registry.versions import selectors
from registry.versions.services import registered_models
from tests import factories, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
# The orders by a column.
SORTS = [name for name, sort in sorts.SORTS.items() if sort.attribute or sort.column]

GUEST = AnonymousUser()


@shared.rows
def start():
    """Six published models of ada's; every other one is private."""
    ada, made = factories.somebody("ada"), []
    for index in range(6):
        fields = {"visibility": "private"} if index % 2 else {}
        card = (
            f"---\ntags: [common, tag{index}]\npipeline_tag: task-{index % 2}\n"
            f"co2_eq_emissions: {index % 3}\n---\nText."
        )
        model = factories.model(ada, f"net{index}", **fields)
        factories.version(ada, model, card=card)
        made.append(model)
    outbox.deliver()
    for row in SearchDocument.objects.order_by("pk"):
        if row.pk % 3:
            usage.notes.add_download(row.model.versions.get().pk, row.pk % 3)
    SearchDocument.objects.update(macs=F("pk") % 2, memory_bytes=F("pk") % 4)
    usage.notes.flush()
    usage.refresh_lists()
    return made


@pytest.fixture
def shelf(start, db):
    return shared.fresh(start)


def walked(actor, query, limit):
    seen, cursor, counts = [], "", set()
    while True:
        page = search.find(actor, query, limit=limit, cursor=cursor)
        seen += [row.title for row in page.items]
        counts.add(page.count)
        if page.next is None:
            return seen, counts
        cursor = page.next


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_own_and_public_models_are_one_list(shelf, ada, admin, sort, limit):
    column, down = search._order(sort)
    for actor, expected in ((ada, 6), (admin, 6), (GUEST, 3)):
        seen, counts = walked(actor, Query.of(sort=sort), limit)
        rows = catalogue.documents(actor)
        in_order = sorted(rows, key=lambda row: (getattr(row, column), row.pk), reverse=down)
        assert seen == [row.title for row in in_order]
        assert len(seen) == expected
        assert counts == {expected}


@pytest.mark.parametrize("limit", [1, 4, 10])
def test_a_search_ranks_own_and_public_models_together(shelf, ada, limit):
    assert sorted(walked(ada, Query.of(text="net"), limit)[0]) == [
        f"ada/net{index}" for index in range(6)
    ]
    seen, counts = walked(GUEST, Query.of(text="net"), limit)
    assert sorted(seen) == ["ada/net0", "ada/net2", "ada/net4"]
    assert counts == {3}


@pytest.mark.parametrize("common", [0, 10_000])
def test_a_common_text_finds_the_same_as_a_rare_one(shelf, ada, monkeypatch, common):
    monkeypatch.setattr(full_text, "COMMON", common)
    assert len(walked(ada, Query.of(text="text"), 10)[0]) == 6
    assert len(walked(GUEST, Query.of(text="text"), 10)[0]) == 3
    assert len(walked(GUEST, Query.of(text="text", sort="name"), 10)[0]) == 3


def test_facets_count_what_the_actor_may_see_and_no_more(shelf, ada, bob):
    for _ in range(2):  # counted, then kept
        mine = facets.count(ada, Query())
        assert dict(mine["keyword"])["common"] == 6
        assert dict(mine["task"]) == {"task-0": 3, "task-1": 3}
        for other in (GUEST, bob):
            theirs = facets.count(other, Query())
            assert dict(theirs["keyword"]) == {"common": 3, "tag0": 1, "tag2": 1, "tag4": 1}
            assert dict(theirs["task"]) == {"task-0": 3}
            assert facets.totals(other)["models"] == 3
        assert facets.totals(ada)["models"] == 6


def test_a_group_is_counted_without_its_own_choice(shelf, ada):
    found = facets.count(ada, Query.of(task=("task-1",)))
    assert dict(found["task"]) == {"task-0": 3, "task-1": 3}
    assert dict(found["keyword"]) == {"common": 3, "tag1": 1, "tag3": 1, "tag5": 1}
    assert found.capped is False
    assert dict(facets.count(GUEST, Query.of(task=("task-1",)))["keyword"]) == {}


def test_facets_of_many_matches_are_counted_over_the_first_and_say_so(shelf, ada, monkeypatch):
    monkeypatch.setattr(facets, "MATCHES", 4)
    found = facets.count(ada, Query.of(text="text"))
    assert found.capped is True
    assert dict(found["keyword"])["common"] == 4


def test_what_is_hidden_leaves_the_kept_counts_with_the_commit(shelf, ada, events_delivered):
    assert facets.totals(GUEST)["models"] == 3
    assert dict(facets.count(GUEST, Query())["keyword"])["common"] == 3
    with events_delivered():
        registered_models.edit(ada, model=shelf[0], visibility="private")
        # Somebody who asks before the commit keeps the old counts again; they must not stay.
        assert facets.totals(GUEST)["models"] == 3
    assert facets.totals(GUEST)["models"] == 2
    assert dict(facets.count(GUEST, Query())["keyword"])["common"] == 2
    with events_delivered():
        registered_models.delete(ada, model=shelf[2])
    assert facets.totals(GUEST)["models"] == 1


def test_what_becomes_private_leaves_the_lists_before_the_outbox_comes_to_it(shelf, ada):
    before = search.find(GUEST, Query()).count
    registered_models.edit(ada, model=shelf[0], visibility="private")
    found = search.find(GUEST, Query())
    assert found.count == before - 1
    assert shelf[0].ref not in [row.title for row in found.items]


def test_more_than_the_cap_is_remembered_and_forgotten(shelf, ada, monkeypatch, events_delivered):
    monkeypatch.setattr(search, "COUNT_CAP", 2)
    for _ in range(2):
        page = search.find(GUEST, Query(), limit=1)
        assert (page.count, page.capped) == (2, True)
    with events_delivered():
        registered_models.edit(ada, model=shelf[0], visibility="private")
    page = search.find(GUEST, Query(), limit=1)
    assert (page.count, page.capped) == (2, False)


def test_the_plain_functions_say_what_the_serializers_say(shelf, ada):
    factories.model(ada, "empty")
    documents.refresh(ada.memberships.get().namespace.models.get(name="empty").pk)
    for actor in (GUEST, ada):
        items = search.find(actor, Query(), columns=summaries.COLUMNS).items
        assert len(items) == catalogue.documents(actor).count()
        for row in items:
            document = SearchDocument.objects.select_related("model").get(pk=row.pk)
            assert shapes.model_summary(row) == shapes.ModelSummaryOutput(document).data
            document.shown_refs = list(selectors.refs_of(actor, document.model))
            document.shown_role = selectors.role(actor, document.model)
            detail = summaries.read(actor, document.title)
            assert shapes.model_detail(detail) == shapes.ModelOutput(document).data
            assert list(shapes.model_detail(detail)) == list(shapes.ModelOutput(document).data)


def test_a_kept_question_is_asked_anew_with_each_value(shelf, ada):
    for _ in range(2):
        for index in (0, 2, 4):
            assert summaries.read(GUEST, f"ada/net{index}").summary.model__name == f"net{index}"
        assert summaries.read(GUEST, "ada/net1") is None
        assert summaries.public_file("ada", "net0", 1, "model.onnx") is not None
        assert summaries.public_file("ada", "net1", 1, "model.onnx") is None


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("models", 2),
        ("models?q=net", 3),
        ("models/ada/net0", 2),
        ("models/ada/net0/versions/1/files/README.md", 1),
        ("resolve?ref=ada/net0", 6),
    ],
)
def test_an_answer_costs_a_fixed_number_of_queries(api, shelf, path, most):
    with CaptureQueriesContext(connection) as asked:
        response = api().get(path)
    assert response.status_code == 200
    assert len(asked) <= most, [query["sql"] for query in asked]


@pytest.mark.parametrize("text", ["net", "net 2", "2", "nothing"])
def test_the_most_downloaded_are_the_same_however_they_are_met(shelf, ada, text, monkeypatch):
    """A text that may be common is looked for among them first."""
    monkeypatch.setattr(search, "CANDIDATES", 2)
    for actor in (GUEST, ada):
        gathered = search.find(actor, Query.of(text=text), limit=9)
        with monkeypatch.context() as patch:
            patch.setattr(full_text, "may_be_common", lambda _: True)
            walked = search.find(actor, Query.of(text=text), limit=9)
        assert [row.title for row in walked.items] == [row.title for row in gathered.items]
        assert (walked.count, walked.capped) == (gathered.count, gathered.capped)


def test_a_members_own_models_do_not_make_the_public_list_long(shelf, ada, monkeypatch):
    monkeypatch.setattr(search, "COUNT_CAP", 4)
    for sort in SORTS:
        assert search.find(ada, Query.of(sort=sort), limit=1).capped is True
        assert search.find(GUEST, Query.of(sort=sort), limit=1).count == 3


@pytest.mark.parametrize("choice", [{"tags": ("common",)}, {"license": ("mit",)}])
def test_an_either_or_takes_the_keys_of_few_models(shelf, ada, choice, monkeypatch):
    DocumentFact.objects.create(document_id=shelf[2].pk, group="license", value="mit")
    titles = ["ada/net2"] if "license" in choice else [f"ada/net{n}" for n in (4, 2, 0)]
    for few, in_subqueries in ((1_000, False), (len(titles) - 1, True)):
        monkeypatch.setattr(conditions, "FEW", few)
        with CaptureQueriesContext(connection) as asked:
            page = search.find(GUEST, Query.of(**choice))
        assert [row.title for row in page.items] == titles
        assert ("(SELECT" in asked[-1]["sql"]) == in_subqueries
