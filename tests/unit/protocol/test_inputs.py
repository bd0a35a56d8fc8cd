"""The inputs that a card declares, as typed objects, and against the inputs of the model."""

from __future__ import annotations

import dataclasses

import pytest

from hub.protocol import inputs
from hub.protocol.facts import read_ports
from registry.cards import cards
from registry.cards.findings import Notes

IMAGENET = {
    "channels": "RGB",
    "scale": "0-1",
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
    "resize": {"width": 224, "height": 224, "mode": "crop", "shortest_edge": 256},
}


def findings(front):
    return [
        (one.severity, one.pointer, one.message, one.cure)
        for one in cards.check(f"---\n{front}\n---\n").findings
    ]


def compared(declared, *rows, files=None):
    notes = Notes()
    inputs.compare(inputs.parse(declared), read_ports(list(rows)), notes, files=files)
    return [(one.severity, one.pointer, one.message, one.cure) for one in notes.in_order()]


def row(name, dtype, *shape):
    return {"name": name, "type": "tensor", "dtype": dtype, "shape": list(shape)}


def test_a_declaration_becomes_frozen_objects():
    (one,) = inputs.parse({"x": {"image": IMAGENET, "example": "cat.png"}})
    assert (one.name, one.example) == ("x", "cat.png")
    assert one.image == inputs.Image(
        channels="RGB",
        scale=inputs.Scale("0-1", 1 / 255),
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        resize=inputs.Resize(224, 224, "crop", None, 256),
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.vocabulary = 3


def test_a_card_gives_its_declared_inputs():
    text = "---\ninputs:\n  ids: {vocabulary: 100, distribution: token-ids}\n---\n# x\n"
    (one,) = cards.accept(text).card.inputs
    assert one.vocabulary == 100
    assert one.distribution == inputs.Distribution("token-ids")
    assert one.bounds() == ((0.0, 99.0),)


@pytest.mark.parametrize(
    ("declared", "bounds"),
    [
        ({"range": [-1, 2]}, ((-1.0, 2.0),)),
        ({"vocabulary": 10}, ((0.0, 9.0),)),
        ({"distribution": {"type": "one-of", "values": [0, 4, 1]}}, ((0.0, 4.0),)),
        ({"distribution": {"type": "one-of", "values": ["a"]}}, ()),
        ({"distribution": {"type": "normal", "mean": 0, "std": 1}}, ()),
        ({"image": {"channels": "grey", "scale": "0-1"}}, ((0.0, 1.0),)),
        ({"image": {"channels": "grey", "scale": "0-255"}}, ((0.0, 255.0),)),
        ({"image": {"channels": "grey", "scale": "-1-1"}}, ((-1.0, 1.0),)),
        ({"image": {"channels": "grey", "scale": "\N{MINUS SIGN}1\N{EN DASH}1"}}, ((-1.0, 1.0),)),
        ({"image": {"channels": "grey", "scale": "1/127.5"}}, ((0.0, 2.0),)),
        ({"image": {"channels": "gray", "scale": 0.5, "mean": 10, "std": 2}}, ((-5.0, 58.75),)),
        ({"image": {"scale": "0-1"}}, ()),
        ({"image": {"channels": "RGB"}}, ()),
    ],
)
def test_the_bounds_follow_from_what_is_declared(declared, bounds):
    (one,) = inputs.parse({"x": declared})
    assert [end for row in one.bounds() for end in row] == pytest.approx(
        [end for row in bounds for end in row]
    )


def test_a_picture_has_bounds_for_each_channel():
    (one,) = inputs.parse({"x": {"image": IMAGENET}})
    low, high = zip(*one.bounds(), strict=True)
    assert low == pytest.approx((-2.1179, -2.0357, -1.8044), abs=1e-4)
    assert high == pytest.approx((2.2489, 2.4286, 2.6400), abs=1e-4)


@pytest.mark.parametrize(
    ("front", "severity", "pointer", "words"),
    [
        ("inputs: 3", "error", "/inputs", "one indented `name:`"),
        ("inputs: {x: 3}", "error", "/inputs/x", "range"),
        ("inputs: {x: {rnage: [0, 1]}}", "error", "/inputs/x/rnage", "rnage -> range."),
        ("inputs: {x: {shape: 576}}", "error", "/inputs/x/shape", "[null, 576]"),
        ("inputs: {x: {shape: [1, 0]}}", "error", "/inputs/x/shape", "from 1 to"),
        ("inputs: {x: {shape: []}}", "error", "/inputs/x/shape", "1 to 16 sizes"),
        ("inputs: {x: {audio: {rate_hz: 16000}}}", "error", "/inputs/x/audio/rate_hz", "-> rate"),
        ("inputs: {x: {audio: {window: 9}}}", "error", "/inputs/x/audio", "Add rate"),
        ("inputs: {x: {audio: {rate: 0}}}", "error", "/inputs/x/audio/rate", "Correct"),
        ("inputs: {x: {audio: {rate: 8000, window: 8, hop: 9}}}", "error",
         "/inputs/x/audio/hop", "Lower hop"),
        ("inputs: {x: {audio: {rate: 8000}, image: {channels: RGB, scale: 0-1}}}", "error",
         "/inputs/x/audio", "Remove the others"),
        ("inputs: {x: {file: {strip: true}}}", "error", "/inputs/x/file", "Add begin"),
        ("inputs: {x: {carry: [y]}}", "error", "/inputs/x/carry", "Correct the text"),
        ("inputs: {x: {range: [1, 0]}}", "error", "/inputs/x/range", "[0, 1]"),
        ("inputs: {x: {range: 3}}", "error", "/inputs/x/range", "[low, high]"),
        ("inputs: {x: {range: [0]}}", "error", "/inputs/x/range", "[low, high]"),
        ("inputs: {x: {range: [0, true]}}", "error", "/inputs/x/range/1", "digits only"),
        ("inputs: {x: {range: [0, 1" + "0" * 310 + "]}}", "error", "/inputs/x/range/1", "number"),
        ("inputs: {x: {distribution: uniform}}", "error", "/inputs/x/distribution", "Add range"),
        ("inputs: {x: {distribution: integers}}", "error", "/inputs/x/distribution", "Add range"),
        ("inputs: {x: {distribution: token-ids}}", "error", "/inputs/x/distribution", "vocabulary"),
        ("inputs: {x: {distribution: unifrom}}", "error", "/inputs/x/distribution", "-> uniform"),
        ("inputs: {x: {distribution: {mean: 0}}}", "error", "/inputs/x/distribution", "no type"),
        ("inputs: {x: {distribution: normal}}", "error", "/inputs/x/distribution", "is missing"),
        ("inputs: {x: {distribution: {type: normal, mean: 0, std: 0}}}", "error",
         "/inputs/x/distribution/std", "above 0"),
        ("inputs: {x: {distribution: {type: one-of}}}", "error", "/inputs/x/distribution",
         "Add values"),
        ("inputs: {x: {distribution: {type: one-of, values: [1, a]}}}", "error",
         "/inputs/x/distribution/values/1", "not a number"),
        ("inputs: {x: {vocabulary: 0}}", "error", "/inputs/x/vocabulary", "30522"),
        ("inputs: {x: {vocabulary: {size: many}}}", "error", "/inputs/x/vocabulary/size", "30522"),
        ("inputs: {x: {vocabulary: 10, range: [0, 10]}}", "error", "/inputs/x/range", "0 to 9"),
        ("inputs: {x: {example: ../a.npy}}", "error", "/inputs/x/example", "list of files"),
        ("inputs: {x: {example: a.txt}}", "error", "/inputs/x/example", ".npy"),
        ("inputs: {x: {example: a.png}}", "error", "/inputs/x/example", "Add image"),
        ("inputs: {x: {image: {scale: 0-1}}}", "warning", "/inputs/x/image", "Add channels"),
        ("inputs: {x: {image: {channels: RGB}}}", "warning", "/inputs/x/image", "Add scale"),
        ("inputs: {x: {image: {channels: RBG, scale: 0-1}}}", "error", "/inputs/x/image/channels",
         "RBG -> "),
        ("inputs: {x: {image: {channels: RGB, scale: 0-2}}}", "error", "/inputs/x/image/scale",
         "1/255"),
        ("inputs: {x: {image: {channels: RGB, scale: -1}}}", "error", "/inputs/x/image/scale",
         "polarity"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, mean: [1, 2]}}}", "error",
         "/inputs/x/image/mean", "3 numbers"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, std: [1, 0, 1]}}}", "error",
         "/inputs/x/image/std", "above 0"),
        ("inputs: {x: {image: {channels: RGB, mean: 0.5}}}", "error", "/inputs/x/image",
         "Add scale"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, mean: 127.5}}}", "warning",
         "/inputs/x/image/mean", "0-255"),
        ("inputs: {x: {image: {channels: grey, scale: 0-1}, range: [0, 0.5]}}", "error",
         "/inputs/x/range", "beyond"),
        ("inputs: {x: {image: {channels: grey, scale: 0-1, polarity: dark}}}", "error",
         "/inputs/x/image/polarity", "light-on-dark"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, resize: {width: 0}}}}", "error",
         "/inputs/x/image/resize/width", "from 1"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, resize: {pad: 3}}}}", "error",
         "/inputs/x/image/resize/pad", "letterbox"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, mean: [1, ~, 2]}}}", "error",
         "/inputs/x/image/mean", "empty"),
        ("inputs: {x: {image: {channels: RGB, scale: 0-1, std: 4.9e-324}}}", "error",
         "/inputs/x/image", "finite"),
        ("inputs: {x: {image: {resize: {width: 224, mode: crop, shortest_edge: 200}}}}", "error",
         "/inputs/x/image/resize/shortest_edge", "before the crop"),
        ("input: {x: {range: [0, 1]}}", "warning", "/input", "inputs"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_cause_and_cure(front, severity, pointer, words):
    rows = findings(front)
    assert any(
        (one[0], one[1]) == (severity, pointer) and words in f"{one[2]} {one[3]}" for one in rows
    ), rows


def test_a_wrong_declaration_is_left_out_and_the_others_stay():
    declared = {"a": {"range": [2, 1]}, "b": {"range": [0, 1]}, "c": 3}
    assert [one.name for one in inputs.parse(declared)] == ["b"]
    assert inputs.parse("anything") == ()


@pytest.mark.parametrize(
    ("shape", "channels", "layout"),
    [
        ((1, 3, 224, 224), "RGB", "NCHW"),
        ((None, 224, 224, 3), "BGR", "NHWC"),
        ((None, 1, None, None), "grey", "NCHW"),
        ((3, 8, 8), None, "CHW"),
        ((8, 8, 1), "grey", "HWC"),
        ((1, 3, 8, 3), "RGB", None),
        ((1, 1, 3, 3), None, None),
        ((None, None, None, None), "RGB", None),
        ((1, 3, 8, 8), "grey", None),
        ((1, 784), "grey", None),
        (None, "RGB", None),
    ],
)
def test_a_layout_is_inferred_only_where_the_shape_determines_it(shape, channels, layout):
    assert inputs.layout_of(shape, channels) == layout


@pytest.mark.parametrize(
    ("declared", "real", "severity", "pointer", "words"),
    [
        ({"imgae": {"range": [0, 1]}}, row("image", "float32", 1), "error", "/inputs/imgae",
         "imgae -> image."),
        ({"ids": {"range": [0, 1]}}, row("pixel_values", "float32", 1), "error", "/inputs/ids",
         "ids -> pixel_values."),
        ({"x": {"vocabulary": 9}}, row("x", "float32", 1), "error", "/inputs/x/vocabulary",
         "integer types"),
        ({"x": {"vocabulary": 300}}, row("x", "uint8", 1), "error", "/inputs/x", "0 to 255"),
        ({"x": {"range": [-1, 1]}}, row("x", "uint8", 1), "error", "/inputs/x/range", "0 to 255"),
        ({"x": {"range": [0, 1]}}, row("x", "string", 1), "error", "/inputs/x/range", "no range"),
        ({"x": {"distribution": {"type": "normal", "mean": 0, "std": 1}}}, row("x", "int64", 1),
         "error", "/inputs/x/distribution", "not integers"),
        ({"x": {"distribution": {"type": "one-of", "values": ["a"]}}}, row("x", "int64", 1),
         "error", "/inputs/x/distribution/values", "numbers"),
        ({"x": {"image": IMAGENET}}, row("x", "string", 1), "error", "/inputs/x/image", "Remove"),
        ({"x": {"image": IMAGENET}}, row("x", "float32", 1, 784), "error", "/inputs/x/image",
         "not an image"),
        ({"x": {"image": IMAGENET}}, row("x", "float32", 1, "c", "h", "w"), "warning",
         "/inputs/x/image", "Add layout"),
        ({"x": {"image": IMAGENET}}, row("x", "float32", 1, 3, 256, 224), "error",
         "/inputs/x/image/resize/height", "height: 256"),
        ({"x": {"image": {**IMAGENET, "layout": "NHWC"}}}, row("x", "float32", 1, 3, 224, 224),
         "error", "/inputs/x/image/layout", "Correct"),
        ({"x": {"image": {**IMAGENET, "layout": "CHW"}}}, row("x", "float32", 1, 3, 224, 224),
         "error", "/inputs/x/image/layout", "NCHW or NHWC"),
    ],
)  # fmt: skip
def test_the_inputs_of_the_model_contradict_a_declaration(declared, real, severity, pointer, words):
    rows = compared(declared, real)
    assert any(
        (one[0], one[1]) == (severity, pointer) and words in f"{one[2]} {one[3]}" for one in rows
    ), rows


@pytest.mark.parametrize("sizes", [[576], [1, 577], [1, 576, 1]])
def test_sizes_that_the_model_fixes_are_the_same_in_a_declared_shape(sizes):
    rows = compared({"x": {"shape": sizes}}, row("x", "float32", "N", 576))
    message = f"x has the shape [?, 576], not {sizes}."
    assert [one[:3] for one in rows] == [("error", "/inputs/x/shape", message)]


def test_several_inputs_are_named_where_none_is_near():
    rows = compared({"zzz": {"range": [0, 1]}}, row("a", "float32"), row("b", "float32"))
    assert rows[0][3] == "Its inputs are a, b."


def test_an_example_is_a_file_of_the_version():
    declared = {"x": {"example": "smaple.npy"}}
    rows = compared(declared, row("x", "float32", 1), files={"sample.npy", "model.onnx"})
    assert rows == [
        ("warning", "/inputs/x/example", "The version has no file smaple.npy.",
         "smaple.npy -> sample.npy."),
    ]  # fmt: skip


def test_what_fits_is_not_reported():
    declared = {
        "x": {"image": IMAGENET, "shape": [8, 3, None, 224]},
        "ids": {"vocabulary": 100, "distribution": "token-ids"},
        "word": {"distribution": {"type": "one-of", "values": ["a", "b"]}},
    }
    rows = compared(
        declared,
        row("x", "float32", "N", 3, 224, 224),
        row("ids", "int64", "N", "T"),
        row("word", "string", 1),
    )
    assert rows == []


def test_a_stream_has_windows_and_carries_an_output():
    declared = {
        "sound": {"audio": {"rate": 16000, "window": 576, "hop": 512, "lead": 64}},
        "whole": {"audio": {"rate": 16000, "fill": "repeat"}},
        "head": {"file": {"begin": 1024, "end": 1024, "block": 4096, "strip": True, "pad": 256}},
        "state": {"carry": "stateN"},
        "rate": {"distribution": {"type": "one-of", "values": [16000]}},
    }
    sound, whole, head, state, rate = inputs.parse(declared)
    assert (sound.audio.window_of((1, None)), sound.audio.hop, sound.audio.lead) == (576, 512, 64)
    assert whole.audio.window_of((1, None)) is None
    assert whole.audio.window_of((1, 144160)) == 144160
    assert (state.carry, state.constant, rate.constant) == ("stateN", None, 16000)
    for row in (sound, whole, head, state):
        assert inputs.parse({row.name: row.document()}) == (row,)


@pytest.mark.parametrize(
    ("declared", "real", "pointer"),
    [
        ({"audio": {"rate": 16000}}, row("x", "int64", 1, "n"), "/inputs/x/audio"),
        ({"audio": {"rate": 16000, "window": 9}}, row("x", "float32", 1, 8), "/inputs/x/audio"),
        ({"file": {"begin": 9}}, row("x", "int32", "n", 8), "/inputs/x/file"),
    ],
)
def test_windows_and_bytes_have_room_in_the_input(declared, real, pointer):
    [(severity, place, *_)] = compared({"x": declared}, real)
    assert (severity, place) == ("error", pointer)
