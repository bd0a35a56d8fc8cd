"""The list's page: its query, its boxes, suggestions, marks; and what the first page tells."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from frontend.parts import highlighting
from tests import factories, proven, shared, shelf

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


@shared.rows
def start():
    ada = factories.somebody("ada")
    one = shelf.publish(ada, "resnet50", license="mit", pipeline_tag="image-classification")
    shelf.publish(ada, "secret-resnet", license="mit", visibility="private")
    return one


@pytest.fixture
def two(start, db):
    return shared.fresh(start)


def suggested(reader, text):
    return reader.get("/models/suggest", {"q": text}).json()["items"]


def queries(reader, path):
    reader.page(path)
    with CaptureQueriesContext(connection) as asked:
        reader.page(path)
    return len(asked)


@pytest.mark.capability("sparql")
def test_the_query_stands_above_the_rows(guest, two):
    html = guest.page("/models?license=mit&sort=name")
    query = unescape(re.search(r'id="list-query"[^>]*><code>(.*?)</code>', html, re.DOTALL)[1])
    assert "dcterms:license <http://spdx.org/licenses/MIT>" in query
    assert query.endswith("ORDER BY ?name\n")
    assert re.search(r'<details class="menu asked-as" name="menu">', html)  # closed
    link = unescape(re.search(r'href="(/query\?query=[^"]+)"', html)[1])
    assert "?version" in guest.page(link)


@pytest.mark.capability("sparql")
def test_what_it_cannot_say_stands_beside_it(guest, reader, two):
    assert "Downloads are not in the graphs" in guest.page("/models?sort=downloads")
    assert "full-text index" in guest.page("/models?q=resnet50")
    assert "Private models are not in the graphs" in reader.page("/models")
    assert "Private models" not in guest.page("/models")


@pytest.mark.capability("sparql")
def test_a_long_query_is_sent_by_a_form(guest, two):
    address = "/models?" + "&".join(f"keyword={index}{'x' * 300}" for index in range(20))
    html = guest.page(address)
    assert 'form="ask-list"' in html
    assert '<form id="ask-list" action="/query" method="post">' in html


def test_rows_can_be_picked(guest, two):
    html = guest.page("/models")
    assert 'name="m" value="ada/resnet50" form="compare"' in html
    assert '<form id="compare" action="/compare"></form>' in html
    assert 'form="compare"' not in guest.page("/")


def test_suggestions_mark_what_matches(guest, reader, two):
    (found,) = suggested(guest, "resnet")
    assert found == {
        "url": "/models/ada/resnet50",
        "parts": [["ada/", False], ["resnet", True], ["50", False]],
        "task": "Image classification",
    }
    assert suggested(guest, "resnte50")[0]["parts"] == [["ada/", False], ["resnet50", True]]
    assert suggested(guest, "") == suggested(guest, "secret") == []
    assert [row["url"] for row in suggested(reader, "secret")] == ["/models/ada/secret-resnet"]


def test_suggestions_ask_little(guest, ada, two):
    before = queries(guest, "/models/suggest?q=resnet")
    for index in range(9):
        factories.version(ada, factories.model(ada, f"resnet-{index}"))
    assert queries(guest, "/models/suggest?q=resnet") == before <= 3
    assert len(suggested(guest, "resnet")) == 8
    assert queries(guest, "/models/suggest?q=resnwt") <= 7


def test_matches_are_marked_in_the_list(guest, two):
    html = guest.page("/models?q=RESN")
    assert "<b><mark>resn</mark>et50</b>" in html
    assert "<mark>" not in guest.page("/models")


@pytest.mark.parametrize(
    ("text", "asked", "marked"),
    [
        ("ada/resnet50", "res net", ["res"]),
        ("ada/resnet50-int8", "int8 resnet50", ["resnet50", "int8"]),
        ("Größe", "grö", ["Grö"]),
        ("a resnet", "esnet", ["resnet"]),
        ("a net", "zzzz", []),
        ("<b>bold</b>", "bold", ["bold"]),
        ("İİİİ x", "x", ["x"]),
        ("", "x", []),
    ],
)
def test_pieces_make_the_text_again(text, asked, marked):
    parts = highlighting.parts(text, asked)
    assert "".join(part for part, _ in parts) == text
    assert [part for part, hit in parts if hit] == marked


def test_marks_let_nothing_through(guest, ada):
    shelf.publish(ada, "odd", summary='"<i>bold</i> & more here."')
    assert "&lt;i&gt;<mark>bold</mark>&lt;/i&gt; &amp; more" in guest.page("/models?q=bold")


@pytest.mark.capability("sparql")
def test_home_tells_what_is_known(guest, ada, two):
    measured = proven.conformance(two, [proven.measure("reference"), proven.measure("bundled")])
    assert len(measured) == 2
    html = guest.page("/")
    assert '<a href="/models?passes_on=onnxruntime">1 pass on ONNX Runtime</a>' in html
    assert html.count('href="/query?example=') == 4
    assert "<b>Conformance.</b>" in html
    assert "2 of 2 pass" in html
    for slug in re.findall(r"/query\?example=([a-z-]+)", html):
        assert "<textarea" in guest.page(f"/query?example={slug}")


def test_home_tells_guests_nothing_of_what_is_private(guest, reader, ada):
    hidden = shelf.publish(ada, "unseen", license="mit", visibility="private")
    proven.conformance(hidden, [proven.measure("reference")])
    assert "unseen" not in guest.page("/")
    assert "<b>Conformance.</b>" not in guest.page("/")
    assert "ada/unseen@1" in reader.page("/")


def test_home_asks_as_much_whatever_there_is(guest, ada, two):
    proven.conformance(two, [proven.measure("reference")])
    before = queries(guest, "/")
    for index in range(4):
        more = shelf.publish(ada, f"more{index}", license="mit")
        proven.conformance(more, [proven.measure("reference"), proven.measure("bundled")])
    assert queries(guest, "/") == before


def test_the_answer_is_json(guest, two):
    answer = guest.get("/models/suggest?q=r")
    assert answer["Content-Type"] == "application/json"
    assert json.loads(answer.content)["items"]
    assert answer["ETag"]


def test_filters_are_closed_but_for_the_first_and_what_is_chosen(guest, two):
    def groups(path):
        return re.findall(r'data-group="([a-z_]+)"( open)?', guest.page(path))

    closed = groups("/models")
    assert [name for name, is_open in closed if is_open] == ["task"]
    assert len(closed) > 4
    licence_groups = groups("/models?license=apache-2.0")
    assert [name for name, is_open in licence_groups if is_open] == ["task", "license"]
