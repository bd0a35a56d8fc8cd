"""The op barcode and the facts that pages show, from what the engine stores."""

from __future__ import annotations

import re

from frontend.parts.svg import barcode
from frontend.presenters import facts
from registry.models import Variant


def test_one_path_for_each_category():
    svg = barcode.draw(["conv", "activation", "conv", "conv"])
    assert 'viewBox="0 0 4 1"' in svg
    assert 'aria-hidden="true"' in svg
    assert '<path class="op-conv" d="M0 0h1v1H0zM2 0h2v1H2z"/>' in svg
    assert svg.count("<path") == 2


def test_long_graph_is_binned_to_the_commonest_category():
    cells = (["matmul"] * 3 + ["shape"]) * 500
    assert barcode.binned(cells) == ["matmul"] * 200


def test_at_most_one_element_for_each_known_category_and_no_stranger():
    svg = barcode.draw([*barcode.CATEGORIES, "<script>", "unheard-of"])
    assert set(re.findall(r"op-([a-z]+)", svg)) == set(barcode.CATEGORIES)
    assert "script" not in svg


def test_nothing_for_a_graph_without_nodes():
    assert barcode.draw([]) == ""


def test_facts_are_read():
    read = facts.of(
        Variant(
            facts={
                "nodes": {"total": 3},
                "producer": {"name": "pytorch", "version": "2.13"},
                "operators": [
                    {"domain": "ai.onnx", "name": "Relu", "count": 1},
                    {"domain": "com.microsoft", "name": "Attention", "count": 2},
                ],
                "inputs": [
                    {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 3, None]},
                    {
                        "name": "y",
                        "type": "sequence",
                        "element": {
                            "type": "map",
                            "key": "int64",
                            "value": {"type": "tensor", "dtype": "float32"},
                        },
                    },
                ],
            }
        )
    )
    assert read.nodes == 3
    assert str(read.producer) == "pytorch 2.13"
    assert facts.operators(read) == [("com.microsoft.Attention", 2), ("Relu", 1)]
    assert [(share["category"], share["count"]) for share in facts.shares(read)] == [
        ("attention", 2),
        ("activation", 1),
    ]
    first, second = read.inputs
    assert facts.sizes(first.type) == [("N", True), ("3", False), ("?", True)]
    assert facts.signature(first) == "float32[N, 3, ?]"
    assert facts.signature(second) == "sequence of map of int64 to float32"


def test_facts_of_another_shape_are_left_out():
    stored = {"nodes": "many", "operators": {"Relu": 1}, "inputs": [3], "barcode": 1}
    read = facts.of(Variant(facts=stored))
    assert (read.nodes, facts.operators(read), read.barcode) == (None, [], ())
    assert [facts.signature(port) for port in read.inputs] == []
