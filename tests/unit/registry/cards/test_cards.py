"""Cards: what is read of them, and what is refused with the line that is wrong."""

from __future__ import annotations

import pytest

from hub.protocol import problems
from hub.protocol.cards import Card
from registry.cards import cards, fields
from registry.versions.services import files
from tests import factories


def test_a_card_is_read():
    checked = cards.accept(
        "---\nlicense: mit\npipeline_tag: text-generation\ntags: [a, b]\ndate: 2026-01-02\n---\n"
        "# Title\n\nIt *writes* text. More."
    )
    card = checked.card
    assert (card.licenses, card.task, card.keywords) == (("mit",), "text-generation", ("a", "b"))
    assert checked.front["date"] == "2026-01-02"
    assert cards.summary(card.summary, checked.body) == "It writes text. More."
    assert checked.body.startswith("# Title")


def test_a_summary_is_plain_words():
    text = "It reads ![x](a.png)*all* of [these labels](labels.txt), my_file too."
    body = cards.accept(text).body
    assert cards.summary("", body) == "It reads all of these labels, my_file too."


def test_a_summary_is_prose_without_formulas_where_there_is_some():
    first = "The loss is $L = -\\sum_i p_i$ here."
    assert cards.summary("", f"# A\n\n{first}\n\nIt tells apart.") == "It tells apart."
    assert cards.summary("", f"# A\n\n{first}") == first


def test_a_text_without_front_matter_is_a_card():
    card = cards.accept("# Title\n\nSome words that say it. And others.")
    assert card.front == {}
    assert cards.summary("", card.body) == "Some words that say it."


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("---\nlicense: [mit\n---\n", "/line/2"),
        ("---\na: 1\n  b: 2\n---\n", "/line/3"),
        ("---\n- a\n---\n", "/line/2"),
        ("---\na: &x 1\nb: *x\n---\n", "/line/3"),
        ("---\ntags: {a: 1}\n---\n", "/tags"),
        ("---\nvalue: .nan\n---\n", "/value"),
    ],
)
def test_what_is_wrong_is_named(text, pointer):
    with pytest.raises(problems.CardInvalid) as refused:
        cards.accept(text)
    assert refused.value.errors[0]["pointer"] == pointer


def test_constructors_are_not_run():
    for tag in ("python/object/apply:os.system", "set", "omap"):
        with pytest.raises(problems.CardInvalid, match="means nothing in a card"):
            cards.accept(f"---\na: !!{tag} ['true']\n---\n")


def test_a_card_has_a_size():
    with pytest.raises(problems.CardInvalid):
        cards.accept("x" * (cards.LIMIT_BYTES + 1))


@pytest.mark.django_db
def test_the_typed_card_is_the_one_saved_last(ada):
    version = factories.draft(ada, card="---\nlicense: mit\n---\n")
    assert version.typed_card.licenses == ("mit",)
    files.take_card(version, b"---\nlicense: [apache-2.0, mit]\n---\n")
    assert version.typed_card.licenses == ("apache-2.0", "mit")
    files.save_card(version, {}, "")
    assert version.typed_card == Card()


def test_what_a_training_inherits_are_fields_of_cards():
    assert set(fields.INHERITED) <= set(fields.FIELDS)
