"""Tones, chords, and syllables between noise, made of sine waves, pulses and filtered noise.

Speech-like sound is a source-filter model: a train of pulses, or noise, through resonators at the
formants of vowels (Klatt, 1980). Samples are kept in float16, which is enough for 60 dB.
"""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
RATE: Final = 16_000
NOTES_RATE, NOTES_SAMPLES = 22_050, 43_844
_FRAME = 512
_MIDI_A4, _FIRST_KEY, _KEYS = 69, 21, 88
# The first three formants of five vowels, in hertz.
_VOWELS = (
    (730, 1090, 2440),
    (530, 1840, 2480),
    (270, 2290, 3010),
    (570, 840, 2410),
    (300, 870, 2240),
)


def npz(**arrays: Any) -> bytes:
    """A compressed archive of arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def glides(seed: int) -> bytes:
    """80 seconds of one voice each: pitches from 80 to 1,000 Hz that glide at most a fifth."""
    source = np.random.default_rng(seed)
    rows, frames, seconds = 80, 50, np.arange(RATE) / RATE
    sounds, targets = [], []
    for _ in range(rows):
        start = 80 * (1_000 / 80) ** source.random()
        octaves = source.uniform(-7 / 12, 7 / 12) * source.integers(0, 2)
        hertz = start * 2 ** (octaves * seconds)
        phase = 2 * np.pi * np.cumsum(hertz) / RATE
        partials = range(1, int(source.integers(2, 9)))
        tone = sum(np.sin(k * phase) / k ** source.uniform(0.8, 2) for k in partials)
        sounds.append(_with_noise(np.asarray(tone), source, source.uniform(15, 40)))
        targets.append(hertz[(np.arange(frames) + 0.5).astype(int) * RATE // frames])
    return npz(sound=np.stack(sounds), hertz=np.stack(targets).astype(np.float32))


def chords(seed: int) -> bytes:
    """30 windows of one to three keys from C3 to B5, each of which begins and ends by itself."""
    source = np.random.default_rng(seed + 1)
    frames, seconds = 20, np.arange(NOTES_SAMPLES) / NOTES_RATE
    sounds, targets = [], np.zeros((30, frames, _KEYS), np.int8)
    for row in range(len(targets)):
        whole = np.zeros(NOTES_SAMPLES)
        for key in source.choice(np.arange(48, 84), int(source.integers(1, 4)), replace=False):
            first, last = int(source.integers(0, 6)), int(source.integers(14, frames + 1))
            hertz = 440 * 2 ** ((int(key) - _MIDI_A4) / 12)
            tone = sum(np.sin(2 * np.pi * hertz * k * seconds) / k**1.5 for k in range(1, 6))
            begin, end = (part * NOTES_SAMPLES // frames for part in (first, last))
            whole[begin:end] += (np.asarray(tone) * _fade(NOTES_SAMPLES, begin, end))[begin:end]
            targets[row, first:last, int(key) - _FIRST_KEY] = 1
        sounds.append(_with_noise(whole, source, 45)[:, np.newaxis])
    return npz(sound=np.stack(sounds), keys=targets)


def syllables_between_noise(seed: int) -> bytes:
    """40 rows of 4 seconds: speech-like parts, and parts of silence, noise, hum and clicks."""
    source = np.random.default_rng(seed + 2)
    frames = 4 * RATE // _FRAME
    sounds, targets = [], np.zeros((40, frames), np.int8)
    for row in range(len(targets)):
        whole, at, is_speech = np.zeros(frames * _FRAME), 0, bool(source.integers(0, 2))
        while at < frames:
            length = min(int(source.integers(20, 45)), frames - at)
            part = slice(at * _FRAME, (at + length) * _FRAME)
            samples = length * _FRAME
            whole[part] = _syllables(samples, source) if is_speech else _other(samples, source)
            targets[row, at : at + length] = is_speech
            at, is_speech = at + length, not is_speech
        sounds.append(_with_noise(whole, source, source.uniform(25, 45), peak=0.6))
    return npz(sound=np.stack(sounds), is_speech=targets)


def _syllables(samples: int, source: np.random.Generator) -> Array:
    """Vowels with pitch contours, each after a short hiss or stop, about five a second."""
    parts, total = [], 0
    base = source.uniform(90, 220)
    while total < samples:
        length = int(source.uniform(0.12, 0.24) * RATE)
        hiss = int(source.uniform(0.03, 0.08) * RATE)
        contour = base * 2 ** (np.linspace(0.15, -0.2, length) * source.uniform(0.3, 1))
        contour *= 1 + 0.01 * np.cumsum(source.normal(0, 0.03, length)).clip(-2, 2)
        phase = np.cumsum(contour) / RATE
        pulses = np.diff(np.floor(phase), prepend=0.0)
        one, other = (np.asarray(_VOWELS[int(source.integers(5))], float) for _ in range(2))
        vowel = _formants(pulses + 0.003 * source.normal(size=length), one, other)
        vowel *= np.sin(np.linspace(0.15, np.pi - 0.1, length)) ** 0.5
        noise = np.diff(source.normal(0, 1, hiss), prepend=0.0) * np.hanning(hiss)
        vowel /= np.abs(vowel).max() + 1e-9
        parts += [0.12 * noise, vowel]
        total += hiss + length
    return np.asarray(np.concatenate(parts)[:samples])


def _formants(excitation: Array, start: Array, end: Array) -> Array:
    """The sum of three resonators whose frequencies move from one vowel to another."""
    whole = np.zeros(len(excitation))
    weights = 1 / (1 + np.exp(-12 * (np.linspace(0, 1, len(excitation)) - 0.5)))
    for place, bandwidth in enumerate((80.0, 100.0, 140.0)):
        hertz = start[place] + (end[place] - start[place]) * weights
        radius = np.exp(-np.pi * bandwidth / RATE)
        first, second = 2 * radius * np.cos(2 * np.pi * hertz / RATE), -radius * radius
        before = earlier = 0.0
        for at, value in enumerate(excitation):
            before, earlier = value + first[at] * before + second * earlier, before
            whole[at] += before / (1 + place)
    return whole


def _other(samples: int, source: np.random.Generator) -> Array:
    """Silence, white noise, noise of low frequencies, hum, or clicks."""
    seconds = np.arange(samples) / RATE
    match int(source.integers(5)):
        case 0:
            return np.zeros(samples)
        case 1:
            return np.asarray(source.normal(0, source.uniform(0.02, 0.2), samples))
        case 2:
            walk = np.cumsum(source.normal(0, 1, samples))
            walk -= np.convolve(walk, np.ones(800) / 800, "same")
            return np.asarray(0.3 * walk / (np.abs(walk).max() + 1e-9))
        case 3:
            hertz = source.uniform(50, 1_000)
            return np.asarray(0.3 * np.sin(2 * np.pi * hertz * seconds))
        case _:
            clicks = (source.random(samples) < 4 / RATE).astype(float)
            return np.convolve(clicks, np.exp(-np.arange(400) / 40), "full")[:samples]


def _with_noise(
    sound: Array, source: np.random.Generator, decibels: float, peak: float = 0.8
) -> Array:
    """Sound with white noise that lies ``decibels`` below it, as float16."""
    sound = peak * sound / (np.abs(sound).max() + 1e-9)
    power = np.sqrt(np.mean(sound**2)) * 10 ** (-decibels / 20)
    return np.asarray((sound + source.normal(0, power, len(sound))).clip(-1, 1), np.float16)


def _fade(samples: int, begin: int, end: int) -> Array:
    """A volume that rises in 10 ms and falls in 50 ms between two samples."""
    places = np.arange(samples)
    rise, fall = 0.01 * NOTES_RATE, 0.05 * NOTES_RATE
    return np.clip(np.minimum((places - begin) / rise, (end - places) / fall), 0, 1)
