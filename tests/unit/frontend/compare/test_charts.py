"""Charts of compared models: accuracy with its interval on one split, and bars of amounts."""

from __future__ import annotations

import re

import pytest

from tests import factories, measured, pages, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    ada = factories.somebody("ada")
    measured.fill(ada)
    return ada


@pytest.fixture
def filled(start, db):
    return shared.fresh(start)


def cells(html, title):
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    found = next(row for row in rows if f'<th scope="row">{title}<' in row)
    return re.findall(r"<td([^>]*)>(.*?)</td>", found, re.DOTALL)


def test_accuracy_of_one_split_has_intervals_a_best_and_a_difference(guest, filled):
    html = guest.page("/compare?m=ada/poor&m=ada/fair")
    (_, poor), (best, fair) = cells(html, "Accuracy")
    assert "55\N{NARROW NO-BREAK SPACE}% to 65\N{NARROW NO-BREAK SPACE}%" in poor
    assert best == ' class="best"'
    assert "+30\N{NARROW NO-BREAK SPACE}points" in fair
    chart = pages.tree(html).find(".//section[@aria-labelledby='chart-accuracy']")
    assert [pages.text(name) for name in chart.iterfind(".//b")] == ["ada/poor", "ada/fair"]
    assert len(chart.findall(".//path[@class='at']")) == 2


def test_accuracy_of_different_data_is_not_compared(guest, filled):
    html = guest.page("/compare?m=ada/good&m=ada/other")
    texts = [text for _, text in cells(html, "Accuracy")]
    assert all("points" not in text for text in texts)
    assert 'id="chart-accuracy"' not in html


def test_charts_are_chosen_by_links_and_the_choice_moves_along(guest, filled):
    html = guest.page("/compare?m=ada/poor&m=ada/fair")
    choices = pages.tree(html).find(".//section[@aria-labelledby='charts']/header/p")
    links = {
        pages.text(link): (link.get("aria-current"), link.get("href"))
        for link in choices.iterfind("a")
    }
    assert links["Accuracy"] == ("true", "/compare?m=ada/poor&m=ada/fair&chart=latency#charts")
    assert links["Latency, p50"][0] == "true"
    one = guest.page("/compare?m=ada/poor&m=ada/fair&chart=latency")
    assert "chart-accuracy" not in one
    assert 'id="chart-latency"' in one
    assert 'href="/compare?m=ada/fair&amp;chart=latency" aria-label="Remove ada/poor"' in one
    none = guest.page("/compare?m=ada/poor&m=ada/fair&chart=none")
    assert 'id="charts"' in none
    assert 'id="chart-' not in none
    answer = guest.get("/compare?m=ada/poor&chart=latency&chart=accuracy&chart=other&m=ada/fair")
    assert answer["Location"] == "/compare?m=ada/poor&m=ada/fair&chart=accuracy&chart=latency"
