"""The work of a graph by kind of operator, at the sizes that a benchmark gives its inputs."""

from __future__ import annotations

import pytest

from hub.protocol.costs import Costs
from hub.protocol.facts import Port, Type
from runners.benchmarks import cost_features
from runners.benchmarks.cost_features import COLUMNS, Features


def costs(*nodes, symbols=(), **more):
    """Costs of nodes as (operator, macs, bytes)."""
    rows = [{"op": op, "name": "", "macs": macs, "bytes": size} for op, macs, size in nodes]
    told = {"symbols": list(symbols), "macs": [], "bytes": [], "total": len(rows), "nodes": rows}
    return Costs.read(told | more)


def port(name, *shape):
    return Port(name, Type("tensor", "float32", shape))


def test_work_is_summed_by_kind_at_the_given_sizes():
    found = cost_features.of(
        costs(
            ("Conv", [[100.0, {"n": 1}]], [[10.0, {"n": 1}]]),
            ("com.microsoft.Attention", [[7.0, {}]], [[3.0, {}]]),
            ("MaxPool", [], [[5.0, {"n": 2}]]),
            ("Erf", [], [[11.0, {}]]),
            ("Relu", [], [[4.0, {}]]),
            ("Relu", [], [[4.0, {}]]),
            ("Constant", [], [[900.0, {}]]),
            symbols=["n"],
        ),
        {"n": 2},
    )
    columns = dict(zip(COLUMNS, found.columns, strict=True))
    assert {column: value for column, value in columns.items() if value} == {
        ("convolution", "macs"): 200, ("convolution", "bytes"): 20,
        ("matrix", "macs"): 7, ("matrix", "bytes"): 3,
        ("window", "bytes"): 20, ("function", "bytes"): 11, ("other", "bytes"): 8,
        ("every", "nodes"): 6, ("every", "runs"): 1,
    }  # fmt: skip
    assert found.operators == {"Conv", "com.microsoft.Attention", "MaxPool", "Erf", "Relu"}


@pytest.mark.parametrize(
    "told",
    [
        costs(("Loop", [], [])),
        costs(("Crop", None, [])),
        costs(("Crop", [], None)),
        costs(("Relu", [], []), total=2),
        costs(("Relu", [], [[1e300, {}]])),
        costs(("Relu", [], [[float("inf"), {}]])),
        costs(("Relu", [], [[float("nan"), {}]])),
        costs(("Relu", [], [[-5.0, {}]])),
        costs(("Relu", [], []), unknown=[{"op": "Crop", "count": 1}]),
    ],
)
def test_without_the_cost_of_every_node_there_are_no_features(told):
    assert cost_features.of(told, {}) is None


def test_sizes_are_those_of_the_measured_inputs():
    told = costs(symbols=["batch", "seq"])
    ports = [port("ids", "batch", "seq"), port("mask", "batch", "seq"), port("x", 1, 4)]
    inputs = [{"name": "ids", "dtype": "int64", "shape": [2, 16]}, {"name": "x", "shape": "?"}]
    assert cost_features.measured_sizes(told, ports, inputs) == {"batch": 2, "seq": 16}
    assert cost_features.measured_sizes(told, ports, None) == told.usual_sizes


def test_default_sizes_are_those_that_a_benchmark_chooses():
    told = costs(symbols=["batch", "seq", "height", "width"])
    ports = [
        port("image", "batch", 3, "height", "width"),
        port("past", 2, "batch", "seq"),
        port("rate"),
    ]
    assert cost_features.default_sizes(told, ports) == {
        "batch": 1, "seq": 128, "height": 224, "width": 224,
    }  # fmt: skip


@pytest.mark.parametrize("columns", [None, [], [1.0], [-1.0] * len(COLUMNS), ["x"] * len(COLUMNS)])
def test_stored_work_of_another_shape_is_none(columns):
    assert Features.read(columns, ["Relu"]) is None
    whole = Features.read([1] * len(COLUMNS), ["Relu"])
    assert (len(whole.columns), whole.operators) == (len(COLUMNS), {"Relu"})
