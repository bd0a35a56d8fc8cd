"""Frames, pitches and texts: tiny models whose every answer is known, through the sandbox."""

from __future__ import annotations

import io

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from hub.protocol.inputs import Audio
from runners.engine.evaluation import metrics, sequences
from tests.engine.evaluation import tiny

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def split(task, column, columns=("sound",), reader="npz", **target):
    return {
        "name": "test",
        "task": task,
        "reader": reader,
        "files": ["test.npz"] if reader == "npz" else ["test.zip"],
        "inputs": [{"name": "x", "columns": list(columns)}],
        "target": {"column": column, "labels": [], **target},
    }


def figures(report):
    assert report.outcome == "passed", report.findings
    return {row["metric"]: row["value"] for row in report.measures}


def stream(rate=8_000):
    """Answers 1 for a window whose sum, with those of the calls before, is above 10.

    The rate is a scalar; at any other one the answers are not finite.
    """
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=1),
        helper.make_node("Add", ["sum", "state"], ["next"]),
        helper.make_node("Constant", [], ["ten"], value_float=10.0),
        helper.make_node("Constant", [], ["known"], value_int=rate),
        helper.make_node("Greater", ["next", "ten"], ["is_more"]),
        helper.make_node("Cast", ["is_more"], ["share"], to=FLOAT),
        helper.make_node("Equal", ["rate", "known"], ["is_known"]),
        helper.make_node("Cast", ["is_known"], ["one"], to=FLOAT),
        helper.make_node("Div", ["share", "one"], ["y"]),
    ]
    return tiny.model(
        nodes,
        [("x", FLOAT, [None, None]), ("state", FLOAT, [1, None]), ("rate", INT64, [])],
        [("y", FLOAT, [1, 1]), ("next", FLOAT, [1, 1])],
    )


STREAM = {
    "x": {"audio": {"rate": 8_000, "window": 4}},
    "state": {"carry": "next"},
    "rate": {"distribution": {"type": "one-of", "values": [8_000]}},
}
SOUNDS = np.float16([[1] * 8 + [2] * 4, [0] * 12, [3] * 12, [0] * 8 + [3] * 4])


def test_a_model_of_streams_gets_windows_and_its_own_state(evaluate):
    """Sums of the windows are 4, 8, 16 and so on: what is carried decides the last one."""
    truth = np.int8([[0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]])
    data = {"test.npz": tiny.npz(sound=SOUNDS, is_on=truth)}
    report = evaluate(
        stream(), data, split("frame-classification", "is_on", output="y"), inputs=STREAM
    )
    # Of 5 frames that are on in target or answer, 4 are right.
    assert figures(report)["f1-micro"] == pytest.approx(2 * 4 / (4 + 5))
    assert figures(report)["roc_auc"] == pytest.approx(1 - 1 / 8 / 2)
    assert report.facts["output"] == "y"
    assert {row["interval_method"] for row in report.measures} == {"bootstrap with two pseudo-rows"}


def test_what_the_card_does_not_declare_is_not_guessed(evaluate):
    data = {"test.npz": tiny.npz(sound=SOUNDS, is_on=np.zeros((4, 3), np.int8))}
    given = split("frame-classification", "is_on", output="y")
    report = evaluate(stream(), data, given, inputs={"x": STREAM["x"], "rate": STREAM["rate"]})
    assert report.findings[0].message == "The split gives no value for the model's input 'state'."
    report = evaluate(stream(), data, split("frame-classification", "is_on"), inputs=STREAM)
    assert "nothing says which one counts: 'y' and 'next'" in report.findings[0].message


def doubled():
    """Answers the double of its input."""
    return tiny.model(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [("x", FLOAT, [1, "n"])],
        [("y", FLOAT, [1, "n"])],
    )


def test_a_pitch_within_half_a_semitone_is_right_where_there_is_one(evaluate):
    cents = np.array([[0, 49, -49, 51], [-51, 0, 1200, 0]])
    sound = (220 * 2 ** (cents / 1200)).astype(np.float32)
    hertz = np.float32([[440] * 4, [440, 440, 440, 0]])
    data = {"test.npz": tiny.npz(sound=sound, hertz=hertz)}
    report = evaluate(doubled(), data, split("pitch-estimation", "hertz"))
    assert figures(report) == {"rpa": pytest.approx(4 / 7)}
    one_pitch = {"test.npz": tiny.npz(sound=sound, hertz=np.float32([440, 220]))}
    report = evaluate(doubled(), one_pitch, split("pitch-estimation", "hertz"))
    # The frame of a single target is that of the middle of the row.
    assert figures(report) == {"rpa": 0.5}


