"""What the scan refuses before any library sees the file, and what it merely notes."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

import pytest

from runners.engine.onnx_files import external
from runners.engine.onnx_files.scan import scan
from runners.engine.onnx_files.walk import External
from tests import samples


def scanned(tmp_path, data, files=(), entry="model.onnx"):
    path = tmp_path / "file"
    path.write_bytes(data)
    sizes = {entry: len(data), **dict(files)}
    handle = os.open(path, os.O_RDONLY)
    try:
        return scan(handle, entry, sizes)
    finally:
        os.close(handle)


def found(state):
    return [(finding.code, finding.severity) for finding in state.notes.findings()]


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        (samples.lfs_pointer, "git-lfs-pointer"),
        (samples.pickle_file, "pickle-file"),
        (samples.torch_zip, "pickle-file"),
        (samples.zip_file, "archive-file"),
        (samples.tar_file, "archive-file"),
        (samples.gzip_file, "archive-file"),
        (samples.html_page, "html-page"),
        (samples.json_file, "json-file"),
        (samples.safetensors_file, "safetensors-file"),
        (samples.hdf5_file, "hdf5-file"),
        (samples.tflite_file, "tflite-file"),
        (lambda: b"", "empty-file"),
        (lambda: b"ir_version: 8\n", "text-form"),
        (lambda: b"GGUF" + bytes(32), "gguf-file"),
        (lambda: b"\x93NUMPY\x01\x00" + bytes(32), "numpy-file"),
        (lambda: b"\x89PNG\r\n\x1a\n" + bytes(32), "foreign-file"),
        (lambda: b"\x00\x01\x02", "not-onnx"),
        (lambda: b"hello, world", "not-onnx"),
        (samples.truncated, "truncated"),
        (lambda: b"\x08\x08", "model-without-graph"),
        (samples.repeated_initializer, "name-repeated"),
        (samples.contradicting_opsets, "opset-contradiction"),
        (samples.oversized_tensor, "tensor-size-mismatch"),
        (samples.unknown_attribute_type, "attribute-type-unknown"),
        (samples.stray_reference, "attribute-reference-outside-function"),
        (samples.segmented_tensor, "tensor-segment"),
        (samples.negative_dimension, "tensor-negative-dimension"),
        (samples.deep_nesting, "over-budget"),
        (samples.deep_type, "over-budget"),
        (lambda: samples.mlp() + samples.field(7, b""), "field-repeated"),
        (lambda: samples.mlp() + samples.field(7, b"\x0b"), "field-repeated"),
        (lambda: b"\x08\x08" + samples.field(7, b"\x0b"), "malformed"),
        (lambda: b"\x08\x08" + samples.field(7, b"\x0a\x7f"), "malformed"),
        (
            lambda: b"\x08\x08" + samples.field(7, samples.field(2, b"n" * (17 << 20))),
            "over-budget",
        ),
    ],
)
def test_refused(tmp_path, sample, code):
    state = scanned(tmp_path, sample())
    assert state.notes.refused
    assert found(state) == [(code, "error")]


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_every_cut_of_a_model_is_refused(tmp_path, cut):
    """No cut inside the graph goes unnoticed, wherever it falls."""
    assert scanned(tmp_path, samples.mlp()[:-cut]).notes.refused or cut <= 9


def test_tensor_claims(tmp_path):
    for change, code in (
        (lambda t: t.ClearField("raw_data"), "tensor-without-data"),
        (lambda t: t.float_data.extend([1.0] * 8), "tensor-size-mismatch"),
        (lambda t: t.dims.append(1 << 50), "tensor-too-large"),
        (lambda t: t.dims.extend([1] * 80), "over-budget"),
        (lambda t: setattr(t, "data_type", 77), "tensor-type-unknown"),
    ):
        made = samples.mlp_proto()
        change(made.graph.initializer[1])
        assert found(scanned(tmp_path, made.SerializeToString())) == [(code, "error")]


@pytest.mark.parametrize("dtype", range(1, 29))
def test_typed_and_raw_tensors_of_every_type_are_sound(tmp_path, dtype):
    from onnx import helper

    if dtype == samples.TensorProto.STRING:
        made = [helper.make_tensor("w", dtype, (5,), [b"a", b"b", b"c", b"d", b"e"])]
    else:
        numbers = [1, 0, 1, 1, 0]
        made = [helper.make_tensor("w", dtype, (5,), numbers)]
        bits = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}.get(dtype)
        size = -(-5 * bits // 8) if bits else 5 * samples.DTYPE_BYTES[dtype]
        made.append(helper.make_tensor("r", dtype, (5,), bytes(size), raw=True))
    model = samples.model([samples.node("Relu", ["x"], ["y"])], initializers=made)
    assert found(scanned(tmp_path, model.SerializeToString())) == []


def test_findings_of_a_kind_are_counted_after_five(tmp_path):
    made = samples.mlp_proto()
    for place in range(9):
        made.graph.initializer.add(name=f"n{place}", data_type=1, dims=[-1])
    told = scanned(tmp_path, made.SerializeToString()).notes.findings()
    assert len(told) == 6
    assert told[-1].message == "And 4 more of the same kind."


def test_local_paths_are_noted_but_never_repeated(tmp_path):
    state = scanned(tmp_path, samples.with_metadata())
    assert found(state) == [("local-paths", "warning")]
    assert state.facts["metadata"] == {"task": "demo", "checkpoint": ""}
    assert "secret" not in repr(state.facts)
    assert "secret" not in repr(state.notes.findings())


def test_nodes_that_tell_folders_are_counted_by_key(tmp_path):
    made = samples.mlp_proto()
    home = str(PurePosixPath("/home") / "secret")
    trace = f'File "{home}/train.py", line 3, in forward'
    for node in made.graph.node:
        entry = node.metadata_props.add()
        entry.key, entry.value = "pkg.torch.onnx.stack_trace", trace
        other = node.metadata_props.add()
        other.key, other.value = "namespace", "model.layer"
    made.graph.node[0].doc_string = f"from {home}/net.py"
    hostile = made.metadata_props.add()
    hostile.key, hostile.value = f"x {home}/key", f"{home}/value"
    state = scanned(tmp_path, made.SerializeToString())
    (told,) = state.notes.findings()
    count = len(made.graph.node)
    assert f"pkg.torch.onnx.stack_trace ({count})" in told.message
    assert "a key, doc_string" in told.message
    assert f"on {count} nodes" in told.message
    assert "metadata_props" in told.message
    assert "namespace" not in told.message
    assert "secret" not in repr(state.notes.findings())
    assert "secret" not in repr(state.facts)


def test_a_graph_of_fifty_thousand_nodes_takes_seconds(tmp_path):
    state = scanned(tmp_path, samples.many_nodes(50_000))
    assert found(state) == []
    assert state.nodes["graph"] == 50_000


class TestExternalData:
    def scanned(self, tmp_path, made, files=(("weights.bin", 64),), entry="model.onnx"):
        data = made if isinstance(made, bytes) else made.SerializeToString()
        return scanned(tmp_path, data, files, entry)

    def test_sound(self, tmp_path):
        state = self.scanned(tmp_path, samples.external_proto("weights.bin"))
        assert found(state) == []
        assert list(state.external) == ["weights.bin"]

    def test_relative_to_the_models_own_folder(self, tmp_path):
        files = (("onnx/data/w.bin", 64),)
        made = samples.external_proto("./data/w.bin")
        state = self.scanned(tmp_path, made, files, "onnx/model.onnx")
        assert list(state.external) == ["onnx/data/w.bin"]

    @pytest.mark.parametrize(
        "location",
        [
            "../weights.bin",
            "a/../../weights.bin",
            "/etc/passwd",
            "/weights.bin",
            "..",
            ".",
            "a//weights.bin",
            "..\\weights.bin",
            "weights.bin\x00.txt",
            "weights.bin/",
        ],
    )
    def test_outside(self, tmp_path, location):
        state = self.scanned(tmp_path, samples.external_proto(location))
        assert found(state) == [("external-data-outside", "error")]
        assert not state.external

    @pytest.mark.parametrize(
        ("said", "code"),
        [
            ({"location": "missing.bin"}, "external-data-missing"),
            ({"location": "*/_ORT_MEM_ADDR_/*"}, "external-data-missing"),
            ({"location": "model.onnx"}, "external-data-self"),
            ({"location": "./model.onnx"}, "external-data-self"),
            ({"location": ""}, "external-data-no-location"),
            ({"location": None}, "external-data-no-location"),
            ({"location": "weights.bin", "length": 1 << 40}, "external-data-length"),
            ({"location": "weights.bin", "length": 32}, "external-data-length"),
            ({"location": "weights.bin", "length": -64}, "external-data-range"),
            ({"location": "weights.bin", "offset": -1}, "external-data-range"),
            ({"location": "weights.bin", "offset": 4}, "external-data-range"),
            ({"location": "weights.bin", "offset": "0x0"}, "external-data-range"),
            ({"location": "weights.bin", "offset": "9" * 30}, "external-data-range"),
            ({"location": "weights.bin", "offset": 8, "length": None}, "external-data-range"),
        ],
    )
    def test_refused(self, tmp_path, said, code):
        state = self.scanned(tmp_path, samples.external_proto(**said))
        assert found(state) == [(code, "error")]

    def test_a_key_given_twice(self, tmp_path):
        made = samples.external_proto("weights.bin")
        made.graph.initializer[0].external_data.add(key="location", value="other.bin")
        state = self.scanned(tmp_path, made)
        assert found(state) == [("external-data-contradiction", "error")]

    def test_bytes_here_and_there(self, tmp_path):
        made = samples.external_proto("weights.bin")
        made.graph.initializer[0].raw_data = bytes(64)
        state = self.scanned(tmp_path, made)
        assert found(state) == [("external-data-contradiction", "error")]

    def test_inside_an_attribute_too(self, tmp_path):
        weights = samples.external_proto("../w.bin").graph.initializer[0]
        made = samples.model([samples.node("Constant", [], ["y"], value=weights)])
        assert found(self.scanned(tmp_path, made)) == [("external-data-outside", "error")]

    def test_bytes_before_an_aligned_tensor_are_padding(self):
        parts = [External("w", 65536, 8), External("w", 0, 100), External("w", 256, 8)]
        assert external._gaps(parts, 65544) == []
        assert external._gaps([*parts, External("w", 200_000, 8)], 200_008) == [(65544, 200_000)]

    def test_resolve_never_leaves(self):
        assert external.resolve("a/b.onnx", "c") == "a/c"
        assert external.resolve("b.onnx", "c/d") == "c/d"
        assert external.resolve("a/b.onnx", "../c") is None
