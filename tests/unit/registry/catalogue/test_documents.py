"""Documents follow rows, and one that is right already is checked with few statements."""

from __future__ import annotations

import pytest

from registry.catalogue import documents
from registry.models import DocumentKeyword, SearchDocument
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


@pytest.mark.capability("federated")
def test_a_document_that_is_right_costs_few_statements(ada, django_assert_num_queries):
    version = factories.version(ada)
    before = SearchDocument.objects.values().get()
    with django_assert_num_queries(21):
        documents.refresh(version.model_id)
    assert SearchDocument.objects.values().get() == before


def test_a_document_that_was_lost_is_made_again_and_a_wrong_one_mended(ada):
    version = factories.version(ada)
    right = SearchDocument.objects.values().get()
    words = set(DocumentKeyword.objects.values_list("word", flat=True))
    facts = set(SearchDocument.objects.get().facts.values_list("group", "value"))
    pairs = SearchDocument.objects.get().facets.pairs
    SearchDocument.objects.all().delete()
    documents.refresh(version.model_id)
    assert SearchDocument.objects.values().get() == right
    document = SearchDocument.objects.get()
    document.words.filter(word="digits").update(word="wrong")
    document.facts.filter(group="operator").first().delete()
    document.facts.create(group="operator", value="Wrong")
    SearchDocument.objects.update(title="wrong", latest=None, keywords=["wrong"])
    document.facets.delete()
    documents.refresh(version.model_id)
    assert SearchDocument.objects.values().get() == right
    document = SearchDocument.objects.get()
    assert set(document.words.values_list("word", flat=True)) == words >= {"digits", "tiny"}
    assert set(document.facts.values_list("group", "value")) == facts
    assert document.facets.pairs == pairs
