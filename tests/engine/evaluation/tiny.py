"""Tiny models and data sets, of which every figure can be computed by hand."""

from __future__ import annotations

import io
import zipfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
DATA = ".data"


def model(nodes, inputs, outputs, initializers=(), opsets=(("", 17),), **graph):
    """The bytes of a model; inputs and outputs are (name, element type, shape)."""
    made = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(*port) for port in inputs],
        [helper.make_tensor_value_info(*port) for port in outputs],
        [numpy_helper.from_array(array, name) for name, array in initializers],
        **graph,
    )
    imports = [helper.make_opsetid(*one) for one in opsets]
    return helper.make_model(made, opset_imports=imports, ir_version=9).SerializeToString()


def scores(classes=3, batch="batch", output="scores", *, softmax=False):
    """A classifier whose scores are its input; as probabilities with `softmax`."""
    op = helper.make_node("Softmax" if softmax else "Identity", ["x"], [output])
    return model([op], [("x", FLOAT, [batch, classes])], [(output, FLOAT, [batch, classes])])


def labelled(names, order):
    """Scores whose columns are in `order` of `names`, and the name of the greatest as a label."""
    picked = np.array([names[place] for place in order], dtype=object)
    nodes = [
        helper.make_node("Gather", ["x", "order"], ["scores"], axis=1),
        helper.make_node("ArgMax", ["scores"], ["place"], axis=1, keepdims=0),
        helper.make_node("Gather", ["names", "place"], ["label"]),
    ]
    return model(
        nodes,
        [("x", FLOAT, ["n", len(names)])],
        [("label", TEXT, ["n"]), ("scores", FLOAT, ["n", len(names)])],
        [("order", np.array(order)), ("names", picked)],
    )


def split(task="classification", reader="csv", files=("test.csv",), columns=("a", "b", "c"), **of):
    """The document of a split with one input `x`."""
    target = {"column": of.pop("column", "y"), "labels": list(of.pop("labels", ()))}
    inputs = of.pop("inputs", [{"name": "x", "columns": list(columns)}])
    if reader == "images":
        target["column"] = ""
    return {
        "name": "test",
        "task": task,
        "reader": reader,
        "files": list(files),
        "inputs": inputs,
        "target": target,
    }


def csv(rows, header="a,b,c,y"):
    """A CSV file of these rows."""
    return "\n".join([header, *(",".join(map(str, row)) for row in rows), ""]).encode()


def npz(**arrays):
    """An archive of arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def archive(files, compression=zipfile.ZIP_STORED):
    """A ZIP archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        for path, content in files.items():
            made.writestr(path, content)
    return buffer.getvalue()


# Five rows of three classes, of which four are right.
ROWS = [(5, 1, 1, 0), (1, 4, 2, 1), (0, 1, 3, 2), (2, 1, 0, 0), (3, 2, 1, 2)]
