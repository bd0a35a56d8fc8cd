"""Models out of packages, in the sandbox: what is taken, what is refused, what is converted."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from hub.protocol import splits
from runners.engine.starter import data, efficientnet, torch_weights
from runners.engine.starter.recipes import Recipe
from runners.sandbox import Limits, Request
from tests import wheels
from tests.engine.conftest import SUBJECT
from tests.engine.starter import legacy_weights

pytestmark = pytest.mark.capability("starter")
LIMITS = Limits(wall_seconds=60, cpu_seconds=30, memory_bytes=2 << 30, output_bytes=1 << 20)
ARCHIVE = "net.whl"


@pytest.fixture
def unpack(sandbox, stored):
    """Unpack members of an archive; gives the report and the content of the outputs."""

    def run(archive, *members):
        made = {}

        def keep(report, folder):
            made.update({one.name: (folder / one.name).read_bytes() for one in report.outputs})
            return report

        options = {"members": [{"archive": ARCHIVE, **member} for member in members]}
        request = Request("import", "", stored({ARCHIVE: archive}), SUBJECT, options, LIMITS)
        return sandbox.run(request, keep=keep), made

    return run


def member(name, content, recipe=Recipe.COPY):
    return {
        "member": name, "size": len(content), "sha256": wheels.sha256(content), "recipe": recipe,
    }  # fmt: skip


def test_files_are_copied_and_labels_become_lines(unpack):
    files = wheels.members()
    name = "tiny_net/labels.json"
    report, made = unpack(
        wheels.wheel(files),
        member("tiny_net/model.onnx", files["tiny_net/model.onnx"]),
        member(name, files[name], Recipe.JSON_LINES),
    )
    assert report.outcome == "passed", report.findings
    assert made["0"] == wheels.classifier()
    assert made["1"] == b"cat\nstriped cat\ndog\n"


def test_the_labels_of_magika_are_read_from_its_configuration(unpack):
    content = json.dumps({"target_labels_space": ["png", "python"], "beg_size": 1024}).encode()
    archive = wheels.wheel({"config.min.json": content})
    _, made = unpack(archive, member("config.min.json", content, Recipe.MAGIKA_LABELS))
    assert made["0"] == b"png\npython\n"


@pytest.mark.parametrize("recipe", list(data.RECIPES))
def test_a_data_set_is_made_in_the_sandbox(sandbox, stored, recipe):
    content = b'["python", "png"]'
    archive = wheels.wheel({"labels.json": content})
    labels = {"archive": ARCHIVE, **member("labels.json", content, Recipe.JSON_LINES)}
    options = {"members": [labels], "data": recipe, "labels": 0}
    report = sandbox.run(
        Request("import", "", stored({ARCHIVE: archive}), SUBJECT, options, LIMITS)
    )
    assert report.outcome == "passed", report.findings
    assert splits.parse(report.facts["splits"], frozenset(report.facts["files"]))
    assert {"0", *report.facts["files"].values()} == {output.name for output in report.outputs}


BOMB = bytes(40 << 20)


@pytest.mark.parametrize(
    ("archive", "asked", "words"),
    [
        (wheels.wheel({"a": b"other"}), member("a", b"these"), "is not the file"),
        (wheels.wheel({"a": b"short"}), member("a", b"longer than that"), "is not the file"),
        (wheels.wheel({"a": BOMB}), member("a", b"four"), "more than 4 bytes"),
        (wheels.wheel({"b": b"x"}), member("a", b"x"), "no file a"),
        (wheels.wheel({"a": b"x"}), member("../../a", b"x"), "no file ../../a"),
        (b"PK\x03\x04 no archive", member("a", b"x"), "cannot be read"),
        (b"", member("a", b"x"), "cannot be read"),
        (wheels.wheel({"a": b"{}"}), member("a", b"{}", Recipe.JSON_LINES), "no list"),
        (wheels.wheel({"a": b"[" * 90000}), member("a", b"[" * 90000, Recipe.JSON_LINES), ""),
    ],
    ids=["other", "short", "bomb", "absent", "parent", "broken", "empty", "object", "deep"],
)
def test_an_archive_that_holds_something_else_is_refused(unpack, archive, asked, words):
    report, made = unpack(archive, asked)
    assert (report.outcome, made) == ("failed", {})
    [finding] = report.findings
    assert finding.code == "package-unusable"
    assert words in finding.message


def test_an_encrypted_member_is_refused(unpack):
    archive = bytearray(wheels.wheel({"a": b"x"}))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(signature) + flags] |= 1
    report, _ = unpack(bytes(archive), member("a", b"x"))
    assert [finding.code for finding in report.findings] == ["package-unusable"]


# What a state dict may hold, and what it may do.
def read(content):
    return torch_weights.read(io.BytesIO(content))


def test_tensors_are_read_by_their_strides():
    plain = np.arange(12, dtype=np.float32).reshape(3, 4)
    count = np.array([7], dtype=np.int64)
    read_back = read(legacy_weights.dump({"plain": plain, "turned": plain.T, "count": count}))
    assert np.array_equal(read_back["plain"], plain)
    assert np.array_equal(read_back["turned"], plain.T)
    assert np.array_equal(read_back["count"], count)


class Harmful:
    """A pickle that runs a command of the shell."""

    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/harm",)


def pickles(*values):
    return b"".join(pickle.dumps(value, 2) for value in values)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read"),
        (pickles(1, 2), "no state dict of PyTorch"),
        (pickles(torch_weights.MAGIC, 1001, {}, Harmful(), []), "is no tensor"),
        (pickles(Harmful()), "is no tensor"),
        (pickles(torch_weights.MAGIC, 1001, {}, [], []), "no dict of tensors"),
        (b"\x80\x02cbuiltins\neval\nq\x00.", "builtins.eval"),
        (b"\x80\x02X\xff\xff\xff\x7fa.", "cannot be read"),
        (legacy_weights.dump({"a": np.ones(4, np.float32)}, counts={"0": 1 << 60}), "number"),
        (legacy_weights.dump({"a": np.ones(4, np.float32)}, content={"0": b"x"}), "ends within"),
    ],
    ids=["empty", "other", "harm", "harm-first", "list", "eval", "long", "count", "cut"],
)
def test_a_file_that_is_no_state_dict_is_refused(content, words):
    with pytest.raises(torch_weights.WeightsError, match=words):
        read(content)


def test_a_view_outside_of_its_storage_is_refused(monkeypatch):
    array = np.ones(4, np.float32)
    content = legacy_weights.dump({"a": array})
    wide = torch_weights._Tensor(torch_weights._Storage("0", "<f4", 4), 0, (5,), (1,))
    monkeypatch.setattr(torch_weights, "_rebuild", lambda *_: wide)
    with pytest.raises(torch_weights.WeightsError, match="outside"):
        read(content)


# EfficientNet-Lite0 with weights of chance, against the same network with normalisation nodes.
def state_dict(seed=0):
    """Weights of chance in the shapes of the release."""
    rng = np.random.default_rng(seed)
    tensors = {}

    def convolution(name, norm, *shape):
        spread = (2 / np.prod(shape[1:])) ** 0.5
        tensors[f"{name}.weight"] = rng.normal(0, spread, shape).astype(np.float32)
        for part, low, high in (
            ("weight", 0.5, 1.5), ("bias", -0.2, 0.2), ("running_mean", -0.2, 0.2),
            ("running_var", 0.5, 1.5),
        ):  # fmt: skip
            tensors[f"{norm}.{part}"] = rng.uniform(low, high, shape[0]).astype(np.float32)

    convolution("_conv_stem", "_bn0", 32, 3, 3, 3)
    for number, (stage, channels, _) in enumerate(efficientnet.blocks()):
        name, wide = f"_blocks.{number}", channels * stage.expansion
        if stage.expansion > 1:
            convolution(f"{name}._expand_conv", f"{name}._bn0", wide, channels, 1, 1)
        kernel = stage.kernel
        convolution(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, kernel, kernel)
        convolution(f"{name}._project_conv", f"{name}._bn2", stage.channels, wide, 1, 1)
    convolution("_conv_head", "_bn1", 1280, 320, 1, 1)
    tensors["_fc.weight"] = rng.normal(0, 0.03, (1000, 1280)).astype(np.float32)
    tensors["_fc.bias"] = np.zeros(1000, np.float32)
    return tensors


def unfolded(model, tensors):
    """The same graph with a normalisation node after each convolution, by ONNX's own operator."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    constants = {one.name: one for one in whole.graph.initializer}
    nodes = list(whole.graph.node)
    del whole.graph.node[:]
    for node in nodes:
        whole.graph.node.append(node)
        if node.op_type != "Conv":
            continue
        name = node.input[1].removesuffix(".weight")
        place, _, layer = name.rpartition(".")
        norm = {
            "_conv_stem": "_bn0", "_conv_head": "_bn1", "_expand_conv": "_bn0",
            "_depthwise_conv": "_bn1", "_project_conv": "_bn2",
        }[layer]  # fmt: skip
        norm = f"{place}.{norm}" if place else norm
        constants[node.input[1]].CopyFrom(
            numpy_helper.from_array(tensors[f"{name}.weight"], node.input[1])
        )
        parts = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        for part in parts:
            whole.graph.initializer.append(numpy_helper.from_array(tensors[part], part))
        last = whole.graph.node[-1]
        del last.input[2:]
        output = last.output[0]
        last.output[0] = f"{output}.raw"
        inputs = [f"{output}.raw", *parts]
        epsilon = efficientnet.EPSILON
        normalise = helper.make_node("BatchNormalization", inputs, [output], epsilon=epsilon)
        whole.graph.node.append(normalise)
    return whole


