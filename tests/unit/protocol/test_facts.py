"""Facts of model files: what the engine reports is taken whole, and anything else is empty."""

from __future__ import annotations

import pytest

from hub.protocol.facts import (
    MOST_DEPTH,
    MOST_LISTED,
    ExternalFile,
    Facts,
    Operator,
    Producer,
    Weights,
    WeightType,
    read_barcode,
    read_ports,
)

STORED = {
    "method": 2,
    "ir_version": 8,
    "opset": 17,
    "opsets": {"ai.onnx": 17, "ai.onnx.ml": "3"},
    "producer": {"name": "pytorch", "version": "2.13"},
    "model_version": 4,
    "domain": "org.example",
    "doc": "Tells digits apart.",
    "metadata": {"Model_Author": "ada", "count": 3},
    "graph": {"name": "main"},
    "nodes": {"total": 3},
    "operators": [
        {"domain": "ai.onnx", "name": "Relu", "count": 2},
        {"domain": "com.acme", "name": "Frob", "count": True},
        {"domain": "ai.onnx", "name": ""},
    ],
    "functions": [{"domain": "own", "name": "Twice"}],
    "initializers": {
        "count": 5,
        "bytes": 96,
        "by_dtype": {"float32": {"count": 5, "elements": 24, "bytes": 96}, "int8": 3},
    },
    "external_files": [
        {"path": "w.bin", "tensors": 5, "bytes": 96, "first": 0, "end": 96},
        {"size": 3},
    ],
    "parameters": 24,
    "precision": "fp32",
    "precision_profile": {"bytes_by_dtype": {"float32": 96}, "forms": ["qdq"]},
}


def test_a_description_is_read():
    facts = Facts.read(STORED)
    assert (facts.method, facts.ir_version, facts.opset) == (2, 8, 17)
    assert facts.opsets == {"ai.onnx": 17}
    assert (facts.producer, str(facts.producer)) == (Producer("pytorch", "2.13"), "pytorch 2.13")
    assert (facts.model_version, facts.domain, facts.graph_name) == (4, "org.example", "main")
    assert (facts.doc, facts.nodes) == ("Tells digits apart.", 3)
    assert (facts.metadata, facts.properties) == ({"Model_Author": "ada"}, {"model_author": "ada"})
    assert facts.operators == (Operator("ai.onnx", "Relu", 2), Operator("com.acme", "Frob", 0))
    assert [one.title for one in facts.operators] == ["Relu", "com.acme.Frob"]
    assert facts.functions == {("own", "Twice")}
    assert facts.weights == Weights((WeightType("float32", 5, 24, 96),), 5, 96)
    assert facts.external_files == (ExternalFile("w.bin", 5, 96, 0, 96),)
    assert (facts.parameters, facts.precision) == (24, "fp32")
    assert (facts.stored_bytes, facts.quantisation) == ({"float32": 96}, ("qdq",))


def test_every_external_file_is_read():
    rows = [{"path": f"w{number}.bin"} for number in range(2000)]
    facts = Facts.read({"external_files": rows})
    assert [one.path for one in facts.external_files] == [row["path"] for row in rows]


@pytest.mark.parametrize("shape", [None, 3, "x", True, 0.5, [1, {}], {"a": 2}, [[None]]])
def test_facts_of_any_shape_are_no_error(shape):
    assert Facts.read(dict.fromkeys(STORED, shape)).external_files == ()
    assert Facts.read(shape) == Facts()


def test_no_opsets_are_something_else_than_none_of_which_anything_was_said():
    assert Facts.read({}).opsets is None
    assert Facts.read({"opsets": {}}).opsets == {}


def test_ports_have_types_as_deep_as_the_engine_writes_them():
    numbers = {"type": "tensor", "dtype": "float32", "shape": ["N", 3, None, ""]}
    pairs = {"type": "map", "key": "int64", "value": {"type": "tensor", "dtype": "float32"}}
    first, second, third = read_ports(
        [
            {"name": "x", "denotation": "IMAGE", **numbers},
            {"name": "y", "type": "sequence", "element": pairs},
            3,
            {"name": "z", "type": "sparse_tensor"},
        ]
    )
    assert (first.denotation, first.type.shape) == ("IMAGE", ("N", 3, None, None))
    assert (first.type.sizes, first.type.tensor_dtype) == ((None, 3, None, None), "float32")
    assert (str(second.type), second.type.sizes) == (
        "sequence of map of int64 to float32",
        None,
    )
    assert (str(third.type), third.type.tensor_dtype) == ("sparse unknown", "")


def test_what_is_taken_is_bounded():
    deep: dict[str, object] = {"type": "tensor"}
    for _ in range(MOST_DEPTH * 10):
        deep = {"type": "optional", "element": deep}
    [port] = read_ports([{"name": "x", **deep}])
    assert str(port.type).count("optional") == MOST_DEPTH + 1
    many = {
        "inputs": [{"name": "x"}] * 2 * MOST_LISTED,
        "metadata": {str(at): "x" for at in range(2 * MOST_LISTED)},
    }
    facts = Facts.read(many)
    assert (len(facts.inputs), len(facts.metadata)) == (MOST_LISTED, MOST_LISTED)


def test_the_cells_of_a_barcode_are_names_and_anything_else_is_nothing():
    stored = {"categories": ["conv", "other"], "cells": [0, 1, 0, 7], "nodes": 4}
    assert read_barcode(stored) == ("conv", "other", "conv")
    for wrong in (None, [], "conv", {"cells": [0]}, {"categories": 3, "cells": [0]}):
        assert read_barcode(wrong) == ()
