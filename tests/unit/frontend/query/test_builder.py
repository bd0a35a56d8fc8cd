"""Questions without SPARQL: words and conditions become the query of a list, which is run."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict

from frontend.pages.query import builder
from hub.protocol.filters import FILTERS
from registry.catalogue.query import Query
from tests import factories, shared, shelf

pytestmark = [
    pytest.mark.capability("sparql"),
    pytest.mark.django_db,
    pytest.mark.usefixtures("lists"),
]


@shared.rows
def start():
    ada = factories.somebody("ada")
    shelf.publish(ada, "digits", pipeline_tag="image-classification")
    shelf.publish(ada, "wine", pipeline_tag="tabular-classification")
    shelf.publish(ada, "hidden", pipeline_tag="image-classification", visibility="private")
    return ada


@pytest.fixture
def two(start, db):
    return shared.fresh(start)


def read(text, actor):
    return builder.read(QueryDict(text), actor)


def test_conditions_become_filters_with_their_units(two):
    built = read(
        "condition=personal_data&value=yes&condition=max_bytes&value=10&condition=&value="
        "&condition=max_p50&value=2.5&condition=task&value=translation",
        two,
    )
    assert built.query == Query.of(
        task=("translation",),
        personal_data=("yes",),
        max_bytes=10_000_000,
        max_p50=2.5,
        sort="fastest",
    )


def test_words_and_conditions_hold_together(two):
    built = read("words=translation+models+under+10+MB&condition=precision&value=int8", two)
    expected = {"precision": ("int8",), "task": ("translation",), "max_bytes": 10**7}
    assert built.query == Query.of(**expected, sort="size")


@pytest.mark.parametrize(
    ("condition", "value", "words"),
    [
        ("max_bytes", "many", "Enter a number (MB)."),
        ("opset_max", "17.5", "Enter a number (version)."),
        ("task", "baking", "Choose a value."),
        ("keyword", "", "Enter a value."),
    ],
)
def test_an_incomplete_condition_says_what_it_needs(guest, two, condition, value, words):
    html = guest.page(f"/query?condition={condition}&value={value}")
    assert re.search(rf'role="alert">{re.escape(words)}<', html)
    assert 'id="outcome"' not in html


def test_nothing_chosen_is_the_plain_page(two):
    assert read("condition=&value=&condition=unknown&value=1&words=", two) is None


def test_every_property_is_a_parameter_of_the_list():
    values = {
        name: next(iter(getattr(row, "values", None) or ["17"])) for name, row in FILTERS.items()
    }
    text = "&".join(f"condition={name}&value={value}" for name, value in values.items())
    assert read(text, AnonymousUser()).query is not None


def test_the_page_shows_the_query_that_the_words_make(guest, two):
    html = guest.page("/query?words=image+classifiers+under+10+MB")
    query = unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", html, re.DOTALL)[1])
    assert "/tasks/image-classification>" in query
    assert "FILTER(?size <= 10000000)" in query
    assert 'value="image classifiers under 10 MB"' in html
    chips = html[html.index("Understood as") : html.index("Open as a list of models")]
    plain = " ".join(re.sub(r"<[^>]*>", " ", unescape(chips)).split())
    assert plain.startswith("Understood as Task Image classification Maximum size 10")
    assert "/models?task=image-classification&amp;max_bytes=10000000" in chips


def test_other_words_are_searched_as_text(guest, two):
    html = guest.page("/query?words=banana")
    assert "Text</span> banana" in html


def test_days_points_and_names_of_models_are_values(two):
    built = read(
        "condition=published_since&value=2026-01-31&condition=max_accuracy_loss&value=1.5"
        "&condition=derived_from&value=ada/digits&condition=risk&value=unmitigated",
        two,
    )
    assert built.query == Query.of(
        published_since="2026-01-31",
        max_accuracy_loss=1.5,
        derived_from=("ada/digits",),
        risk=("unmitigated",),
    )
    wrong = read("condition=published_until&value=2026-13-01", two)
    assert wrong.query is None
    assert "2026-01-31" in wrong.rows[0].error
