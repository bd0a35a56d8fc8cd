"""Sound, files and readings of outputs on the page that runs a model, by what its card declares."""

from __future__ import annotations

import json

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from PIL import Image
from playwright.sync_api import expect

from tests import chromium as installed
from tests import samples
from tests.browser.test_try import ended, npy, png, published, runtime, wav

__all__ = ["runtime"]
WAIT = 60_000


def card(**front):
    """A card of these fields; JSON is YAML."""
    return f"---\n{json.dumps({'license': 'mit', **front})}\n---\n# x\n"


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values, np.float32), name)


def give(page, name, kind, content):
    file = {"name": name, "mimeType": kind, "buffer": content}
    page.locator("[data-way]:not([hidden]) [data-set=file]").first.set_input_files([file])
    if kind.startswith("image/"):  # sound and files run at once
        page.click("[data-run=browser]")
    page.locator("[data-part=answer]:visible, [data-part=notes] .note").first.wait_for(timeout=WAIT)


def voice():
    """The loudest of 6 samples and a state that counts the calls."""
    nodes = [
        samples.node("ReduceMax", ["x"], ["loudest"], axes=[1], keepdims=1),
        samples.node("Add", ["state", "one"], ["stateN"]),
    ]
    ports = [samples.value("x", shape=["N", "S"]), samples.value("state", shape=[1, 1])]
    outs = [samples.value("loudest", shape=["N", 1]), samples.value("stateN", shape=[1, 1])]
    return samples.model(nodes, ports, outs, [constant("one", [[1]])])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_sound_is_cut_into_calls_and_shown_as_a_curve(runtime, window, scheme):
    declared = card(
        inputs={
            "x": {"shape": [1, 200], "audio": {"rate": 8000, "window": 200, "hop": 100,
                                               "lead": 100}},
            "state": {"carry": "stateN"},
        },
        outputs={"loudest": {"curve": {"title": "Loudness", "range": [0, 1], "threshold": 0.5}}},
    )  # fmt: skip
    place = published(runtime, f"voice-{scheme}", voice(), declared)
    one = window(color_scheme=scheme, width=390 if scheme == "dark" else 1440)
    one.open(place)
    give(one.page, "a.wav", "audio/wav", wav(8000, 0.5))
    text = " ".join(ended(one.page).split())
    one.shoot(f"try-voice-{scheme}")
    assert "40 calls of 200 samples, one each 100 samples, after 100 samples of silence" in text
    assert "Loudness over 0.50 s, from 0 to 1; 100 % of the time at 0.5 or more." in text
    assert "loudest float32[40, 1]" in text
    # The state is that after the last call.
    row = one.page.locator("[data-part=answers] table", has_text="stateN").locator("td")
    assert row.first.inner_text() == "40"
    assert one.page.locator("svg.chart .curve").count() == 1
    assert one.axe() == []
    one.page.set_viewport_size({"width": 320, "height": 800})
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_page_says_that_the_server_runs_the_first_call_alone(runtime, window):
    declared = card(
        inputs={
            "x": {"shape": [1, 200], "audio": {"rate": 8000, "window": 200}},
            "state": {"carry": "stateN"},
        },
    )
    one = window(signed=True)
    one.open(published(runtime, "voice-server", voice(), declared))
    give(one.page, "a.wav", "audio/wav", wav(8000, 0.5))
    ended(one.page)
    one.page.click("[data-run=browser]")
    server = one.page.locator("[data-part=server]")
    expect(server).to_contain_text("1 thread, the first of 20 calls,", timeout=WAIT)
    expect(one.page.locator("[data-part=verdict]")).to_contain_text(
        "Same result as the server in the first call, largest difference"
    )


def test_a_recording_of_the_microphone_is_run(runtime, chromium):
    declared = card(
        inputs={"x": {"audio": {"rate": 16000}}},
        outputs={"y": {"curve": {"title": "Sample", "step": 1}}},
    )
    model = samples.model(
        [samples.node("Abs", ["x"], ["y"])],
        [samples.value("x", shape=[1, "S"])],
        [samples.value("y", shape=[1, "S"])],
    )
    place = published(runtime, "recorded", model, declared)
    arguments = ["--no-sandbox", "--use-fake-device-for-media-stream",
                 "--use-fake-ui-for-media-stream"]  # fmt: skip
    browser = chromium.browser_type.launch(executable_path=installed.path(), args=arguments)
    page = browser.new_context(permissions=["microphone"]).new_page()
    page.goto(runtime.url + place)
    page.click("[data-record]")
    expect(page.locator("[data-record]")).to_have_text("Stop recording")
    page.wait_for_timeout(1200)
    page.click("[data-record]")
    page.locator("[data-part=answer]:visible").wait_for(timeout=WAIT)
    assert "resampled to 16000 Hz" in page.locator("[data-part=steps]").inner_text()
    browser.close()


