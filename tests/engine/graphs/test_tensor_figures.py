"""The task "tensors": what is told of the tensors in a file, and what files cannot do."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from runners.engine.graphs import tensor_figures
from runners.graphs import tensors
from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes


@pytest.fixture
def told(sandbox, stored):
    """Look at one file of a version; gives the report and its list."""

    def go(entry, files):
        files = {entry: files} if isinstance(files, bytes) else files
        request = Request("tensors", entry, stored(files), SUBJECT, {}, SMALL)
        made = {}

        def keep(report, folder):
            made.update(json.loads((folder / tensor_figures.NAME).read_text()))
            return report

        return sandbox.run(request, keep=keep), made

    return go


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def test_the_same_endings_are_read_and_offered():
    assert tuple(tensor_figures.READERS) == tensors.ENDINGS


def test_figures_are_those_of_the_values(told):
    values = np.random.default_rng(7).normal(size=(40, 50)).astype(np.float32)
    values[0, :10] = 0
    report, made = told("a.npy", npy(values))
    assert (report.outcome, codes(report)) == ("passed", [])
    assert report.facts == {"count": 1, "told": 1}
    (row,) = made["tensors"]
    assert (row["dtype"], row["shape"], row["elements"]) == ("float32", [40, 50], 2000)
    assert row["min"] == pytest.approx(float(values.min()))
    assert row["max"] == pytest.approx(float(values.max()))
    assert row["mean"] == pytest.approx(float(values.mean(dtype=np.float64)))
    assert row["zeros"] == 10
    expected, _ = np.histogram(values.astype(np.float64), bins=tensor_figures.BINS)
    assert sum(row["bins"]) == 2000
    assert np.abs(np.array(row["bins"]) - expected).max() <= 1


def test_parts_add_up_to_the_whole(monkeypatch):
    values = np.arange(-500, 500, dtype=np.int32).reshape(10, 100)
    whole = tensor_figures.figures(values)
    monkeypatch.setattr(tensor_figures, "_AT_ONCE", 7)
    assert tensor_figures.figures(values) == whole
    assert tensor_figures.figures(np.asfortranarray(values)) == whole


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([np.nan, np.inf, -np.inf], {"nan": 1, "infinite": 2, "zeros": 0}),
        ([], {"zeros": 0, "why": "it is empty"}),
        ([np.nan, 2.0], {"nan": 1, "min": 2.0, "max": 2.0, "bins": [1]}),
        ([-1e308, 1e308, 1.7e308, 1.7e308], {"mean": None, "bins": []}),
        (np.array([True, False, True]), {"zeros": 1, "min": 0, "max": 1, "bins": [1, 2]}),
        (np.array([2**64 - 1, 0], np.uint64), {"max": 2**64 - 1, "zeros": 1}),
        (np.array([1 + 1j, 0]), {"zeros": 1, "why": "complex numbers have no order"}),
        (np.array(["a", "b"]), {"why": "its values are not numbers"}),
        (np.array(5, np.int8), {"min": 5, "max": 5, "mean": 5.0, "bins": [1]}),
        (np.zeros(2, dtype=[("a", "U1"), ("b", "i4")]), {"why": "its values are not numbers"}),
    ],
)  # fmt: skip
def test_values_of_every_kind(values, said):
    found = tensor_figures.figures(np.array(values) if isinstance(values, list) else values)
    json.dumps(found, allow_nan=False)
    assert {key: found.get(key) for key in said} == said


def test_initialisers_of_a_model_and_of_its_external_data(told, tmp_path):
    model = samples.mlp_proto()
    onnx.save(
        model, tmp_path / "model.onnx", save_as_external_data=True, location="w.data",
        size_threshold=0,
    )  # fmt: skip
    files = {name: (tmp_path / name).read_bytes() for name in ("model.onnx", "w.data")}
    report, outside = told("model.onnx", files)
    assert (report.outcome, codes(report)) == ("passed", [])
    _, inside = told("model.onnx", samples.mlp())
    assert inside == outside
    names = [row["name"] for row in inside["tensors"]]
    assert names == [tensor.name for tensor in samples.mlp_proto().graph.initializer]
    report, _ = told("model.onnx", {"model.onnx": files["model.onnx"]})
    assert report.outcome == "failed"


def test_of_many_tensors_the_largest(told, monkeypatch):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    made = samples.model(nodes)
    for index in range(tensor_figures.MOST_LISTED + 20):
        values = np.zeros(3 if index % 2 else 2, np.float32)
        made.graph.initializer.append(numpy_helper.from_array(values, f"w{index}"))
    report, found = told("model.onnx", made.SerializeToString())
    assert report.facts == {"count": 220, "told": 200}
    assert sum(row["elements"] == 3 for row in found["tensors"]) == 110


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("BFLOAT16", "bfloat16"),
        ("FLOAT8E4M3FN", "float8e4m3fn"),
        ("INT4", "int4"),
        ("UINT4", "uint4"),
    ],
)
def test_types_that_numpy_lacks(told, kind, name):
    tensor = helper.make_tensor("w", getattr(TensorProto, kind), [4], [0, 1, 2, 3])
    report, made = told("test_data_set_0/input_0.pb", tensor.SerializeToString())
    assert report.outcome == "passed"
    (row,) = made["tensors"]
    assert (row["dtype"], row["min"], row["max"], row["zeros"]) == (name, 0, 3, 1)


def test_a_sequence_is_its_tensors(told):
    values = numpy_helper.from_list([np.ones(2, np.float32), np.zeros(3, np.float32)], "s")
    _, made = told("input_0.pb", values.SerializeToString())
    assert [row["elements"] for row in made["tensors"]] == [2, 3]


def bomb():
    """A small archive that unpacks to very much: all its members are the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(np.zeros(1 << 18, np.float32)))
        archive.filelist *= 1100
    return file.getvalue()


def vast():
    """An array whose header promises what is not there."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)}
    )
    return file.getvalue()


def outside():
    tensor = TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"
    return tensor.SerializeToString()


def packed(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ("a.npy", b""),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff"),
        ("a.npy", npy(np.array([{}], dtype=object))),
        ("a.npy", vast()),
        ("a.npy", packed(npy(np.ones(2)))),
        ("a.npz", b"PK"),
        ("a.npz", packed(npy(np.array([{}], dtype=object)))),
        ("a.npz", packed(vast())),
        ("a.npz", bomb()),
        ("input_0.pb", b""),
        ("input_0.pb", b"\xff" * 40),
        ("input_0.pb", outside()),
        ("input_0.pb", TensorProto(data_type=1, dims=[1 << 40], raw_data=b"x").SerializeToString()),
        ("input_0.pb", samples.mlp()),
        ("model.onnx", samples.mlp()[:-40]),
    ],
)
def test_files_that_are_not_what_they_say_fail_with_words(told, entry, content):
    report, made = told(entry, content)
    assert report.outcome == "failed", made
    assert made == {}
    assert all(finding.message for finding in report.findings)
    assert "/tmp" not in " ".join(finding.message for finding in report.findings)


def test_other_files_are_not_read(told):
    report, _ = told("labels.txt", b"a\nb\n")
    assert (report.outcome, codes(report)) == ("errored", ["engine-error"])
