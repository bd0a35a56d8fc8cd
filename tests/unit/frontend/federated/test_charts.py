"""Plots: round numbers on both axes, points where their numbers are, and the same in words."""

from __future__ import annotations

import re

import pytest

from frontend.pages.federated import trainings
from frontend.parts.svg import charts
from registry.federated.models import Contribution


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.12, 0.31, [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]),
        (0.0, 0.0, [-0.5, 0, 0.5]),
        (0.5, 0.5, [0.4, 0.6]),
        (1e-8, 3e-8, [1e-8, 1.5e-8, 2e-8, 2.5e-8, 3e-8]),
        (-3.0, 4.0, [-4, -2, 0, 2, 4]),
    ],
)
def test_ticks_are_round_and_hold_every_value(low, high, expected):
    assert charts.ticks(low, high) == pytest.approx(expected)


def test_steps_of_rounds_are_whole():
    assert charts.ticks(1, 2, whole=True) == [1, 2]
    assert charts.ticks(3, 50, whole=True) == [0, 20, 40, 60]


def test_a_plot_has_the_words_of_both_axes():
    points = [charts.Point(1, 0.12), charts.Point(2, 0.31), charts.Point(5, 0.2, "of-grey")]
    html = charts.plot(points, across="round", down="norm <x>", words="From 0.12 to 0.2.")
    rungs = re.findall(r'y="([\d.]+)%" text-anchor="end"[^>]*>([^<]+)<', html)
    assert [words for _, words in rungs] == ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35"]
    assert re.findall(r'x="([\d.]+)%"[^>]*>(\d)<', html) == [
        ("4.0", "1"), ("27.0", "2"), ("50.0", "3"), ("73.0", "4"), ("96.0", "5"),
    ]  # fmt: skip
    heights = {words: place for place, words in rungs}
    assert f'<path class="point of-grey" d="M96.0 {heights["0.2"]}h0"/>' in html
    assert html.count("h100") == len(rungs)
    assert "<figcaption" in html
    assert "From 0.12 to 0.2." in html
    assert "norm &lt;x&gt; ↑" in html
    assert charts.plot(points[:1], across="", down="", words="") == ""


def test_columns_stand_on_zero_and_carry_what_was_left_out_on_top():
    html = charts.columns(
        [charts.Column(1, 3), charts.Column(2, 0, 2)], across="round", down="n", words="Words."
    )
    rungs = dict(re.findall(r'y="([\d.]+)%" text-anchor="end"[^>]*>([^<]+)<', html))
    heights = {words: float(place) for place, words in rungs.items()}
    assert heights["0"] == 92
    assert f'class="column" d="M0 92.0h8.0V{heights["3"]}h-8.0z"' in html
    assert f'class="column grey" d="M92 92.0h8.0V{heights["2"]}h-8.0z"' in html
    assert "Words." in html
    assert charts.columns([charts.Column(1, 3)], across="", down="", words="") == ""


def given(norm, state="used"):
    return trainings.ContributionRow(Contribution(state=state), norm, None, None)


def test_norms_of_a_round_are_told_in_words_too():
    html = trainings.spread([given(0.3), given(None), given(0.1), given(9.0, "rejected")])
    assert "From 0.1 to 9, median 0.3. Not used (grey): 9." in html
    assert html.count("of-grey") == 1
    many = trainings.spread([given(float(value), "rejected") for value in range(1, 9)])
    assert "(grey): 1, 2, 3, 4, 5 and 3 more." in many
    assert trainings.spread([given(1.0)]) == ""
    assert trainings.spread([]) == ""