def test_notes_are_written_down(runtime, window):
    """The model gives rows of four keys, of which two sound."""
    keys = np.zeros((1, 20, 4), np.float32)
    keys[0, 2:12, 0] = 0.9
    keys[0, 5:8, 2] = 0.8
    keys[0, 15, 3] = 1
    nodes = [
        samples.node("ReduceSum", ["x"], ["sum"], keepdims=0),
        samples.node("Mul", ["sum", "zero"], ["none"]),
        samples.node("Add", ["keys", "none"], ["notes"]),
    ]
    model = samples.model(
        nodes, [samples.value("x", shape=["N", 2000, 1])],
        [samples.value("notes", shape=[1, 20, 4])], [constant("zero", 0), constant("keys", keys)],
    )  # fmt: skip
    declared = card(
        inputs={"x": {"audio": {"rate": 8000}}},
        outputs={"notes": {"notes": {"step": 100, "first": 60, "threshold": 0.5, "shortest": 3}}},
    )
    one = window()
    one.open(published(runtime, "keys", model, declared))
    give(one.page, "a.wav", "audio/wav", wav(8000, 0.25))
    text = " ".join(ended(one.page).split())
    one.shoot("try-notes")
    assert "2 notes in 0.25 s: C4, D4." in text
    assert "C4 0.03 s 0.13 s 0.9" in text
    assert one.axe() == []


def test_a_dropped_file_is_named_and_scores_have_names(runtime, window):
    """The model gives the first and the last of the bytes that it takes, over 256."""
    nodes = [
        samples.node("Cast", ["bytes"], ["all"], to=TensorProto.FLOAT),
        samples.node("Gather", ["all", "ends"], ["picked"], axis=1),
        samples.node("Div", ["picked", "most"], ["y"]),
    ]
    ends = numpy_helper.from_array(np.array([0, 8]), "ends")
    model = samples.model(
        nodes, [samples.value("bytes", TensorProto.INT32, ["N", 9])],
        [samples.value("y", shape=["N", 2])], [ends, constant("most", 256)],
    )  # fmt: skip
    declared = card(
        inputs={"bytes": {"file": {"begin": 4, "middle": 2, "end": 3, "block": 8, "strip": True,
                                   "pad": 256}}},
        outputs={"y": {"scores": {"names": ["first", "last"], "range": [0, 1]}}},
    )  # fmt: skip
    one = window(width=390)
    one.open(published(runtime, "ends", model, declared))
    data = one.page.evaluate_handle(
        "() => { const all = new DataTransfer();"
        " all.items.add(new File(['  @bcdef\\u0020\\n'], 'a.bin')); return all; }"
    )
    one.page.dispatch_event("[data-input='0']", "drop", {"dataTransfer": data})
    text = " ".join(ended(one.page).split())
    one.shoot("try-file")
    assert "a.bin, 10 bytes" in text
    assert "4 the first, 2 of the middle, 3 the last, without white space at both ends" in text
    assert "first 0.25 last 0.398" in text
    assert one.axe() == []


