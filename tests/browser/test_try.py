"""Running models in a browser: each kind of input, the answer of a worker beside it, no scripts.

The runtime comes from `HUB_BROWSER_RUNTIME`, a folder that has been filled before (its folder
`1.30.0`), else npm fetches it once into `.playwright/browser-runtime`.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import wave
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from frontend.pages.tryouts import browser_runtime
from hub.protocol import inputs
from registry.cards import cards
from runners.engine.runs import pictures
from tests import chromium as installed
from tests import samples
from tests.browser.conftest import ROOT, Window

DIGITS = "/models/zoo/digits-cnn/v/1/try"
WINE = "/models/zoo/wine-gbt/v/1/try"
# Most bytes of the runtime over the line, and of the page's own scripts.
RUNTIME_BYTES, SCRIPT_BYTES = 2_800_000, 45_000
WAIT = 60_000
ROW = "13.2 1.78 2.14 11.2 100 2.65 2.76 0.26 1.28 4.38 1.05 3.4 1050"
HEARD = "---\npipeline_tag: audio-classification\n---\n# Heard\n"


@pytest.fixture(scope="module")
def runtime(hub):
    """The hub with the browser runtime in its home."""
    kept = Path(os.environ.get("HUB_BROWSER_RUNTIME", ROOT / ".playwright" / "browser-runtime"))
    if not (kept / browser_runtime.VERSION).is_dir():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed here, and HUB_BROWSER_RUNTIME names no folder")
        kept.parent.mkdir(exist_ok=True)
        # Test processes beside this one may fetch it too: each does so in a home of its own.
        with tempfile.TemporaryDirectory(dir=kept.parent) as home:
            command = (sys.executable, "manage.py", "fetch_browser_runtime")
            subprocess.run(command, cwd=ROOT, env=os.environ | {"HUB_HOME": home}, check=True)
            try:
                (Path(home) / "browser-runtime").rename(kept)
            except OSError:
                if not (kept / browser_runtime.VERSION).is_dir():
                    raise
    place = hub.home / "browser-runtime"
    if not place.exists():
        shutil.copytree(kept, place)
    return hub


def png(image):
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def one_drawn():
    """A dark 1 on light ground."""
    image = Image.new("L", (200, 200), 255)
    ImageDraw.Draw(image).line([(60, 70), (110, 15), (110, 185)], fill=0, width=30, joint="curve")
    return png(image)


def give(page, content, name="a.png"):
    file = {"name": name, "mimeType": "image/png", "buffer": content}
    page.set_input_files("[data-set=file]", [file])


def wav(rate=8000, seconds=0.5):
    """A tone."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        tone = np.sin(np.arange(int(rate * seconds)) / 5) * 20000
        sound.writeframes(tone.astype("<i2").tobytes())
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def ended(page):
    """Wait until a run has ended; gives what stands on the page."""
    page.locator("[data-run]:not([disabled])").first.wait_for(timeout=WAIT)
    page.locator("[data-part=answer]:visible, [data-part=notes] .note").first.wait_for(timeout=WAIT)
    page.locator("[data-part=progress]").wait_for(state="hidden", timeout=WAIT)
    page.locator("[data-part=answers]").evaluate("one => { one.closest('details').open = true; }")
    return page.locator("#try").inner_text()


def wait_for(page):
    """Wait, as somebody without scripts does, until the server's run has ended."""
    done = page.get_by_text("A single run is not a benchmark.")
    expect(done.or_(page.get_by_text("Refresh"))).to_be_visible()
    for _ in range(60):
        if done.count():
            break
        page.wait_for_timeout(500)
        page.reload()
    assert done.count() == 1