def run(model, image):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"image": image})[0]


def test_folded_normalisation_gives_what_separate_normalisation_gives():
    tensors = state_dict()
    model = efficientnet.convert(tensors)
    onnx.checker.check_model(model, full_check=True)
    image = np.random.default_rng(1).normal(0, 1, (2, 3, 224, 224)).astype(np.float32)
    folded, separate = run(model, image), run(unfolded(model, tensors), image)
    assert folded.shape == (2, 1000)
    assert np.ptp(separate) > 0.1
    assert np.allclose(folded, separate, rtol=1e-3, atol=1e-3 * np.abs(separate).max())


def test_pictures_are_padded_as_tensorflow_pads_them():
    cases = ((3, 1), (3, 2), (5, 1), (5, 2))
    pads = [efficientnet.padding(kernel, stride) for kernel, stride in cases]
    assert pads == [(1, 1), (0, 1), (2, 2), (1, 2)]


def test_weights_of_another_network_are_refused():
    with pytest.raises(torch_weights.WeightsError, match="_conv_stem"):
        efficientnet.convert({"_conv_stem.weight": np.ones((8, 3, 3, 3), np.float32)})


def test_a_state_dict_becomes_a_model_in_the_sandbox(unpack):
    content = legacy_weights.dump(state_dict())
    name = "net/weights.pth"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as whole:
        whole.writestr(name, content)
    report, made = unpack(archive.getvalue(), member(name, content, Recipe.EFFICIENTNET_LITE0))
    assert report.outcome == "passed", report.findings
    assert made["0"] == efficientnet.convert(state_dict()).SerializeToString(deterministic=True)