def test_a_line_is_read_with_more_labels_than_the_facts_hold(runtime, window):
    """The model writes down three characters of 3,000, whatever the picture."""
    labels = [chr(0x4E00 + at) for at in range(2998)]
    steps = np.zeros((1, 6, 3000), np.float32)
    for at, character in enumerate([5, 5, 0, 5, 2998, 2999]):
        steps[0, at, character] = 0.9
    nodes = [
        samples.node("ReduceSum", ["x"], ["sum"], keepdims=0),
        samples.node("Mul", ["sum", "zero"], ["none"]),
        samples.node("Add", ["steps", "none"], ["y"]),
    ]
    model = samples.model(
        nodes, [samples.value("x", shape=["N", 3, 48, "W"])],
        [samples.value("y", shape=[1, 6, 3000])], [constant("zero", 0), constant("steps", steps)],
    )  # fmt: skip
    entry = model.metadata_props.add()
    entry.key, entry.value = "character", "\n".join(labels)
    resize = {"height": 48, "mode": "letterbox", "interpolation": "bilinear"}
    image = {"channels": "BGR", "scale": "-1-1", "resize": resize}
    part = {
        "title": "Line reader",
        "inputs": {"x": {"image": image}},
        "outputs": {"y": {"text": {"labels": "character", "extra": [" "]}}},
    }
    one = window()
    one.open(published(runtime, "line", model, card(parts={"model.onnx": part})))
    give(one.page, "line.png", "image/png", png(Image.new("RGB", (200, 96), "white")))
    text = " ".join(ended(one.page).split())
    one.shoot("try-line")
    assert "Line reader" in one.page.locator("main").inner_text()
    assert "100 \N{MULTIPLICATION SIGN} 48" in text
    line = labels[4] * 2 + labels[2997] + " "
    assert one.page.locator(".decided .line").text_content() == line
    assert "4 characters, mean score 0.9." in text
    assert one.axe() == []


def test_boxes_and_regions_lie_over_the_picture(runtime, window):
    boxes = [[[0.25, 0.25, 0.5, 0.5], [0, 0, 1, 1]]]
    ground = np.zeros((1, 1, 32, 32), np.float32)
    ground[0, 0, 4:10, 4:20] = ground[0, 0, 20:26, 2:30] = 0.8
    nodes = [
        samples.node("ReduceSum", ["x"], ["sum"], keepdims=0),
        samples.node("Mul", ["sum", "zero"], ["none"]),
        samples.node("Add", ["c_boxes", "none"], ["boxes"]),
        samples.node("Add", ["c_scores", "none"], ["scores"]),
        samples.node("Add", ["c_map", "none"], ["map"]),
    ]
    outs = [("boxes", [1, 2, 4]), ("scores", [1, 2]), ("map", [1, 1, 32, 32])]
    model = samples.model(
        nodes, [samples.value("x", shape=["N", 3, 32, 32])],
        [samples.value(name, shape=shape) for name, shape in outs],
        [constant("zero", 0), constant("c_boxes", boxes), constant("c_scores", [[0.9, 0.2]]),
         constant("c_map", ground)],
    )  # fmt: skip
    image = {"channels": "RGB", "scale": "0-1",
             "resize": {"mode": "stretch", "interpolation": "bilinear"}}  # fmt: skip
    declared = card(
        inputs={"x": {"image": image}},
        outputs={
            "boxes": {"boxes": {"format": "xyxy", "unit": "share", "scores": "scores"}},
            "map": {"regions": {"threshold": 0.5}},
        },
    )
    one = window(color_scheme="dark", width=390)
    one.open(published(runtime, "boxes", model, declared))
    give(one.page, "a.png", "image/png", png(Image.new("RGB", (64, 64), "white")))
    text = " ".join(ended(one.page).split())
    one.shoot("try-boxes")
    assert "1 box with a score of 0.5 or more" in text
    assert "1 0.9 8 8 16 16" in text
    assert "2 regions of 0.5 or more." in text
    assert "1 4 4 20 10" in text
    assert one.axe() == []


def test_a_wrong_declaration_says_so_and_tensors_still_run(runtime, window):
    declared = card(
        inputs={"x": {"audio": {"rate": 8000}}},
        outputs={"y": {"scores": {"names": ["a", "b"], "range": [0, 1]}}},
    )
    model = samples.model(
        [samples.node("Abs", ["x"], ["y"])],
        [samples.value("x", shape=[1, 3])],
        [samples.value("y", shape=[1, 3])],
    )
    one = window()
    one.open(published(runtime, "odd", model, declared))
    one.page.select_option("[data-kind]", "tensor")
    array = {"name": "a.npy", "mimeType": "application/x-npy",
             "buffer": npy(np.zeros((1, 3), np.float32))}  # fmt: skip
    one.page.set_input_files("[data-set=npy]", [array])
    one.page.click("[data-run=browser]")
    one.page.locator("[data-part=answer]:visible").wait_for(timeout=WAIT)
    assert "The card names 2 scores, but y has 3 values." in ended(one.page)
