"""A text within names and summaries: the same answer on every database, from an index on one."""

import json

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import F

from registry.catalogue import search, substrings
from registry.catalogue.query import Query
from registry.core import outbox
from registry.models import SearchDocument
from tests import factories, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    """Four published models of ada's with summaries of their own, and one draft."""
    ada = factories.somebody("ada")
    summaries = {
        "digits-5x": "Reads 100% of q-codes_here",
        "street": "Straße und 图像分类",
        "plain": "",
        "x": "Zq, it says; a b",
    }
    for name in summaries:
        factories.version(ada, factories.model(ada, name))
    outbox.deliver()
    for name, summary in summaries.items():
        row = SearchDocument.objects.get(model__name=name)
        row.latest |= {"summary": summary}
        row.save()
    factories.model(ada, "zq-draft")


@pytest.fixture(autouse=True)
def rows(start, db):
    return shared.fresh(start)


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("digit", ["digits-5x"]),
        ("DIGIT", ["digits-5x"]),
        ("ada", []),  # the namespace is neither name nor summary
        ("a/d", []),
        ("5x", ["digits-5x"]),
        ("x", ["digits-5x", "x"]),
        ("zq", ["x"]),
        ("0%", ["digits-5x"]),
        ("%", ["digits-5x"]),
        ("codes_here", ["digits-5x"]),
        ("codes-here", []),
        ("s_h", ["digits-5x"]),
        ("q-c", ["digits-5x"]),
        (", i", ["x"]),
        ("a b", ["x"]),
        ("图像", ["street"]),
        ("图像分", ["street"]),
        ("像图", []),
        ("straße", ["street"]),
        ("qj", []),
        ("plai", ["plain"]),
    ],
)
def test_a_text_is_in_the_name_or_the_summary(text, names):
    page = search.find(AnonymousUser(), Query.of(contains=text, sort="name"))
    assert [row.title.removeprefix("ada/") for row in page.items] == names
    assert page.count == len(names)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite looks into every row")
@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("digit", {"search_part_of_title", "search_part_of_summary"}),
        ("5x", {"search_short_part"}),
        ("a b", {"search_short_part"}),
        ("z", {"search_short_part"}),
    ],
)
def test_postgresql_asks_the_index_that_knows_the_text(text, indexes):
    rows = SearchDocument.objects.filter(substrings.contain(text)).order_by(F("body"))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
        sql, parameters = rows.query.sql_with_params()
        cursor.execute(f"EXPLAIN (FORMAT json) {sql}", parameters)
        plan = cursor.fetchone()[0]
    assert {name for name in _index_names(plan) if name.startswith("search_")} == indexes


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite looks into every row")
def test_postgresql_knows_that_pairs_of_characters_are_dear():
    """Else it walks all models in the order of a list: 16 s for 300,000 where 23 ms will do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT procost FROM pg_proc WHERE proname = 'registry_character_pairs'")
        assert cursor.fetchone()[0] >= 10_000


def _index_names(plan):
    text = plan if isinstance(plan, str) else json.dumps(plan)
    return {part.split('"')[0] for part in text.split('"Index Name": "')[1:]}
