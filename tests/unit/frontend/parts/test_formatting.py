"""Numbers, sizes and times as pages write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from frontend.parts import formatting
from frontend.parts.formatting import MINUS, NARROW

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, f"1{NARROW}k"),
        (2_784_000, f"2.78{NARROW}M"),
        (12_000_000, f"12{NARROW}M"),
        (999_600, f"1{NARROW}M"),
        (999_400, f"999{NARROW}k"),
        (7_000_000_000, f"7{NARROW}G"),
    ],
)
def test_quantity_has_decimal_multiples_and_three_digits(number, text):
    assert formatting.quantity(number) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, f"0{NARROW}B"),
        (999, f"999{NARROW}B"),
        (5_000, f"5{NARROW}kB"),
        (11_200_000, f"11.2{NARROW}MB"),
        (20_000_000_000, f"20{NARROW}GB"),
    ],
)
def test_size_is_decimal(count, text):
    assert formatting.size(count) == text


def test_thousands_are_apart_and_minus_is_a_minus():
    assert formatting.grouped(1_234_567) == f"1{NARROW}234{NARROW}567"
    assert formatting.grouped(-12) == f"{MINUS}12"
    assert formatting.rounded(-0.0416) == f"{MINUS}0.0416"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00007, f"70{NARROW}µs"),
        (0.00706, f"7.06{NARROW}ms"),
        (3.2, f"3.2{NARROW}s"),
        (125, f"2{NARROW}min 5{NARROW}s"),
        (12_000, f"3{NARROW}h 20{NARROW}min"),
    ],
)
def test_duration_takes_the_unit_that_fits(seconds, text):
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=61), "2 months ago"),
        (timedelta(days=-90), "in 3 months"),
    ],
)
def test_relative_time(before, text):
    assert formatting.relative(NOW - before, NOW) == text


def test_exact_time_is_utc():
    assert formatting.exact(NOW) == "2026-03-01 12:00:00 UTC"


def test_plural():
    assert formatting.plural(1, "model") == "1 model"
    assert formatting.plural(0, "model") == "0 models"
    assert formatting.plural(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (12.0, "12"),
        (640, "640"),
        (0.0312, "0.0312"),
        (2.4e-7, f"2.4e{MINUS}7"),
        (-2.4e-7, f"{MINUS}2.4e{MINUS}7"),
        (1.5e9, "1.5e9"),
        ("inf", "infinite"),
        (float("inf"), "infinite"),
        ("nan", "not a number"),
        ("anything", ""),
        (None, ""),
        (True, ""),
        ([1], ""),
    ],
)
def test_figure_of_any_size_and_of_what_json_cannot_say(value, text):
    assert formatting.figure(value) == text


def test_a_share_is_never_rounded_up_to_all():
    assert formatting.share(1) == f"100{NARROW}%"
    assert formatting.share(0.99996) == f"99.99{NARROW}%"
    assert formatting.share(0.996) == f"99.6{NARROW}%"
    assert formatting.share(0) == f"0{NARROW}%"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([3, 3], "3 rounds"),
        ([1], "1 round"),
        ([7, 3, 5], "3 to 7 rounds"),
        ([0, 1], "0 to 1 round"),
    ],
)
def test_a_spread_of_equal_counts_is_one_count(counts, words):
    assert formatting.spread(counts, "round") == words
