"""Invisible characters that reorder text: named in messages, taken out of titles."""

from __future__ import annotations

import pytest
from django.template import Context, Template

from hub.protocol import bidi, problems, refs


@pytest.mark.parametrize(
    ("char", "name"),
    [
        ("\u202e", "U+202E (right-to-left override)"),
        ("\u2066", "U+2066 (left-to-right isolate)"),
        ("\u200f", "U+200F (right-to-left mark)"),
    ],
)
def test_a_path_with_a_control_is_refused_and_the_control_named(char, name):
    with pytest.raises(problems.PathInvalid) as error:
        refs.check_path(f"weights{char}.bin")
    assert name in str(error.value.detail)


def test_a_line_may_have_marks_and_no_overrides():
    bidi.expect_none("/title", "\u05e9\u05dc\u05d5\u05dd\u200f!")
    with pytest.raises(problems.InvalidRequest) as error:
        bidi.expect_none("/title", "a\u202eb")
    assert error.value.errors == (
        {
            "pointer": "/title",
            "detail": "The title holds the invisible character U+202E (right-to-left override). "
            "Remove it.",
        },
    )


def test_titles_lose_what_reorders_the_words_beside():
    template = Template(
        "{% load parts %}{% filter isolated %}{{ text }} · Model hub{% endfilter %}"
    )
    title = template.render(Context({"text": "<evil\u202e"}))
    assert title == "&lt;evil · Model hub"
