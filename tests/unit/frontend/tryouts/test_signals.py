"""Models of sound and of files on the page that runs them, and their code."""

from __future__ import annotations

import json
import sys
import types
import wave

import numpy as np
import pytest
from PIL import Image

from frontend.pages.tryouts import page as tryout_page
from registry.models import Variant
from registry.versions import selectors
from tests import factories, samples

pytestmark = [pytest.mark.capability("tryouts"), pytest.mark.django_db]

CARD = """---
license: mit
inputs:
  input:
    shape: [1, 6]
    audio: {rate: 8000, window: 6, hop: 4, lead: 2}
  state: {shape: [2, 1], carry: stateN}
  sr: {distribution: {type: one-of, values: [8000]}}
outputs:
  y: {curve: {title: Speech, threshold: 0.5}}
---
# Heard
"""
FACTS = {
    "inputs": [
        {"name": "input", "type": "tensor", "dtype": "float32", "shape": [None, None]},
        {"name": "state", "type": "tensor", "dtype": "float32", "shape": [2, None]},
        {"name": "sr", "type": "tensor", "dtype": "int64", "shape": []},
    ],
    "outputs": [
        {"name": "y", "type": "tensor", "dtype": "float32", "shape": [None, 1]},
        {"name": "stateN", "type": "tensor", "dtype": "float32", "shape": [2, None]},
    ],
}
FILE_CARD = """---
license: mit
inputs:
  bytes: {file: {begin: 4, middle: 2, end: 3, block: 8, strip: true, pad: 256}}
---
# Named
"""
FILE_FACTS = {
    "inputs": [{"name": "bytes", "type": "tensor", "dtype": "int32", "shape": [None, 9]}],
    "outputs": [{"name": "y", "type": "tensor", "dtype": "float32", "shape": [None, 2]}],
}


def published(ada, name, card, facts):
    files = {"model.onnx": samples.mlp()}
    return factories.version(ada, factories.model(ada, name), files, facts=facts, card=card)


def known(ada, name, facts):
    whole = selectors.whole_version(ada, "ada", name, 1)
    return tryout_page.read(whole, Variant(version=whole, facts=facts, precision="fp32"))


class Session:
    """Gives the sum of its sound and counts its calls in the state."""

    feeds = ()

    def __init__(self, content):
        assert content == b"model"

    def run(self, names, feeds):
        Session.feeds = [*Session.feeds, feeds]
        return [feeds.get("input", np.zeros(1)).sum(), feeds.get("state", np.zeros(1)) + 1]


def run_code(text, folder, monkeypatch, metadata=()):
    Session.feeds = []
    props = [types.SimpleNamespace(key=key, value=value) for key, value in metadata]
    model = types.SimpleNamespace(SerializeToString=lambda: b"model", metadata_props=props)
    monkeypatch.setitem(
        sys.modules,
        "hub",
        types.SimpleNamespace(
            load={"ada/heard@1": model, "ada/named@1": model, "ada/read@1": model}.get,
            download={"ada/read@1": folder}.get,
        ),
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", types.SimpleNamespace(InferenceSession=Session))
    monkeypatch.chdir(folder)
    names = {}
    exec(compile(text, "code", "exec"), names)  # noqa: S102 - the code is the subject of the test
    return names


def test_the_page_knows_sound_state_and_the_only_value(ada):
    published(ada, "heard", CARD, FACTS)
    model = known(ada, "heard", FACTS)
    assert [field.kinds for field in model.inputs] == [
        ("sound", "tensor"), ("carry", "tensor"), ("tensor",),
    ]  # fmt: skip
    assert [field.shape for field in model.inputs] == [(1, 6), (2, 1), ()]
    assert [field.preset for field in model.inputs] == ["", "[[0], [0]]", "8000"]
    spec = json.loads(model.as_json())
    assert spec["inputs"][0]["audio"]["hop"] == 4
    assert spec["outputs"][0]["reading"]["kind"] == "curve"
    assert spec["outputs"][1]["reading"] is None
    assert model.source == "the card"


def test_snippets_of_the_version_page_have_the_declared_sizes_and_values(ada, guest, graphs):
    published(ada, "heard", CARD, FACTS)
    page = guest.get("/models/ada/heard").content.decode()
    assert "np.zeros((1, 6), np.float32)" in page
    assert "np.full((), 8000, np.int64)" in page


def test_code_cuts_sound_into_windows_and_carries_the_state(ada, guest, tmp_path, monkeypatch):
    published(ada, "heard", CARD, FACTS)
    text = guest.get("/models/ada/heard/v/1/try/code", {"language": "python"}).content.decode()
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.repeat(np.arange(1, 10) * 1024, 2).astype("<i2").tobytes())
    run_code(text, tmp_path, monkeypatch)
    fed = [feeds["input"][0] * 32 for feeds in Session.feeds]
    assert [list(row) for row in fed] == [
        [0, 0, 1, 2, 3, 4], [3, 4, 5, 6, 7, 8], [7, 8, 9, 0, 0, 0],
    ]  # fmt: skip
    assert [float(feeds["state"].max()) for feeds in Session.feeds] == [0, 1, 2]
    assert {int(feeds["sr"]) for feeds in Session.feeds} == {8000}
    script = guest.get("/models/ada/heard/v/1/try/code", {"language": "javascript"})
    words = script.content.decode()
    assert 'windows(samples, {"rate": 8000, "window": 6, "hop": 4, "lead": 2})' in words
    assert 'tensor$1 = outputs["stateN"];' in words
    assert words.count("const values$") == 2


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        (b"  abcdefgh\n", [97, 98, 99, 100, 99, 100, 102, 103, 104]),
        (b" a ", [97, 32, 256, 256, 32, 97, 256, 32, 97]),
    ],
)
def test_code_takes_the_declared_bytes_of_a_file(
    ada, guest, tmp_path, monkeypatch, content, numbers
):
    published(ada, "named", FILE_CARD, FILE_FACTS)
    text = guest.get("/models/ada/named/v/1/try/code", {"language": "python"}).content.decode()
    (tmp_path / "file").write_bytes(content)
    run_code(text, tmp_path, monkeypatch)
    (feeds,) = Session.feeds
    assert feeds["bytes"].dtype == np.int32
    assert feeds["bytes"].shape == (1, 9)
    assert list(feeds["bytes"][0]) == numbers
    script = guest.get("/models/ada/named/v/1/try/code", {"language": "javascript"})
    assert "import { bytesOf } from" in script.content.decode()


