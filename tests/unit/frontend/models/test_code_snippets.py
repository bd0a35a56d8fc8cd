"""Code with the real names, types and shapes of a model's inputs."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from frontend.presenters import code_snippets
from hub.protocol import inputs
from hub.protocol.facts import Port, Type

IMAGE = Port("pixels", Type("tensor", "float32", ("batch", 1, 8, 8)))
MASK = Port("mask", Type("tensor", "int64", (2,)))


def target(*inputs, **more):
    named = {
        "ref": "zoo/net@3", "repository": "zoo/net", "number": 3, "paths": ("model.onnx",),
        "hub": "https://hub.example",
    }  # fmt: skip
    return code_snippets.Target(**named | more, inputs=inputs)


def texts(of):
    return {one["value"]: one["text"] for one in code_snippets.of(of)}


def test_python_runs_with_tensors_of_the_declared_shapes():
    given = {}

    def run(_, feeds):
        given.update(feeds)
        return []

    session = SimpleNamespace(run=run)
    code = texts(target(IMAGE, MASK))["python"].replace("import hub\n", "")
    hub = SimpleNamespace(session=lambda ref: session if ref == "zoo/net@3" else None)
    exec(code, {"hub": hub})  # noqa: S102 - the code is ours
    assert {name: (one.shape, one.dtype) for name, one in given.items()} == {
        "pixels": ((1, 1, 8, 8), np.float32), "mask": ((2,), np.int64),
    }  # fmt: skip


def test_free_sizes_and_single_values_are_those_of_the_card():
    rows = [
        Port("sound", Type("tensor", "float32", (None, -1))),
        Port("rate", Type("tensor", "int64", ())),
        Port("gain", Type("tensor", "float32", (2,))),
    ]
    declared = inputs.parse({
        "sound": {"shape": [1, 576]},
        "rate": {"distribution": {"type": "one-of", "values": [16000]}},
        "gain": {"distribution": {"type": "one-of", "values": [0.5]}},
    })  # fmt: skip
    snippets = texts(target(*rows, declared=declared))
    assert "'sound': np.zeros((1, 576), np.float32)," in snippets["python"]
    assert "'rate': np.full((), 16000, np.int64)," in snippets["python"]
    assert (
        'new ort.Tensor("int64", new BigInt64Array(1).fill(16000n), [])' in snippets["javascript"]
    )
    assert "new DenseTensor<long>(new long[] { 16000 }, new int[0])" in snippets["csharp"]
    assert "FloatBuffer.wrap(new float[] {0.5f, 0.5f}), new long[] {2}" in snippets["java"]
    assert "np.zeros((1, 1), np.float32)" in texts(target(rows[0]))["python"]


@pytest.mark.capability("packages")
def test_a_package_of_a_language_model_is_generated_from_first():
    of = target(IMAGE, names=frozenset({"genai_config.json"}))
    first, *_ = code_snippets.of(of)
    assert first["value"] == "genai"
    assert "hub.genai('zoo/net@3')" in first["text"]
    assert "genai" not in texts(target(IMAGE))


def test_a_cache_is_empty_before_the_first_token():
    past = Port("past.0.key", Type("tensor", "float32", ("batch", 2, "past", 16)))
    snippets = texts(target(past))
    assert "'past.0.key': np.zeros((1, 2, 0, 16), np.float32)," in snippets["python"]
    assert "new Float32Array(0), [1, 2, 0, 16])" in snippets["javascript"]
    open_size = Port("past.0.key", Type("tensor", "float32", ("batch", 2, "past", "size")))
    assert "np.zeros((1, 2, 1, 1), np.float32)" in texts(target(open_size))["python"]


def test_every_language_names_the_inputs_with_their_types():
    found = texts(target(IMAGE, MASK))
    assert 'new ort.Tensor("float32", new Float32Array(64), [1, 1, 8, 8])' in found["javascript"]
    assert 'new ort.Tensor("int64", new BigInt64Array(2), [2])' in found["javascript"]
    assert (
        'CreateFromTensor("pixels", new DenseTensor<float>(new[] { 1, 1, 8, 8 }))'
        in found["csharp"]
    )
    assert "LongBuffer.wrap(new long[2]), new long[] {2}" in found["java"]
    assert "// float32[batch, 1, 8, 8]" in found["java"]
    assert found["curl"] == "curl -fLO https://hub.example/models/zoo/net/v/3/files/model.onnx"
    assert "hf_hub_download('zoo/net', 'model.onnx', revision=\"v3\")" in found["huggingface"]
    assert found["cli"] == "export HUB_URL=https://hub.example\nhub get zoo/net@3"


@pytest.mark.capability("git")
def test_a_version_is_cloned_by_its_tag():
    assert texts(target(IMAGE))["git"] == "git clone --branch v3 https://hub.example/zoo/net"
    assert "git" not in texts(target(IMAGE, is_derived=True))


def test_weights_apart_tokens_and_derived_variants():
    found = texts(target(IMAGE, paths=("m/model.onnx", "m/w.data"), is_open=False, is_derived=True))
    first, second = found["curl"].splitlines()
    assert first.startswith('curl -fLO -H "Authorization: Bearer $HUB_TOKEN" https://')
    assert second.endswith("/m/w.data")
    assert (
        '{ path: "w.data", data: "https://hub.example/models/zoo/net/v/3/files/m/w.data" }'
        in (found["javascript"])
    )


@pytest.mark.parametrize("name", ['a"\\b\n)', "x\u202ey", "é"])
def test_names_of_strangers_stay_strings(name):
    found = texts(target(Port(name, Type("tensor", "float32", (None,)))))
    assert json.dumps(name) in found["javascript"]
    assert json.dumps(name) in found["csharp"]
    assert repr(name) in found["python"]
    assert all(line.isprintable() for text in found.values() for line in text.splitlines())


def test_what_is_no_tensor_is_left_to_the_reader():
    of = Type("sequence", element=Type("tensor", "float32", (1,)))
    inputs = [Port("list", of), *(Port(f"x{n}", MASK.type) for n in range(9))]
    found = texts(target(*inputs))
    assert "# list: sequence of float32" in found["python"]
    assert "and 2 more inputs" in found["java"]
    assert "x7" not in found["java"]