def test_a_picture_here_and_on_the_server(runtime, window):
    one = window(signed=True)
    sizes = {}
    one.page.on("response", lambda answer: sizes.setdefault(answer.url, answer))
    one.open(DIGITS)
    assert one.page.evaluate("crossOriginIsolated")
    give(one.page, one_drawn())
    detected = one.page.locator("[data-input] [data-example]")
    expect(detected).to_contain_text("Detected: dark on light, as the border is light (255 of 255)")
    one.page.click("[data-run=browser]")
    one.page.locator("[data-part=answer]:visible").wait_for(timeout=WAIT)
    said = ended(one.page)
    one.shoot("try-picture")
    for words in (
        "Decoded",
        "200 \N{MULTIPLICATION SIGN} 200 pixels",
        "one, grey",
        "255 minus each value: the image is dark on light, the model expects light on dark",
        "8 \N{MULTIPLICATION SIGN} 8, stretched, box",
        "0 to 255 divided by 255",
        "Tensor",
        "From the card: channels Grey, the model expects Light on dark",
        "Detected: this image is Dark on light.",
    ):
        assert words in said
    first = one.page.locator("[data-part=answers] tbody tr").first.inner_text().split()
    assert first[0] == "1"
    assert float(first[1]) > 0.9
    assert "Same result as the server, largest difference" in said
    assert "over 30 runs in this browser, WASM" in said
    assert one.page.locator("[data-part=answers] tbody tr").count() == 10
    assert one.page.locator(".strip .dots").get_attribute("d").count("M") == 30
    assert one.axe() == []
    runtime_bytes = sum(
        int(answer.headers.get("content-length", 0))
        for url, answer in sizes.items()
        if "/runtime/" in url
    )
    one.note("kilobytes.txt", f"browser runtime: {runtime_bytes / 1000:.1f}")
    assert 0 < runtime_bytes <= RUNTIME_BYTES
    scripts = sum(
        len(gzip.compress(answer.body(), 9))
        for url, answer in sizes.items()
        if "/static/" in url and ".js" in url
    )
    assert scripts <= SCRIPT_BYTES
    one.page.set_viewport_size({"width": 320, "height": 800})
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_detected_polarity_can_be_changed_and_what_is_unlike_is_said(runtime, window):
    one = window()
    one.open(DIGITS)
    one.page.locator(".shelf button").first.wait_for()
    give(one.page, one_drawn())
    detected = one.page.locator("[data-input] [data-example]")
    expect(detected).to_contain_text("Detected: dark on light")
    one.page.locator("[data-settings] summary").click()
    one.page.select_option("[data-set=own]", "light-on-dark")
    one.page.click("[data-run=browser]")
    said = ended(one.page)
    one.shoot("try-unlike")
    assert "Your choice: this image is Light on dark." in said
    assert "Unlike the training data, as far as the page can tell: The mean of pixels is" in said
    one.page.select_option("[data-set=own]", "dark-on-light")
    expect(one.page.locator("[data-part=unlike]")).to_be_hidden(timeout=WAIT)
    # A grey picture suggests nothing; the choice stays the reader's.
    one.page.reload()
    give(one.page, png(Image.new("L", (20, 20), 128)))
    expect(detected).to_contain_text("too little contrast")
    one.page.click("[data-run=browser]")
    assert "choose whether this image is light on dark" in ended(one.page)


def published(hub, name, model, card=""):
    contents = {"model.onnx": model.SerializeToString()}
    hub.publish(hub.draft(name, contents=contents, card=card or f"# {name}\n"))
    return f"/models/zoo/{name}/v/1/try"


def pictured(*shape):
    ports = [samples.value(name, shape=list(shape)) for name in ("x", "y")]
    return samples.model([samples.node("Identity", ["x"], ["y"])], ports[:1], ports[1:])


