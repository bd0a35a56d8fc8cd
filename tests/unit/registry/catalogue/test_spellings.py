"""Search finds a word by its other spellings: ß and ss, ö and oe or o, half-width kana."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from frontend.parts import highlighting
from registry.catalogue import search
from registry.catalogue.query import Query
from registry.core import outbox, spellings
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists"), pytest.mark.database]
TEXTS = {
    "german": "Erkennt Straßen und schöne Häuser.",
    "written-out": "Strassen, schoene Haeuser.",
    "japanese": "手書き カタカナ の認識",
    "half-width": "ﾃｶﾞｷ ｶﾀｶﾅ の認識",
    "nordic": "Smørrebrød på Ærø",
    "odd": "½ and ① and 'quoted' (or) near",
}


@pytest.fixture
def catalogue(db):
    ada = factories.somebody("ada")
    for name, text in TEXTS.items():
        factories.version(ada, factories.model(ada, name), card=f"# Title\n\n{text}")
    outbox.deliver()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("straßen", {"german", "written-out"}),
        ("strassen", {"german", "written-out"}),
        ("STRASSE", {"german", "written-out"}),
        ("schöne", {"german", "written-out"}),
        ("schoene häuser", {"german", "written-out"}),
        ("schone", {"german"}),
        ("haeuser", {"german", "written-out"}),
        ("ｶﾀｶﾅ", {"japanese", "half-width"}),
        ("ﾃｶﾞｷ カタカナ", {"half-width"}),
        ("テガキ", {"half-width"}),
        ("smorrebrod", {"nordic"}),
        ("smoerrebroed paa aeroe", {"nordic"}),
        ("½", {"odd"}),
        ("near", {"odd"}),
        ("or", {"odd"}),
    ],
)
def test_a_word_is_found_by_each_spelling(catalogue, text, names):
    page = search.find(AnonymousUser(), Query(text=text), limit=20)
    assert {row.title.partition("/")[2] for row in page.items} == names


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("plain", set()),
        ("Straße", {"strasse"}),
        ("schön", {"schoen", "schon"}),
        ("ﾃｶﾞｷ", {"テガキ"}),
        ("\uff21\uff22\uff23", {"abc"}),
        ("İzmir", {"izmir"}),
        ("½", {"12"}),
    ],
)
def test_spellings_of_a_word(word, others):
    assert spellings.others(word) == others


def test_an_ascii_text_has_none():
    assert spellings.of_text("a-plain text " * 9) == []
    assert spellings.of_text("Öl und öl") == ["oel", "ol"]


@pytest.mark.parametrize(
    ("text", "asked", "marked"),
    [
        ("die Straße hier", "strasse", ["Straße"]),
        ("die strasse hier", "straße", ["strasse"]),
        ("schöne", "schö", ["schö"]),
    ],
)
def test_a_match_in_another_spelling_is_marked(text, asked, marked):
    assert [part for part, hit in highlighting.parts(text, asked) if hit] == marked
