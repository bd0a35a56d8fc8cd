"""Counts over a choice: the same as the rows say, from one text of each model."""

from __future__ import annotations

from collections import Counter

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hub.protocol import filters
from registry.catalogue import documents, facets, selectors
from registry.catalogue.query import Query
from registry.models import DocumentFacets, SearchDocument
from tests import factories, proven, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
GUEST = AnonymousUser()
SIZES = (10**6, 10**6 + 1, 10**9, 10**9 + 1, 0)


@shared.rows
def start():
    """Five published models of ada's with sizes at the edges of bounds; two are private."""
    ada, made = factories.somebody("ada"), []
    for index in range(len(SIZES)):
        fields = {"visibility": "private"} if index in (1, 4) else {}
        card = f"---\ntags: [common, 'odd: \"tag\" {index}']\nlicense: mit\n---\nText."
        version = factories.version(ada, factories.model(ada, f"net{index}", **fields), card=card)
        if index % 2:
            proven.conformance(version, [proven.measure("reference")])
        documents.refresh(version.model_id)
        made.append(version.model)
    return made


@pytest.fixture
def shelf(start, db):
    made = shared.fresh(start)
    for model, size in zip(made, SIZES, strict=True):
        SearchDocument.objects.filter(pk=model.pk).update(size=size, parameters=None)
    told_anew()
    return made


def told_anew():
    """Pairs that go with rows which a test wrote itself."""
    for row in SearchDocument.objects.prefetch_related("facts"):
        told = facets.pairs(row, [(fact.group, fact.value) for fact in row.facts.all()])
        DocumentFacets.objects.update_or_create(document=row, defaults={"pairs": told})


def by_rows(actor):
    """What each group would count, from the rows themselves."""
    counts = {group: Counter() for group in facets.GROUPS}
    for row in selectors.documents(actor):
        for group in ("task", "license", "precision"):
            counts[group][getattr(row, group)] += 1
        counts["namespace"][row.namespace_slug] += 1
        counts["opset_max"][str(row.opset)] += 1
        counts["opset"][str(row.opset)] += 1
        counts["keyword"].update(row.keywords)
        for fact in row.facts.all():
            if fact.group in counts:
                counts[fact.group][fact.value] += 1
        for bound in filters.MAX_SIZE.steps:
            counts["max_bytes"][str(bound)] += row.size <= bound
    for found in counts.values():
        found.pop("", None)
        found.pop("None", None)
    return counts


def test_counts_over_a_choice_are_those_of_the_rows(shelf, ada):
    for actor, models in ((ada, 5), (GUEST, 3)):
        expected = by_rows(actor)
        found = facets.count(actor, Query.of(namespace=("ada",)))
        uncounted = {"max_parameters", "max_macs", "max_memory"}
        for group in set(facets.GROUPS) - uncounted:
            assert dict(found[group]) == dict(expected[group]), group
        for group in uncounted:
            assert {count for _, count in found[group]} == {0}
            assert found.missing_counts[group] == models
        assert found.missing_counts["max_bytes"] == 0
    found = facets.count(ada, Query.of(license=("mit",)))
    assert dict(found["passes_on"]) == {"onnxruntime": 2}


def test_bounds_hold_at_their_edges(shelf, ada):
    counts = facets.count(ada, Query.of(license=("mit",)))["max_bytes"]
    assert counts == [("1000000", 2), ("10000000", 3), ("100000000", 3), ("1000000000", 4)]
    alone = facets.count(ada, Query.of(max_bytes=10**6))  # one column of each row is read
    assert alone["max_bytes"] == counts
    assert dict(alone["license"]) == {"mit": 2}


def test_a_text_follows_its_rows(shelf, ada):
    version = shelf[0].versions.get()
    assert "passes_on:" not in shelf[0].search_document.facets.pairs
    proven.conformance(version, [proven.measure("reference")])
    documents.refresh(shelf[0].pk)
    assert "passes_on:onnxruntime" in DocumentFacets.objects.get(pk=shelf[0].pk).pairs
    SearchDocument.objects.filter(pk=shelf[0].pk).delete()
    assert not DocumentFacets.objects.filter(pk=shelf[0].pk).exists()


def test_counting_costs_a_statement_for_each_choice(shelf, ada):
    facets.count(GUEST, Query())
    for query, most in (
        (Query.of(text="text"), 3),
        (Query.of(passes_on=("onnxruntime",), max_bytes=10**8), 3),
        # In three of these four, the licence is first asked for its few models.
        (Query.of(license=("mit",), task=("x",), precision=("fp32",)), 4 + 3),
    ):
        with CaptureQueriesContext(connection) as asked:
            facets.count(GUEST, query)
        assert len(asked) <= most, [one["sql"] for one in asked]
