"""Charts of compared models: accuracy with its interval on one split, and bars of amounts."""

from __future__ import annotations

import re

import pytest

from tests import factories, measured, shared

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
    assert poor.count('<path class="at"') == fair.count('<path class="at"') == 1


def test_accuracy_of_different_data_is_not_compared(guest, filled):
    html = guest.page("/compare?m=ada/good&m=ada/other")
    texts = [text for _, text in cells(html, "Accuracy")]
    assert all('class="at"' not in text and "points" not in text for text in texts)