SEEN = """---
license: mit
inputs:
  x:
    image:
      channels: BGR
      scale: 0-1
      mean: [0.406, 0.456, 0.485]
      std: [0.225, 0.224, 0.229]
      resize: {mode: crop, shortest_edge: 28, interpolation: bicubic}
---
# Seen
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_browser_and_a_worker_make_the_same_tensor(runtime, window, tmp_path, scheme):
    """The model gives back its input, so the page's array file is the tensor that it was fed."""
    place = published(runtime, f"seen-{scheme}", pictured(1, 3, 24, 20), SEEN)
    pixels = np.random.default_rng(5).integers(0, 256, (41, 57, 3), dtype=np.uint8)
    content = png(Image.fromarray(pixels))
    one = window(signed=True, color_scheme=scheme, width=390 if scheme == "dark" else 1440)
    one.open(place)
    give(one.page, content)
    one.page.click("[data-run=browser]")
    said = ended(one.page)
    one.shoot(f"try-seen-{scheme}")
    assert one.axe() == []
    assert "the first 10 of 1\N{NARROW NO-BREAK SPACE}440 values" in said
    assert "From the card: channels BGR" in said
    assert "Your choice" not in said
    with one.page.expect_download() as download:
        one.page.click("[data-part=answers] a:has-text('all values (.npy)')")
    here = np.load(download.value.path())
    (tmp_path / "a.png").write_bytes(content)
    (declared,) = cards.accept(SEEN).card.inputs
    how = inputs.resolve(declared.image, (1, 3, 24, 20))
    assert (here == pictures.tensor(tmp_path / "a.png", how, np.float32)).all()
    # Without scripts the worker gets the picture itself.
    plain = window(signed=True, java_script_enabled=False)
    plain.open(place)
    plain.page.set_input_files(
        "[name=picture-0]", [{"name": "a.png", "mimeType": "image/png", "buffer": content}]
    )
    plain.page.click("button:has-text('Run on the server')")
    wait_for(plain.page)
    assert "Preprocessing of x:" in plain.page.locator("main").inner_text()
    with plain.page.expect_download() as download:
        plain.page.click("caption a:has-text('all values (.npy)')")
    assert (np.load(download.value.path()) == here).all()


def test_an_output_with_the_shape_of_a_picture_is_shown(runtime, window):
    place = published(runtime, "larger", pictured(1, 1, 672, 672))
    one = window()
    one.open(place)
    assert (
        "choose channels, polarity, fit, interpolation, values"
        in one.page.locator("#try").inner_text()
    )
    give(one.page, one_drawn())
    one.page.click("[data-run=browser]")
    assert "the model does not declare it" in ended(one.page)
    for name, value in (
        ("channels", "grey"), ("polarity", "none"), ("mode", "stretch"),
        ("interpolation", "bicubic"), ("scale", "0-1"),
    ):  # fmt: skip
        one.page.select_option(f"[data-set={name}]", value)
    one.page.click("[data-run=browser]")
    one.page.locator("[data-part=answer]:visible").wait_for(timeout=WAIT)
    said = ended(one.page)
    one.shoot("try-larger")
    assert "y as an image of 672 \N{MULTIPLICATION SIGN} 672: black is the lowest value, 0" in said
    assert "the first 10 of 451\N{NARROW NO-BREAK SPACE}584 values" in said
    assert "Your choice: channels Grey" in said
    assert one.page.locator(".output canvas").evaluate("(one) => one.width") == 672
    code = one.page.locator("[data-part=code]").inner_text()
    assert "Image.Resampling.BICUBIC" in code
    assert one.axe() == []


def test_what_a_browser_cannot_run_is_offered_on_the_server(runtime, window):
    model = samples.model([samples.node("Frob", ["x"], ["y"], domain="com.acme")])
    del model.opset_import[:]
    model.opset_import.extend([helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)])
    hub = runtime
    name = "frob"
    draft = hub.draft(name, contents={"model.onnx": model.SerializeToString()}, card="# Frob\n")
    hub.publish(draft)
    one = window(signed=True)
    one.open(f"/models/zoo/{name}/v/1/try")
    said = one.page.locator("#try").inner_text()
    assert "the browser runtime does not support com.acme:Frob." in said
    assert one.page.locator("[data-run=browser]").count() == 0
    assert one.page.locator("[data-run=server]").count() == 1
    one.shoot("try-frob")


def test_guests_run_in_the_browser_alone(runtime, window):
    one = window(color_scheme="dark", width=390)
    one.open(WINE)
    one.page.select_option("[data-kind]", "table")
    one.page.click("summary:has-text('Several rows as text')")
    one.page.fill("[data-set=table]", ROW)
    one.page.click("[data-run=browser]")
    said = ended(one.page)
    one.shoot("try-table")
    assert "1 row of 13 numbers" in said
    assert "output_probability comes from the server" in said
    assert not one.page.is_checked("[data-also]")
    assert one.page.locator("[data-part=server]").inner_text() == ""
    assert "p50" in said
    assert one.axe() == []