def reader(alphabet="a\nb"):
    """Reads columns of a picture: the grey level says which of blank, a, b and space it is."""
    levels = np.float32([0, 80, 160, 255]).reshape(1, 1, 4)
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["grey"], axes=[1, 2], keepdims=0),
        helper.make_node("Unsqueeze", ["grey", "last"], ["column"]),
        helper.make_node("Sub", ["column", "levels"], ["away"]),
        helper.make_node("Abs", ["away"], ["distance"]),
        helper.make_node("Neg", ["distance"], ["y"]),
    ]
    made = onnx.load_from_string(
        tiny.model(
            nodes,
            [("x", FLOAT, ["n", 3, 4, "w"])],
            [("y", FLOAT, ["n", "w", 4])],
            [("levels", levels), ("last", np.array([2]))],
        )
    )
    if alphabet:
        made.metadata_props.add(key="character", value=alphabet)
    return made.SerializeToString()


def line(*levels):
    buffer = io.BytesIO()
    Image.fromarray(np.tile(np.uint8(levels), (4, 1))).save(buffer, "PNG")
    return buffer.getvalue()


PICTURE = {
    "x": {
        "image": {
            "channels": "RGB",
            "scale": "0-255",
            "resize": {"height": 4, "mode": "letterbox", "interpolation": "nearest"},
        }
    }
}
LINES = {
    "1.png": line(80, 80, 0, 80, 160),
    "2.png": line(160, 255, 80),
    "3.png": line(0, 80, 0),
}


def written(texts):
    rows = "".join(f'{name},"{text}"\n' for name, text in texts.items())
    return {"test.zip": tiny.archive(LINES | {"metadata.csv": f"file_name,text\n{rows}".encode()})}


TEXT = split("text-recognition", "text", (), "images")


def test_lines_of_any_width_are_read_by_the_alphabet_of_the_file(evaluate):
    data = written({"1.png": "aab", "2.png": "b a", "3.png": "bba"})
    report = evaluate(reader(), data, TEXT, inputs=PICTURE)
    # The third line is read as "a": two of nine characters are left out.
    # Of its four words one is wrong.
    expected = {"accuracy": 2 / 3, "wer": 1 / 4, "cer": 2 / 9}
    assert figures(report) == {name: pytest.approx(value) for name, value in expected.items()}


def test_an_alphabet_of_another_size_is_refused(evaluate):
    data = written({"1.png": "aab"})
    for alphabet, count in (("a\nb\nc\nd", "4"), ("", "0")):
        report = evaluate(reader(alphabet), data, TEXT, inputs=PICTURE)
        assert report.outcome == "failed"
        assert f"scores 4 characters, and the metadata of its file lists {count}" in (
            report.findings[0].message
        )


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"1.png": line(80)}, "has no metadata.csv"),
        ({"metadata.csv": b"file_name,text\n7.png,a\n"}, "has no picture '7.png'"),
        ({"metadata.csv": b"name,text\n1.png,a\n", "1.png": line(80)}, "no column 'file_name'"),
    ],
)
def test_a_table_of_texts_that_is_wrong_is_named(evaluate, files, words):
    report = evaluate(reader(), {"test.zip": tiny.archive(files)}, TEXT, inputs=PICTURE)
    assert words in report.findings[0].message


@pytest.mark.parametrize(
    ("task", "target", "words"),
    [
        ("frame-classification", np.full((4, 3), 2), "more than 0 and 1"),
        ("frame-classification", np.zeros(4), "needs rows and frames"),
        ("pitch-estimation", np.full((4, 3), -1.0), "negative"),
        ("pitch-estimation", np.full((4, 3), np.nan), "no numbers"),
    ],
)
def test_targets_of_frames_that_are_none_are_named(evaluate, task, target, words):
    data = {"test.npz": tiny.npz(sound=np.zeros((4, 12), np.float32), target=target)}
    report = evaluate(doubled(), data, split(task, "target"))
    assert words in report.findings[0].message


