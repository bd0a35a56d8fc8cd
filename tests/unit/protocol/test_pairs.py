"""Two models on the same rows: the exact test, and bits that do not fit."""

from __future__ import annotations

import itertools
import math

import pytest

from hub.protocol import pairs
from hub.protocol.pairs import Pairs


def brute_force(gains, losses):
    """The two-sided p by counting all outcomes of as many fair coins."""
    total, fewer = gains + losses, min(gains, losses)
    outcomes = itertools.product((0, 1), repeat=total)
    tail = sum(sum(coins) <= fewer for coins in outcomes) / 2**total
    return min(1.0, 2 * tail)


@pytest.mark.parametrize(
    ("gains", "losses"), [(0, 0), (1, 0), (0, 5), (6, 1), (3, 3), (7, 5), (2, 9)]
)
def test_the_test_is_exact_and_has_no_side(gains, losses):
    expected = brute_force(gains, losses)
    assert math.isclose(Pairs(50, gains, losses).p_value, expected)
    assert math.isclose(Pairs(50, losses, gains).p_value, expected)


def test_a_textbook_value():
    # 2 * P(Binomial(20, 1/2) <= 5) = 2 * 21700 / 2**20
    assert math.isclose(Pairs(100, 15, 5).p_value, 2 * 21700 / 2**20)
    assert math.isclose(Pairs(100, 15, 5).difference, 0.1)


def test_many_rows_are_no_obstacle():
    assert 0 <= Pairs(100_000, 50_000, 10_000).p_value < 1e-300
    assert Pairs(100_000, 25_000, 25_000).p_value == 1


def test_bits_are_compared_row_by_row():
    first, second = bytes([0b11110000, 0b10000000]), bytes([0b11001100, 0b11000000])
    assert pairs.compare(first, second, 10) == Pairs(10, gains=3, losses=2)


def test_bits_that_do_not_fit_are_none():
    text = pairs.write(bytes([0b11110000]))
    assert pairs.read(text, 8, 4) == bytes([0b11110000])
    for other in ((text, 8, 5), (text, 9, 4), ("?", 8, 4), ("", 8, 0), (None, 8, 4), (3, 8, 4)):
        assert pairs.read(*other) is None
    many = pairs.MOST_ROWS + 8
    assert pairs.read(pairs.write(bytes(many // 8)), many, 0) is None
