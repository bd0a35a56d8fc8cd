"""Phrases that all rooms write alike."""

from __future__ import annotations

import pytest

from hub.protocol import phrases


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("digits", "digits"), ("digits of forms", "digits…"), ("digit forms", "digit…")],
)
def test_texts_are_cut_with_a_mark(text, expected):
    assert phrases.ellipsis(text, 7) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [((), ""), (("A",), "A"), (("A", "B"), "A and B"), ((1, 2, 3), "1, 2 and 3")],
)
def test_items_are_joined_to_a_phrase(items, expected):
    assert phrases.conjunction(items) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [((), ""), (("A", "B"), "A, B"), (("A", "B", "C", "D"), "A, B and 2 more")],
)
def test_long_lists_say_how_many_words_are_left_out(words, expected):
    assert phrases.enumeration(words, 2) == expected