PARTS = """---
license: mit
parts:
  model.onnx:
    title: Line reader
    inputs:
      x:
        image:
          channels: RGB
          scale: 0-1
          resize: {height: 48, mode: letterbox, interpolation: bilinear}
    outputs:
      y: {text: {labels: character, extra: [" "]}}
---
# Read
"""
PARTS_FACTS = {
    "inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": [-1, 3, 48, None]}],
    "outputs": [{"name": "y", "type": "tensor", "dtype": "float32", "shape": [1, None, 4]}],
}


def test_a_part_has_its_title_and_code_reads_its_text(ada, guest, tmp_path, monkeypatch):
    published(ada, "read", PARTS, PARTS_FACTS)
    html = guest.page("/models/ada/read/v/1/try")
    assert "Line reader" in html
    text = guest.get("/models/ada/read/v/1/try/code", {"language": "python"}).content.decode()
    Image.new("RGB", (192, 96), "white").save(tmp_path / "picture.png")
    steps = np.eye(4)[[1, 1, 0, 1, 2, 3]][None]
    monkeypatch.setattr(Session, "run", lambda *_: [steps])
    names = run_code(text, tmp_path, monkeypatch, [("character", "a\nb")])
    assert names["tensor"].shape == (1, 3, 48, 96)
    assert names["text"] == "aab "


TOKENS_FACTS = {
    "inputs": [
        {"name": name, "type": "tensor", "dtype": "int64", "shape": ["batch", "sequence"]}
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ],
    "outputs": [{"name": "y", "type": "tensor", "dtype": "float32", "shape": ["batch", 4]}],
}


def test_code_of_a_text_model_uses_the_tokenizer_of_the_version(ada, guest, tmp_path, monkeypatch):
    files = {"model.onnx": samples.mlp(), "tokenizer.json": b"{}"}
    factories.version(ada, factories.model(ada, "read"), files, facts=TOKENS_FACTS)
    encoding = types.SimpleNamespace(
        ids=[101, 7, 102], attention_mask=[1, 1, 1], type_ids=[0, 0, 0]
    )
    places = []
    tokenizer = types.SimpleNamespace(encode=lambda _: encoding)
    made = types.SimpleNamespace(from_file=lambda place: places.append(place) or tokenizer)
    monkeypatch.setitem(sys.modules, "tokenizers", types.SimpleNamespace(Tokenizer=made))
    text = guest.get("/models/ada/read/v/1/try/code", {"language": "python"}).content.decode()
    run_code(text, tmp_path, monkeypatch)
    assert places == [str(tmp_path / "tokenizer.json")]
    (feeds,) = Session.feeds
    assert {name: value.tolist() for name, value in feeds.items()} == {
        "input_ids": [[101, 7, 102]],
        "attention_mask": [[1, 1, 1]],
        "token_type_ids": [[0, 0, 0]],
    }
    assert all(value.dtype == np.int64 for value in feeds.values())