def language(*, has_cache=False):
    """Scores of 4 tokens by the token before alone, and what an earlier call would have kept."""
    table = np.log(np.float32([[1, 1, 1, 1], [1, 5, 1, 1], [1, 1, 1, 1], [1, 1, 1, 5]]))
    nodes = [helper.make_node("Gather", ["table", "tokens"], ["logits"])]
    ports, answers = [("tokens", INT64, ["n", "length"])], [("logits", FLOAT, ["n", "length", 4])]
    if has_cache:
        cache = [
            ("past.0.key", FLOAT, ["n", 2, "past", 3]),
            ("past.0.value", FLOAT, [1, 2, None, 3]),
        ]
        nodes += [helper.make_node("Identity", [name], [f"new.{name}"]) for name, *_ in cache]
        ports += cache
        answers += [(f"new.{name}", *rest) for name, *rest in cache]
    return tiny.model(nodes, ports, answers, [("table", table)])


TOKENS = np.int64([[1, 1, 1, 2], [3, 3, 0, 2], [0, 0, 3, 3]])
LABELS = np.int64([[-100, 1, 1, 2], [-100, 3, 0, -100], [0, -100, 3, 3]])


def of_tokens(**target):
    return {
        **split("language-modelling", "labels", **target),
        "inputs": [{"name": "tokens", "columns": ["tokens"]}],
    }


@pytest.mark.parametrize("has_cache", [False, True])
def test_a_language_model_predicts_each_token_from_those_before(evaluate, has_cache):
    data = {"test.npz": tiny.npz(tokens=TOKENS, labels=LABELS)}
    report = evaluate(language(has_cache=has_cache), data, of_tokens())
    # After 1 comes 1 with 5/8, after 3 comes 3, and after 0 anything with 1/4.
    shares = [5 / 8, 5 / 8, 1 / 8, 5 / 8, 1 / 8, 1 / 4, 5 / 8]
    assert figures(report) == {
        "perplexity": pytest.approx(np.exp(-np.mean(np.log(shares)))),
        "token-accuracy": pytest.approx(4 / 7),
    }
    assert report.facts["output"] == "logits"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (LABELS + 2.5, "no array of whole numbers"),
        (LABELS[:, :1], "no array of whole numbers"),
        (np.full_like(LABELS, -100), "rows of which no token is predicted"),
        (np.full_like(LABELS, -1), "negative tokens other than -100"),
        (np.full_like(LABELS, 4), "token 4, and the model scores 4 tokens"),
        (np.pad(LABELS, ((0, 0), (0, 1))), "scores 4 tokens, and a row of the targets has 5"),
    ],
)
def test_tokens_that_cannot_be_predicted_are_named(evaluate, labels, words):
    report = evaluate(language(), {"test.npz": tiny.npz(tokens=TOKENS, labels=labels)}, of_tokens())
    assert words in report.findings[0].message


def test_a_cache_with_another_free_size_is_not_guessed(evaluate):
    cache = [("past.0.key", FLOAT, ["n", "heads", "past", 3])]
    model = tiny.model(
        [helper.make_node("Gather", ["table", "tokens"], ["logits"]),
         helper.make_node("Identity", ["past.0.key"], ["new"])],
        [("tokens", INT64, ["n", "length"]), *cache],
        [("logits", FLOAT, ["n", "length", 4]), ("new", FLOAT, ["n", "heads", "past", 3])],
        [("table", np.zeros((4, 4), np.float32))],
    )  # fmt: skip
    data = {"test.npz": tiny.npz(tokens=TOKENS, labels=LABELS)}
    report = evaluate(model, data, of_tokens())
    words = "The split gives no value for the model's input 'past.0.key'."
    assert report.findings[0].message == words


@pytest.mark.parametrize(
    ("target", "answer", "count"),
    [("", "", 0), ("", "ab", 2), ("ab", "", 2), ("kitten", "sitting", 3), ("Straße", "Strasse", 2),
     ("flaw", "lawn", 2), ("😀a", "a", 1), (["the", "cat"], ["a", "cat", "sat"], 2)],
)  # fmt: skip
def test_edits_are_the_distance_of_levenshtein(target, answer, count):
    assert metrics.edits(target, answer) == count


def test_the_end_of_a_sound_is_filled():
    sound = np.arange(1, 6, dtype=np.float32)
    silent = Audio(8_000, window=4, hop=2, lead=1)
    rows = [row.tolist() for row in sequences.windows(sound, silent, 4)]
    assert rows == [[0, 1, 2, 3], [2, 3, 4, 5]]
    repeated = Audio(8_000, fill="repeat")
    assert [row.tolist() for row in sequences.windows(sound, repeated, 7)] == [
        [1, 2, 3, 4, 5, 1, 2]
    ]
