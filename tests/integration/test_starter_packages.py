"""The packages of the manifest, fetched, taken out and judged on inputs with known answers.

`scripts/test-newest` runs it, with HUB_TEST_PACKAGES: it needs a package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image, ImageDraw, ImageFont

from hub.protocol import parts
from runners.sandbox import Limits, Request, Sandbox
from runners.starter import fetching, imports, manifest
from tests.faults import conftest as faults

pytestmark = [
    pytest.mark.live,
    pytest.mark.capability("starter"),
    pytest.mark.skipif("HUB_TEST_PACKAGES" not in os.environ, reason="needs a package index"),
]
LIMITS = Limits(
    wall_seconds=300, cpu_seconds=120, memory_bytes=4 << 30, output_bytes=1 << 20,
    file_bytes=1 << 30, written_bytes=2 << 30,
)  # fmt: skip


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    with Sandbox(tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture(scope="module")
def files(sandbox, tmp_path_factory):
    """The files of a model of the manifest in a folder, by its name; each is fetched once."""
    folders = {}

    def of(name):
        if name not in folders:
            folders[name] = _files(sandbox, manifest.model(name), tmp_path_factory.mktemp(name))
        return folders[name]

    return of


def _files(sandbox, model, folder):
    archives = {}
    for package in model.packages:
        with fetching.fetched(package, lambda: False) as archive:
            shutil.copy(archive, folder / package.archive)
        archives[package.archive] = str(folder / package.archive)
    paths = [file.path for package in model.packages for file in package.files]

    def keep(report, made):
        for output, path in zip(report.outputs, paths, strict=True):
            (folder / path).parent.mkdir(exist_ok=True)
            shutil.copy(made / output.name, folder / path)
        return report

    options = {"members": imports.members(model)}
    report = sandbox.run(Request(imports.KIND, "", archives, "0" * 64, options, LIMITS), keep=keep)
    assert report.outcome == "passed", report.findings
    return folder


def run(path, feeds):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def test_a_hub_without_a_network_says_so_and_takes_the_archive_of_a_folder(files, tmp_path):
    hub = faults.Hub(tmp_path / "home", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    environment = hub.environment | {
        "HUB_URL": hub.address, "HUB_TOKEN": hub.token, "HUB_CACHE": str(tmp_path / "cache"),
    }  # fmt: skip

    def run(*options):
        return subprocess.run(
            [sys.executable, "-m", "hub", "import", "starter", "swift-f0", *options],
            check=False, capture_output=True, text=True, env=environment, timeout=300,
        )  # fmt: skip

    try:
        refused = run("--quiet")
        assert refused.returncode == 1
        [line] = refused.stderr.splitlines()
        assert line.startswith("hub: swift-f0: pip could not fetch swift-f0 0.3.0 (")
        assert "hub import starter --from FOLDER, with swift_f0-0.3.0" in line
        done = run("--from", str(files("swift-f0")))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "published  swift-f0  zoo/swift-f0@1"
    finally:
        hub.stop()


@pytest.mark.parametrize("name", list(manifest.models()))
def test_each_model_is_fetched_and_loads(files, name):
    for path in files(name).glob("*.onnx"):
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


# Pictures that are drawn, and what they show.
def canvas(colour="white"):
    picture = Image.new("RGB", (448, 448), colour)
    return picture, ImageDraw.Draw(picture)


def crossword():
    picture, draw = canvas()
    dark = np.random.default_rng(1).random((15, 15)) < 0.2
    for (row, column), fill in np.ndenumerate(dark):
        box = (20 + 27 * row, 20 + 27 * column, 47 + 27 * row, 47 + 27 * column)
        draw.rectangle(box, outline="black", fill="black" if fill else "white")
    return picture


def traffic_light():
    picture, draw = canvas((120, 170, 220))
    draw.rectangle((164, 60, 284, 390), fill=(30, 30, 30))
    for at, colour in enumerate(("red", "orange", "lime")):
        draw.ellipse((184, 80 + at * 100, 264, 160 + at * 100), fill=colour)
    return picture


@pytest.mark.parametrize(
    ("draw", "label"), [(crossword, "crossword"), (traffic_light, "traffic light")]
)
def test_efficientnet_names_what_is_drawn(files, draw, label):
    folder = files("efficientnet-lite0")
    names = (folder / "labels.txt").read_text().splitlines()
    assert len(names) == 1000
    picture = draw().resize((256, 256), Image.Resampling.BICUBIC).crop((16, 16, 240, 240))
    image = ((np.asarray(picture, np.float32) - 127) / 128).transpose(2, 0, 1)[None]
    [logits] = run(folder / "model.onnx", {"image": image})
    assert names[int(logits.argmax())] == label


def page():
    picture = Image.new("RGB", (700, 990), "white")
    draw = ImageDraw.Draw(picture)
    for at in range(26):
        text = f"Line {at + 1} of a page that is drawn to be read, and turned."
        draw.text((50, 40 + at * 34), text, fill="black", font=ImageFont.load_default(22))
    return picture


@pytest.mark.parametrize("clockwise", [0, 90, 180, 270])
def test_a_turned_page_is_recognised(files, clockwise):
    path = files("page-orientation") / "model.onnx"
    metadata = {each.key: each.value for each in onnx.load(path).metadata_props}
    turned = page().rotate(-clockwise, expand=True)
    scale = 256 / min(turned.size)
    turned = turned.resize([round(side * scale) for side in turned.size])
    left, top = ((side - 224) // 2 for side in turned.size)
    pixels = np.asarray(turned.crop((left, top, left + 224, top + 224)), np.float32)[..., ::-1]
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    [scores] = run(path, {"x": ((pixels / 255 - mean) / std).transpose(2, 0, 1)[None]})
    assert metadata["character"].split("\n")[int(scores.argmax())] == str(clockwise)


def test_a_drawn_line_is_read(files):
    path = files("pp-ocr") / "model.onnx"
    text = "Invoice 2026-11: 1,234.50 EUR"
    font = ImageFont.load_default(34)
    line = Image.new("RGB", (round(font.getlength(text)) + 20, 48), "white")
    ImageDraw.Draw(line).text((10, 2), text, fill="black", font=font)
    pixels = np.asarray(line, np.float32)[..., ::-1].transpose(2, 0, 1)[None]
    [scores] = run(path, {"x": pixels / 127.5 - 1})
    alphabet = {each.key: each.value for each in onnx.load(path).metadata_props}["character"]
    characters = ["", *alphabet.split("\n"), " "]
    steps = scores[0].argmax(axis=1)
    kept = [step for at, step in enumerate(steps) if step and (at == 0 or step != steps[at - 1])]
    assert "".join(characters[step] for step in kept) == text


@pytest.mark.parametrize(("turned", "place"), [(0, 0), (180, 1)])
def test_a_line_that_is_upside_down_is_told_apart(files, turned, place):
    path = files("pp-ocr") / "direction.onnx"
    part = parts.of(manifest.model("pp-ocr").card, "direction.onnx")
    size = (part.inputs[0].image.resize.width, part.inputs[0].image.resize.height)
    line = Image.new("RGB", (520, 48), "white")
    font = ImageFont.load_default(34)
    ImageDraw.Draw(line).text((10, 2), "Invoice 2026-11: 1,234.50 EUR", fill="black", font=font)
    pixels = np.asarray(line.rotate(turned).resize(size, Image.Resampling.BILINEAR), np.float32)
    [scores] = run(path, {"x": pixels[..., ::-1].transpose(2, 0, 1)[None] / 127.5 - 1})
    names = part.outputs[-1].reading.names
    assert names[int(scores.argmax())] == ("upright", "upside down")[place]
    assert scores.max() > 0.9


@pytest.mark.parametrize("hertz", [110, 220, 440, 880])
def test_the_pitch_of_a_tone_is_followed(files, hertz):
    seconds = np.arange(16000, dtype=np.float32) / 16000
    tone = sum(np.sin(2 * np.pi * hertz * part * seconds) / part for part in (1, 2, 3)) / 4
    feeds = {
        "audio": tone[None].astype(np.float32),
        "fmin": np.array(46.875, np.float32),
        "fmax": np.array(2093.75, np.float32),
    }
    pitch, confidence = run(files("swift-f0") / "model.onnx", feeds)
    assert np.median(pitch) == pytest.approx(hertz, rel=0.01)
    assert np.median(confidence) > 0.9


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_silence_and_noise_are_no_speech(files, spread):
    sound = np.random.default_rng(1).normal(0, spread, 512 * 20).astype(np.float32)
    state, context = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32)
    path = files("silero-vad") / "model.onnx"
    for chunk in sound.reshape(-1, 512):
        feeds = {"input": np.concatenate([context, chunk])[None], "state": state}
        probability, state = run(path, feeds | {"sr": np.array(16000, np.int64)})
        context = chunk[-64:]
        assert probability.max() < 0.5


def test_a_chord_is_written_down(files):
    seconds = np.arange(43844) / 22050
    chord = sum(
        np.sin(2 * np.pi * 440 * 2 ** ((key - 69) / 12) * part * seconds) / part**2
        for key in (60, 64, 67)
        for part in (1, 2, 3, 4)
    )
    sound = (chord / np.abs(chord).max()).astype(np.float32)[None, :, None]
    path = files("basic-pitch") / "model.onnx"
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    [notes] = session.run(["StatefulPartitionedCall:1"], {"serving_default_input_2:0": sound})
    assert set(notes[0].mean(axis=0).argsort()[-3:] + 21) == {60, 64, 67}


@pytest.mark.parametrize(
    ("content", "label"),
    [(Path(__file__).read_bytes(), "python"), (b'{"name": [1, 2, {"a": null}]}\n' * 40, "jsonl")],
    ids=["python", "jsonl"],
)
def test_a_file_is_named(files, content, label):
    folder = files("magika")
    first, last = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
    numbers = np.full(2048, 256, np.int32)
    numbers[: len(first)] = np.frombuffer(first, np.uint8)
    numbers[2048 - len(last) :] = np.frombuffer(last, np.uint8)
    [scores] = run(folder / "model.onnx", {"bytes": numbers[None]})
    labels = (folder / "labels.txt").read_text().splitlines()
    assert labels[int(scores.argmax())] == label


def scalogram(signal):
    """Magnitudes of the continuous transform that the card of `sleep-spindles` describes."""
    points = np.linspace(-20, 20, 1024)
    step = points[1] - points[0]
    wavelet = np.sqrt(6) * np.sinc(6 * points) * np.exp(-2j * np.pi * 13 * points)
    integral = np.cumsum(wavelet) * step
    rows = []
    for scale in np.geomspace(135, 270, 15):
        places = (np.arange(scale * 40 + 1) / (scale * step)).astype(int)
        kernel = integral[places[places < len(integral)]][::-1]
        size = len(signal) + len(kernel) - 1
        spectrum = np.fft.fft(signal, size) * np.fft.fft(kernel, size)
        row = np.abs(np.sqrt(scale) * np.diff(np.fft.ifft(spectrum)))
        left = (len(row) - len(signal)) // 2
        rows.append(row[left : left + len(signal)])
    return np.array(rows)


def normalised(array):
    values = (array - array.mean(-1, keepdims=True)) / array.std(-1, keepdims=True)
    return values[None].astype(np.float32)


@pytest.mark.parametrize("centres", [(), (6, 14, 23)])
def test_planted_sleep_spindles_are_found(files, centres):
    spectrum = np.fft.rfft(np.random.default_rng(1).normal(size=7500))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))  # pink noise
    spectrum[0] = 0
    signal = np.fft.irfft(spectrum, 7500)
    signal, seconds = signal / signal.std(), np.arange(7500) / 250
    for centre in centres:
        envelope = np.exp(-(((seconds - centre) / 0.35) ** 2))
        signal += 2 * envelope * np.sin(2 * np.pi * 13 * seconds)
    feeds = {
        "raw_signal": normalised(signal[None]),
        "spectrogram": normalised(scalogram(signal - signal.mean())),
    }
    detection, _ = run(files("sleep-spindles") / "model.onnx", feeds)
    seconds_with_one = np.flatnonzero(detection[0, :, 0] > 0)
    # A spindle around a whole second lies in that second and the one before.
    assert list(seconds_with_one) == [
        second for centre in centres for second in (centre - 1, centre)
    ]
