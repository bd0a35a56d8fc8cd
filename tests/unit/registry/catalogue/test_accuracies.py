"""Limits of accuracy: the figures that lists keep, and what each reader is offered."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.catalogue import accuracies, search
from registry.catalogue.query import Query
from tests import measured

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
GUEST = AnonymousUser()


def test_lists_keep_the_figures_of_main_variants_and_offer_what_the_reader_may_see(ada):
    measured.fill(ada)
    query = Query.of(sort="accuracy", accuracy=accuracies.limits(["accuracy@stones:test=0.5"], []))
    titles = [row.title for row in search.find(GUEST, query).items]
    assert titles == ["ada/good", "ada/fair", "ada/again", "ada/poor", "ada/half"]
    exact = Query.of(sort="accuracy", accuracy=accuracies.limits(["accuracy@stones:test=0.7"], []))
    assert [row.title for row in search.find(GUEST, exact).items] == titles[:3]
    offers = {offer[:3]: offer.models for offer in accuracies.offers(GUEST)}
    assert offers["accuracy", "stones", "test"] == 5
    own = {offer[:3]: offer.models for offer in accuracies.offers(ada)}
    assert own["accuracy", "stones", "test"] == 6
