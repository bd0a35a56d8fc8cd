"""Numbers and times that a browser can write in the format of its reader."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.template import Context, Template

from frontend.parts import local_numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1\u202f234\u202f567", "1234567"),
        ("11.2\u202fMB", "11.2"),
        ("\u22121\u202f234", "-1234"),
        ("12\u202f500 downloads", "12500"),
        ("98.33\u202f%", "98.33"),
    ],
)
def test_a_number_that_readers_write_differently_is_marked(text, value):
    assert local_numbers.mark(text) == f'<data value="{value}">{text}</data>'


@pytest.mark.parametrize(
    "text", ["640", "5\u202fkB", "12 models", "2.4e\u22127", "1.26.0", "infinite", "", "<b>1.5"]
)
def test_other_texts_stay(text):
    assert local_numbers.mark(text) == text


def write(template, **context):
    return Template("{% load parts %}" + template).render(Context(context))


def test_times_say_how_they_are_written():
    at = datetime(2026, 5, 3, 12, 30, 1, tzinfo=UTC)
    text = "2026-05-03 12:30:01 UTC"
    assert write("{% exact_time at %}", at=at) == (
        f'<time datetime="2026-05-03T12:30:01+00:00" data-exact="">{text}</time>'
    )
    both = write("{% when at both=True %}", at=at)
    assert f">{text} (" in both
    assert "ago)</time>" in both
    assert f'title="{text}"' in write("{% when at %}", at=at)


def test_filters_mark_numbers():
    assert write("{{ n|size }}", n=11_240_000) == '<data value="11.2">11.2\u202fMB</data>'
    assert write("{{ n|size }}", n=640) == "640\u202fB"
    assert write('{% count n "file" %}', n=1200) == '<data value="1200">1\u202f200 files</data>'
