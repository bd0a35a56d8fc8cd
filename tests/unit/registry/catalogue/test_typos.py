"""One typo in a name is tolerated, where nothing that the reader may see is spelt so."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.catalogue import facets, full_text, search
from registry.catalogue.query import Query
from registry.core import typos
from tests import factories, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
GUEST = AnonymousUser()


@shared.rows
def start():
    ada = factories.somebody("ada")
    for name in ("resnet50-int8", "mobilenetv2", "yolov8", "other"):
        factories.version(ada, factories.model(ada, name), card="---\nlicense: mit\n---\nPlain.")
    hidden = factories.model(ada, "mobilnet-secret", visibility="private")
    factories.version(ada, hidden, card="---\nlicense: mit\n---\nText with resnte50 in it.")


@pytest.fixture
def shelf(start, db):
    """Models by their names, one of them private."""


def names(actor, text, **more):
    page = search.find(actor, Query.of(text=text, **more))
    return [row.title.partition("/")[2] for row in page.items]


def test_neighbours_are_one_keystroke_away():
    found = typos.neighbours("abcd")
    assert {"abc", "bcd", "bacd", "abdc", "xbcd", "abcx", "abcde", "aabcd", "a1bcd"} <= set(found)
    assert "abcd" not in found
    assert "badc" not in found
    assert all(abs(len(word) - 4) <= 1 for word in found)


def test_only_known_words_are_asked_for():
    words = sorted(["resnet50", "resnet", "resnext", "rest", "other"])
    assert typos.corrections("resnte5", words) == ["resnet50"]
    assert typos.corrections("resnte", words) == ["resnet", "resnet50", "resnext"]
    assert typos.corrections("resne", words) == ["resnet", "resnet50", "resnext"]
    assert typos.expression(["zzzzzz"], words, "sqlite") == ""
    assert typos.expression(["resnte", "a", "b", "c", "d"], words, "sqlite") == ""
    many = [f"resnet{index:05}" for index in range(1000)]
    assert len(typos.corrections("resnte", many)) == 50
    asked = typos.expression(["resnte50", "int8"], words, "postgresql")
    assert asked == "((resnet50:A) & int8:*)"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("resnte50", "resnet50-int8"),
        ("rsnet50", "resnet50-int8"),
        ("ressnet50", "resnet50-int8"),
        ("tesnet50", "resnet50-int8"),
        ("resnwt", "resnet50-int8"),
        ("mobilnet", "mobilenetv2"),
        ("MobilNet", "mobilenetv2"),
        ("yolo8", "yolov8"),
        ("resnte50 int8", "resnet50-int8"),
        ("ada/resnte50", "resnet50-int8"),
    ],
)
def test_a_name_with_one_typo_is_found(shelf, text, name):
    assert names(GUEST, text) == [name]
    for sort in ("name", "downloads", "size"):
        assert names(GUEST, text, sort=sort) == [name]


def test_two_typos_and_short_words_are_not(shelf):
    assert names(GUEST, "resnet50") == ["resnet50-int8"]
    assert names(GUEST, "rasnte50") == []
    assert names(GUEST, "in8") == []
    assert names(GUEST, "resnte50 imt8") == []
    assert names(GUEST, "plian") == []  # a word of the text, not of a name


def test_what_is_hidden_decides_nothing(shelf, ada):
    """A guest is corrected although a private text holds the very word; its owner finds that."""
    assert names(GUEST, "resnte50") == ["resnet50-int8"]
    assert names(ada, "resnte50") == ["mobilnet-secret"]
    assert names(GUEST, "mobilnet") == ["mobilenetv2"]
    assert names(ada, "mobilnet") == ["mobilnet-secret"]
    assert not [word for word in full_text._name_words() if word.startswith(("mobilnet", "secr"))]


def test_counts_go_with_the_list(shelf):
    query = Query.of(text="resnte50")
    assert dict(facets.count(GUEST, query)["license"]) == {"mit": 1}
    assert search.find(GUEST, query).count == 1
    # A filter that leaves nothing is no typo.
    assert names(GUEST, "resnet50", license=("apache-2.0",)) == []


def test_questions_do_not_grow_with_the_shelf(shelf, ada):
    names(GUEST, "resnte50")  # the words of names are kept from now on
    with CaptureQueriesContext(connection) as first:
        names(GUEST, "resnte50")
    for index in range(5):
        factories.version(ada, factories.model(ada, f"resnet5{index}-more"))
    with CaptureQueriesContext(connection) as second:
        names(GUEST, "resnte50")
    assert len(first) == len(second) <= 7


def test_nothing_but_letters_reaches_the_index(shelf):
    for text in ('"resn" OR', "resn:*", "(resnet", "res'net50", "*" * 40, "ß" * 10, "x" * 199):
        names(GUEST, text)
