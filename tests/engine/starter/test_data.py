"""The data sets that the hub makes: the same bytes each time, and targets that are true."""

from __future__ import annotations

import csv
import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from hub.protocol import splits
from runners.engine.starter import data

pytestmark = pytest.mark.capability("starter")


@pytest.fixture(scope="module")
def made():
    """Each data set, made once."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = data.RECIPES[name](["python", "png"])
        return known[name]

    return of


@pytest.mark.parametrize("name", list(data.RECIPES))
def test_splits_are_valid_and_name_files_that_are_made(made, name):
    parsed = splits.parse(list(made(name).splits), frozenset(made(name).files))
    assert parsed
    assert {split.target.output for split in parsed} <= {
        "", "pitch", "output", "StatefulPartitionedCall:1",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["drawn-lines", "tones"])
def test_a_seed_gives_the_same_bytes(made, name):
    assert data.RECIPES[name]([]).files == made(name).files


def test_pages_are_turned_clockwise(made):
    """Lines begin at the left margin, so upright pages have more ink in their left half."""
    with zipfile.ZipFile(io.BytesIO(made("turned-pages").files["pages.zip"])) as whole:
        names = whole.namelist()
        assert len(names) == 120
        for name in names[:24]:
            turned = Image.open(whole.open(name))
            upright = turned.rotate(int(name.split("/")[0]), expand=True)
            ink = 255 - np.asarray(upright.convert("L"), float)
            rows = (ink > 100).sum(axis=1)
            # Between the lines of an upright page there are rows without ink.
            assert (rows == 0).mean() > 0.15, name


def test_each_line_has_its_text(made):
    with zipfile.ZipFile(io.BytesIO(made("drawn-lines").files["lines.zip"])) as whole:
        rows = list(csv.DictReader(io.TextIOWrapper(whole.open("metadata.csv"), "utf-8")))
        assert len(rows) == 100
        assert len({row["text"] for row in rows}) > 95
        for row in rows:
            width, height = Image.open(whole.open(row["file_name"])).size
            assert height == 48
            assert width > 8 * len(row["text"])


def test_files_are_of_thirty_types(made):
    arrays = np.load(io.BytesIO(made("generated-files").files["test.npz"]))
    assert arrays["bytes"].shape == (180, 2048)
    assert arrays["bytes"].dtype == np.int32
    assert len(set(arrays["type"])) == 30
    with zipfile.ZipFile(io.BytesIO(made("generated-files").files["files.zip"])) as whole:
        for place, name in enumerate(whole.namelist()):
            content = whole.read(name)
            assert name.startswith(f"{arrays['type'][place]}/")
            first = content[:4096].lstrip()[:1024]
            assert arrays["bytes"][place, : len(first)].tolist() == list(first)


def test_the_pitch_of_a_tone_is_that_of_its_spectrum(made):
    arrays = np.load(io.BytesIO(made("tones").files["pitch.npz"]))
    level = np.ptp(arrays["hertz"], axis=1) < 1e-3
    assert 20 < level.sum() < 60
    for sound, hertz in zip(arrays["sound"][level][:8], arrays["hertz"][level], strict=False):
        spectrum = np.abs(np.fft.rfft(sound.astype(float)))
        fundamental = spectrum[round(hertz[0]) - 3 : round(hertz[0]) + 4].max()
        assert fundamental > 20 * np.median(spectrum)


def test_keys_sound_while_they_are_on(made):
    arrays = np.load(io.BytesIO(made("tones").files["notes.npz"]))
    assert arrays["keys"].shape == (30, 20, 88)
    for sound, keys in zip(arrays["sound"][:6, :, 0].astype(float), arrays["keys"], strict=False):
        for key in np.flatnonzero(keys.any(axis=0)):
            hertz = 440 * 2 ** ((int(key) + 21 - 69) / 12)
            wave = np.exp(-2j * np.pi * hertz * np.arange(len(sound)) / 22_050)
            strength = np.abs((sound * wave).reshape(4, -1).mean(axis=1))
            is_on = keys[:, key].reshape(4, 5).all(axis=1)
            assert (
                strength[is_on].min() > 5 * np.abs(np.mean(sound[:500] * wave[:500]))
                or (keys[0, key])
            )


def test_speech_like_parts_are_louder_than_the_noise_of_the_row(made):
    arrays = np.load(io.BytesIO(made("speech-like-sound").files["test.npz"]))
    frames = arrays["sound"].astype(float).reshape(40, 125, 512)
    power = np.sqrt((frames**2).mean(axis=2))
    is_speech = arrays["is_speech"].astype(bool)
    assert 0.3 < is_speech.mean() < 0.7
    assert np.median(power[is_speech]) > np.median(power[~is_speech])