def test_an_array_file_and_what_does_not_fit(runtime, window):
    one = window()
    one.open(DIGITS)
    one.page.select_option("[data-kind]", "tensor")
    one.page.click("[data-run=browser]")
    assert "pixels: choose an .npy file or enter JSON." in ended(one.page)
    wrong = npy(np.zeros((1, 1, 8, 9), np.float32))
    one.page.set_input_files(
        "[data-set=npy]", [{"name": "a.npy", "mimeType": "application/x-npy", "buffer": wrong}]
    )
    one.page.click("[data-run=browser]")
    note = one.page.locator("[data-part=notes]")
    note.get_by_text("dimension 4 is 9, but the model expects 8").wait_for()
    right = npy(np.full((2, 1, 8, 8), 0.5, np.float32))
    one.page.set_input_files(
        "[data-set=npy]", [{"name": "a.npy", "mimeType": "application/x-npy", "buffer": right}]
    )
    one.page.click("[data-run=browser]")
    one.page.locator("[data-part=answer]:visible").wait_for(timeout=WAIT)
    assert "float32[2, 10], the first 10 of 20 values" in ended(one.page)


def test_a_sound(runtime, window):
    hub = runtime
    name = "heard"
    model = samples.model([samples.node("Abs", ["audio"], ["y"])], [samples.value("audio")])
    contents = {"model.onnx": model.SerializeToString()}
    hub.publish(hub.draft(name, contents=contents, card=HEARD))
    one = window()
    one.open(f"/models/zoo/{name}/v/1/try")
    one.page.select_option("[data-kind]", "sound")
    one.page.set_input_files(
        "[data-set=file]", [{"name": "a.wav", "mimeType": "audio/wav", "buffer": wav()}]
    )
    one.page.fill("[data-set=rate]", "16000")
    one.page.click("[data-run=browser]")
    said = ended(one.page)
    assert "0.50 s, 1 channel, resampled to 16000 Hz" in said
    assert "float32[8000]" in said


def test_without_scripts_a_form_runs_it_on_the_server(runtime, window):
    one = window(signed=True, java_script_enabled=False)
    one.open(DIGITS)
    rows = [[[[0.1] * 8] * 8]]
    one.page.fill("[name=json-0]", str(rows))
    one.page.click("button:has-text('Run on the server')")
    wait_for(one.page)
    said = one.page.locator("main").inner_text()
    one.shoot("try-server-done")
    assert "all values (.npy)" in said
    assert one.page.locator("caption:has-text('probabilities') ~ tbody tr").count() == 10


def test_latency_is_contributed_under_a_name_and_not_ranked(runtime, window):
    one = window(signed=True)
    page = one.page
    one.open(DIGITS)
    page.select_option("[data-kind]", "tensor")
    page.click("[data-fill=random]")
    page.uncheck("[data-also]")
    page.click("[data-run=browser]")
    ended(page)
    page.click("summary:has-text('Contribute this result')")
    assert one.axe() == []
    assert re.fullmatch(r"(Chromium|Firefox|Edge|Safari) \d+", page.input_value("[name=browser]"))
    told = json.loads(page.input_value("[name=told]"))
    assert set(told) == {"times_ms", "first_ms", "loading_ms", "clock_ms", "threads", "inputs"}
    page.fill("[name=device]", "a test")
    page.click("button:has-text('Contribute result')")
    page.wait_for_url("**/benchmarks/*")
    said = page.locator("main").inner_text()
    assert "Noisy. This result is not ranked" in said
    assert "Contributed by admin" in said
    assert ", a test (claimed), ONNX Runtime Web 1.30.0 WASM" in said
    one.open("/models/zoo/digits-cnn/v/1/benchmarks")
    row = page.locator("tr.grey", has_text="contributed by admin").first
    assert row.locator(".rank").inner_text().strip() == "none"


