"""The stored costs of a graph: whatever a file holds, each figure that is read is finite."""

from __future__ import annotations

import json
import math

import pytest

from hub.protocol.costs import LARGEST_SIZE, MOST_TERMS, Costs, Function

NAMES = frozenset({"n", "s"})


@pytest.mark.parametrize(
    "text",
    [
        "[[NaN, {}]]",
        "[[Infinity, {}]]",
        "[[-Infinity, {}]]",
        "[[1e999, {}]]",
        "[[1e101, {}]]",
        f"[[1{'0' * 400}, {{}}]]",
        "[[true, {}]]",
        '[["1", {}]]',
        "[[null, {}]]",
        '[[1, {"n": 7}]]',
        '[[1, {"n": 4, "s": 3}]]',
        '[[1, {"n": true}]]',
        '[[1, {"n": 1.0}]]',
        '[[1, {"n": 0}]]',
        '[[1, {"x": 1}]]',
        "[[1, []]]",
        "[[1]]",
        "[1]",
        "{}",
    ],
)
def test_a_function_with_a_malformed_term_is_not_read(text):
    assert Function.read(json.loads(text), NAMES) is None
    assert Costs.read({"symbols": ["n", "s"], "macs": json.loads(text), "bytes": []}) is None


def test_the_largest_function_has_a_finite_value():
    terms = [[1e100, {"n": 3, "s": 3}]] * MOST_TERMS
    value = Function.read(terms, NAMES).at(dict.fromkeys(NAMES, LARGEST_SIZE))
    assert isinstance(value, int)
    assert math.isfinite(float(value))


@pytest.mark.parametrize("shape", [None, 3, True, "x", {}])
def test_lists_of_another_shape_are_empty(shape):
    costs = Costs.read({"symbols": shape, "peaks": shape, "macs": [], "bytes": []})
    assert (costs.symbols, costs.peaks) == ((), ())


def test_memory_is_unknown_where_one_moment_is_malformed():
    costs = Costs.read({"macs": [], "bytes": [], "peaks": [[[8, {}]], [[float("nan"), {}]]]})
    assert costs.activations({}) is None
    assert costs.memory({}) is None
