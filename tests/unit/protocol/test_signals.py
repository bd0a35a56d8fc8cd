"""Sound, bytes of files, states, outputs and parts as a card declares them."""

from __future__ import annotations

import pytest

from hub.protocol import inputs, outputs, parts
from hub.protocol.facts import read_ports
from registry.cards import cards
from runners.starter import manifest


def errors(front):
    return [
        (one.pointer, one.message) for one in cards.check(f"---\n{front}\n---\n").findings
        if one.severity == "error"
    ]  # fmt: skip


def test_sound_files_and_states_become_frozen_objects():
    sound, state, content = inputs.parse(
        {
            "x": {"audio": {"rate": 16000, "window": 576, "hop": 512, "lead": 64}},
            "state": {"carry": "stateN"},
            "bytes": {"file": {"begin": 4, "end": 2, "block": 8, "strip": True, "pad": 256}},
        }
    )
    assert sound.audio == inputs.Audio(16000, 576, 512, 64, "silence")
    assert sound.document() == {"audio": {"rate": 16000, "window": 576, "hop": 512, "lead": 64}}
    assert state.carry == "stateN"
    assert content.file == inputs.FileBytes(4, 0, 2, 8, strip=True, pad=256)
    assert content.file.size == 6


@pytest.mark.parametrize(
    ("shape", "axis", "window"),
    [
        ((1, None), 1, 160), ((None, 43844, 1), 1, 43844), ((None,), 0, 160), ((1,), None, 160),
        (None, None, 160),
    ],
)  # fmt: skip
def test_samples_lie_along_the_last_axis_that_is_not_one(shape, axis, window):
    assert inputs.axis_of(shape) == axis
    audio = inputs.Audio(8000, None if window == 43844 else 160)
    assert audio.window_of(shape) == window


@pytest.mark.parametrize(
    ("front", "pointer"),
    [
        ("inputs: {x: {audio: {window: 5}}}", "/inputs/x/audio"),
        ("inputs: {x: {audio: {rate: 16000, window: 5, hop: 6}}}", "/inputs/x/audio/hop"),
        ("inputs: {x: {audio: {rate: 16000, fill: noise}}}", "/inputs/x/audio/fill"),
        ("inputs: {x: {file: {pad: 1}}}", "/inputs/x/file"),
        ("inputs: {x: {file: {begin: 9, block: 8}}}", "/inputs/x/file/block"),
        ("inputs: {x: {file: {begin: 9}, carry: y}}", "/inputs/x/carry"),
        ("inputs: {x: {carry: 3}}", "/inputs/x/carry"),
        ("outputs: [y]", "/outputs"),
        ("outputs: {y: {curve: {}, boxes: {format: xyxy}}}", "/outputs/y"),
        ("outputs: {y: {curve: {range: [1, 1]}}}", "/outputs/y/curve/range"),
        ("outputs: {y: {notes: {first: 21}}}", "/outputs/y/notes"),
        ("outputs: {y: {scores: {names: [a]}}}", "/outputs/y/scores"),
        ("outputs: {y: {classes: {names: [1]}}}", "/outputs/y/classes/names"),
        ("outputs: {y: {text: {blank: 0}}}", "/outputs/y/text"),
        ("outputs: {y: {boxes: {format: corners}}}", "/outputs/y/boxes/format"),
        ("outputs: {y: {regions: {level: 1}}}", "/outputs/y/regions/level"),
        ("parts: {a.onnx: {outputs: {y: {curve: 3}}}}", "/parts/a.onnx/outputs/y/curve"),
        ("parts: {a.onnx: {titel: x}}", "/parts/a.onnx/titel"),
    ],
)
def test_each_error_names_its_place(front, pointer):
    assert pointer in [place for place, _ in errors(front)]


def test_outputs_have_one_reading():
    declared = {
        "p": {"curve": {"unit": "Hz", "confidence": "c", "least": 0.9}},
        "n": {"notes": {"step": 256}},
        "t": {"text": {"labels": "character", "extra": [" "]}},
        "b": {"boxes": {"format": "cxcywh", "unit": "share", "scores": "s"}},
    }
    curve, notes, text, boxes = outputs.parse(declared)
    assert curve.reading == outputs.Curve(unit="Hz", confidence="c", least=0.9)
    assert notes.reading == outputs.Keyboard(256, 21, 0.5, 1, 0)
    assert text.document() == {"kind": "text", "labels": "character", "blank": 0, "extra": (" ",)}
    assert boxes.reading == outputs.Boxes("cxcywh", is_share=True, scores="s")


def test_a_part_goes_before_the_whole_card():
    card = {
        "inputs": {"x": {"range": [0, 1]}, "y": {"range": [0, 2]}},
        "parts": {"b.onnx": {"title": "Finder", "inputs": {"x": {"range": [0, 9]}}}},
    }
    assert {each.name: each.range for each in parts.of(card, "b.onnx").inputs} == {
        "x": (0, 9), "y": (0, 2),
    }  # fmt: skip
    assert parts.of(card, "b.onnx").title == "Finder"
    assert parts.of(card, "a.onnx").inputs[0].range == (0, 1)


def test_a_negative_size_is_free():
    (port,) = read_ports([{"name": "x", "type": "tensor", "dtype": "float32", "shape": [-1, 3]}])
    assert port.type.sizes == (None, 3)


def test_where_the_ratio_is_kept_one_edge_follows_the_other():
    image = {"channels": "grey", "scale": "0-1", "layout": "NCHW"}
    resize = {"height": 48, "interpolation": "bilinear"}
    sizes = {}
    for mode in ("letterbox", "crop", "stretch"):
        read = inputs.image_of(image | {"resize": resize | {"mode": mode}})
        sizes[mode] = inputs.resolve(read, None).size(400, 96)
    assert sizes == {"letterbox": (200, 48), "crop": (200, 48), "stretch": (400, 48)}


@pytest.mark.capability("starter")
@pytest.mark.parametrize("name", list(manifest.models()))
def test_cards_of_starter_models_declare_without_error(name):
    text = manifest.model(name).card_text()
    assert [one for one in cards.check(text).findings if one.severity == "error"] == []