def test_a_guest_has_the_server_run_a_model_within_limits(runtime, window):
    one = window()
    one.watch.expected = ("status of 429",)
    one.open(WINE)
    limits = one.page.get_by_text("the server does 3 runs per hour and address")
    expect(limits).to_contain_text("each with 8 MB of input and 2 s of processor time; sign in")
    one.page.select_option("[data-kind]", "table")
    one.page.click("summary:has-text('Several rows as text')")
    one.page.fill("[data-set=table]", ROW)
    one.page.click("[data-run=server]")
    one.page.locator("[data-part=answer]:visible").wait_for(timeout=WAIT)
    said = ended(one.page)
    assert re.search(r"onnxruntime 1\.\d+\.\d+, 1 thread, one run", said)
    one.shoot("try-guest")
    # Without scripts the page shows it to this browser, and to no other.
    plain = window(java_script_enabled=False)
    plain.open(WINE)
    plain.page.fill("[name=json-0]", json.dumps([[float(one) for one in ROW.split()]]))
    plain.page.click("button:has-text('Run on the server')")
    wait_for(plain.page)
    other = window()
    other.open(plain.page.url)
    assert other.page.get_by_text("A single run is not a benchmark.").count() == 0
    # What is beyond the limit says so.
    for _ in range(2):
        one.page.click("[data-run=server]")
        one.page.locator("[data-run=server]:not([disabled])").wait_for(timeout=WAIT)
    expect(one.page.locator("[data-part=notes]")).to_contain_text("has had its 3 runs")


def test_guests_are_asked_to_sign_in_before_they_contribute(runtime, window):
    one = window()
    one.open(DIGITS)
    assert one.page.locator("[data-part=contribute]").count() == 0
    assert one.page.locator("text=to contribute this result").count() == 1


def draw(page, *points):
    """Draw a line through points given as shares of the drawing area."""
    area = page.locator("[data-draw]")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=6)
    page.mouse.up()


ONE = ((0.38, 0.3), (0.55, 0.15), (0.55, 0.85))


