"""The task "annotate": new words beside the same bytes of graph and weights."""

from __future__ import annotations

import mmap

import numpy as np
import onnx
import pytest
from onnx import helper

from runners.engine.graphs import annotate
from runners.engine.onnx_files import wire
from runners.engine.reports import OutputFile
from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes

PROPS = {"hub_iri": "https://hub.example/models/lab/net/v/1", "model_author": "Ada Ä"}


@pytest.fixture
def annotated(sandbox, stored, tmp_path):
    """Annotate a version's files; gives the report and the bytes of what it made."""

    def go(files, props=PROPS, entry="model.onnx"):
        files = {entry: files} if isinstance(files, bytes) else files
        options = {"props": props}
        request = Request("annotate", entry, stored(files), SUBJECT, options, SMALL)
        made = []

        def keep(report, folder):
            made.extend((folder / output.name).read_bytes() for output in report.outputs)
            return report

        report = sandbox.run(request, keep=keep)
        return report, made[0] if made else None

    return go


def props_of(content):
    return {one.key: one.value for one in onnx.ModelProto.FromString(content).metadata_props}


def test_a_file_gets_words_and_keeps_every_other_byte(annotated):
    content = samples.mlp()
    report, made = annotated(content)
    assert (report.outcome, codes(report)) == ("passed", [])
    assert report.outputs == [OutputFile("model.with-metadata.onnx")]
    assert made.startswith(content)
    assert props_of(made) == PROPS
    assert report.facts["replaced"] == []


def test_the_same_key_is_replaced_and_others_are_kept(annotated):
    model = samples.mlp_proto()
    helper.set_model_props(model, {"model_author": "Somebody", "names": "{0: 'cat'}"})
    again = model.metadata_props.add()
    again.key, again.value = "model_author", "somebody twice"
    report, made = annotated(model.SerializeToString())
    assert props_of(made) == {**PROPS, "names": "{0: 'cat'}"}
    assert report.facts["replaced"] == ["model_author", "model_author"]
    new = onnx.ModelProto.FromString(made)
    assert new.graph == model.graph
    del new.metadata_props[:], model.metadata_props[:]
    assert new == model


def test_external_weights_stay_where_they_are(annotated):
    files = samples.with_external_data()
    report, made = annotated(files, entry="model.onnx")
    assert report.outcome == "passed"
    assert made.startswith(files["model.onnx"])
    assert len(report.outputs) == 1


def test_it_is_made_again_with_equal_bytes(annotated):
    _, first = annotated(samples.conv())
    _, again = annotated(samples.conv())
    assert first == again


def test_what_the_scan_refuses_is_not_touched(annotated):
    report, made = annotated(samples.pickle_file())
    assert report.outcome == "failed"
    assert made is None


def test_too_many_words_are_our_own_fault(annotated):
    report, made = annotated(samples.mlp(), {"model_card": "x" * (annotate.MOST_BYTES + 1)})
    assert (report.outcome, codes(report), made) == ("errored", ["engine-error"], None)


def test_a_graph_larger_than_protobuf_takes_is_one_range_of_bytes(tmp_path):
    """3 GiB, most of it a hole in the file: nothing parses it, nothing holds it."""
    size = 3 << 30
    head = wire.head(7, size)
    origin = tmp_path / "large.onnx"
    with origin.open("wb") as file:
        file.write(head + b"\x12\x03net")
        file.truncate(len(head) + size)
    with (
        origin.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as buffer,
    ):
        parts = list(annotate._parts(buffer))
    assert parts == [(0, len(head) + size, 7, len(head))]


def test_a_message_without_a_graph_is_refused(tmp_path):
    origin = tmp_path / "odd.onnx"
    origin.write_bytes(wire.field(2, b"producer"))
    with pytest.raises(ValueError, match="no graph"):
        annotate.write(origin, tmp_path / "made.onnx", PROPS)


def test_a_runtime_gives_the_same_numbers(annotated, tmp_path):
    import onnxruntime

    content = samples.mlp()
    _, made = annotated(content)
    sessions = [onnxruntime.InferenceSession(one) for one in (content, made)]
    given = sessions[0].get_inputs()[0]
    shape = [axis if isinstance(axis, int) else 2 for axis in given.shape]
    value = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    before, after = (session.run(None, {given.name: value})[0] for session in sessions)
    assert np.array_equal(before, after)
    assert sessions[1].get_modelmeta().custom_metadata_map == PROPS