def first_bar(page, label):
    """Wait until the first bar has this label."""
    expect(page.locator(".bars > li").first.locator("b")).to_have_text(label, timeout=WAIT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_try_is_an_example_that_is_right(runtime, window, scheme):
    one = window(color_scheme=scheme, width=390 if scheme == "dark" else 1440)
    one.open(DIGITS)
    button = one.page.locator(".shelf button").first
    button.wait_for()
    label = button.inner_text().strip()
    assert label in "0123456789"
    button.click()
    first_bar(one.page, label)
    said = ended(one.page)
    one.shoot(f"try-example-{scheme}")
    assert "right Equals the answer stored with the example" in " ".join(said.split())
    assert button.get_attribute("aria-pressed") == "true"
    assert "numpy_helper.to_array(proto)" in said
    one.page.click("label:has-text('JavaScript')")
    assert "Float32Array.from([" in one.page.locator("[data-part=code]").inner_text()
    assert one.axe() == []
    # Other examples follow at once, and each is right.
    for at in range(1, one.page.locator(".shelf button").count()):
        button = one.page.locator(".shelf button").nth(at)
        button.click()
        first_bar(one.page, button.inner_text().strip())
        expect(one.page.locator("[data-part=expected] .tag.pass")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_drawn_digit_is_read(runtime, window, scheme):
    one = window(color_scheme=scheme, width=390 if scheme == "dark" else 1440)
    one.open(DIGITS)
    one.page.locator(".shelf button").first.wait_for()  # they come above the drawing area
    draw(one.page, *ONE)
    first_bar(one.page, "1")
    said = ended(one.page)
    one.shoot(f"try-drawing-{scheme}")
    assert "the square around the strokes" in said
    assert one.axe() == []
    one.page.click("[data-clear]")
    draw(one.page, (0.3, 0.2), (0.7, 0.2), (0.7, 0.8), (0.3, 0.8), (0.3, 0.2))
    first_bar(one.page, "0")


STROKES = """---
license: mit
inputs:
  x:
    image:
      channels: grey
      polarity: light-on-dark
      scale: 0-1
      resize: {mode: stretch, interpolation: box}
---
# Strokes
"""


def test_code_gives_the_tensor_of_a_drawing(runtime, window, tmp_path, monkeypatch):
    """The model gives back its input; the page's Python makes the same of the same drawing."""
    one = window()
    one.open(published(runtime, "strokes", pictured(1, 1, 16, 20), STROKES))
    draw(one.page, *ONE)
    ended(one.page)
    expect(one.page.locator("[data-part=code] code").first).to_contain_text("drawing.png")
    with one.page.expect_download() as download:
        one.page.click("[data-part=answers] a:has-text('all values (.npy)')")
    here = np.load(download.value.path())
    drawn = one.page.locator("[data-draw]").evaluate("one => one.toDataURL('image/png')")
    (tmp_path / "drawing.png").write_bytes(base64.b64decode(drawn.partition(",")[2]))
    code = one.page.locator("[data-part=code] code").first.text_content()
    monkeypatch.chdir(tmp_path)
    for name in ("hub", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    made = {}
    exec(code.partition("model = ")[0], made)  # noqa: S102 - the page's own code
    assert here.max() == 1.0
    assert (made["tensor"] == here).all()


def test_a_table_has_a_field_for_each_feature_and_the_answer_follows(runtime, window):
    one = window()
    page = one.page
    one.open(WINE)
    page.locator(".shelf button").first.click()
    decided = page.locator(".decided b")
    decided.wait_for(timeout=WAIT)
    assert decided.inner_text() in page.locator(".shelf button").first.inner_text()
    assert page.get_by_label("alcohol", exact=True).input_value()
    before = decided.inner_text()
    said = ended(page)
    assert "right Equals the answer stored with the example" in " ".join(said.split())
    for name, value in zip(page.locator("[data-cell]").all(), ROW.split(), strict=True):
        name.fill(value)
    name.press("Tab")
    expect(decided).not_to_have_text(before)
    expect(page.locator("[data-part=code] code").first).to_contain_text("13.2, 1.78, 2.14")
    one.shoot("try-fields")
    assert one.axe() == []
    page.fill("[data-cell] >> nth=2", "x")
    page.click("[data-run=browser]")
    assert "enter a number for ash" in ended(page)


def test_fields_of_a_table_go_to_the_server_without_scripts(runtime, window):
    one = window(signed=True, java_script_enabled=False)
    one.open(WINE)
    for cell, value in zip(one.page.locator("[data-cell]").all(), ROW.split(), strict=True):
        cell.fill(value)
    one.page.click("button:has-text('Run on the server')")
    wait_for(one.page)
    assert "output_label" in one.page.locator("main").inner_text()


def test_lines_of_text(runtime, window):
    ports = [samples.value(name, 8, shape=["N"]) for name in ("x", "y")]
    model = samples.model([samples.node("Identity", ["x"], ["y"])], ports[:1], ports[1:])
    one = window()
    one.open(published(runtime, "said", model))
    one.page.fill("[data-set=text]", "good morning\nand 'good' night")
    one.page.click("[data-run=browser]")
    said = ended(one.page)
    assert "2 lines, one string each" in said
    assert "and 'good' night" in said
    code = one.page.locator("[data-part=code] code").first
    expect(code).to_contain_text("np.array(['good morning',")


def test_the_camera_is_asked_for_on_a_click_and_let_go(runtime, chromium):
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    browser = chromium.browser_type.launch(
        executable_path=installed.path(), args=["--no-sandbox", *fake]
    )
    one = Window(browser, runtime)
    page = one.page
    answer = one.open(DIGITS)
    assert "camera=(self)" in answer.headers["permissions-policy"]
    assert "camera=()" in page.request.get("/models").headers["permissions-policy"]
    page.click("[data-camera]")
    page.click("text=Take picture")
    page.locator("video").wait_for(state="hidden")
    assert page.locator("video").evaluate("one => one.srcObject") is None
    expect(page.locator("[data-example]")).to_contain_text("A picture of the camera.")
    assert one.watch.complaints == []
    browser.close()
