"""Models whose answer to a row is a sequence: frames, a pitch for each frame, text, or tokens.

Rows are run one by one, since their answers have lengths of their own. A row of sound that the card
cuts into windows is run window by window; outputs that the card carries go into the next call. The
frames of a row are those of its target: for each of them the answer that lies nearest in time.

Text is read from scores of characters by connectionist temporal classification: the highest score
of each step, equal neighbours once, without blanks (Graves et al., ICML 2006).

A language model scores at each token the one that follows. The negative logarithm of the softmax at
the true one is its loss, in nats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hub.counting import number, plural
from hub.protocol import splits
from hub.protocol.inputs import Audio
from hub.protocol.splits import Split
from runners.engine.evaluation import outputs, readers

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SCORES, TEXTS, LOSSES = "sequences.npy", "texts.json", "losses.npy"
_MOST_SCORES = 1 << 26
# Keys of a file's metadata under which exporters keep its characters, one a line.
ALPHABETS = ("character", "labels", "classes", "class_names")
# PaddleOCR's recognisers score a space behind the characters that the file lists.
_SPACE = " "
# Scores of tokens that are in float64 at once.
_SCORES_AT_ONCE = 1 << 24


class Runner(Protocol):
    """What runs the calls of a row; `predicting` has it."""

    outputs_named: list[str]

    def calls(self, row: int) -> Iterator[list[Any]]: ...


def run(
    runner: Runner,
    rows: int,
    split: Split,
    alphabet: Sequence[str],
    work: Path,
    check: Callable[[int], None],
) -> int:
    """Run each row and write its sequence; returns the place of the output that answers.

    ``check`` gets the number of rows that are done, and raises where the time is over. Raises
    UnfitOutputError.
    """
    writer: _Texts | _Tokens | _Frames
    if split.task == splits.TEXT:
        writer = _Texts(alphabet)
    else:
        writer = _Tokens(work) if split.task == splits.LANGUAGE else _Frames(work)
    place = -1
    for row in range(rows):
        parts = []
        for values in runner.calls(row):
            if place < 0:
                place = outputs.choose_sequence(runner.outputs_named, values, split)
            parts.append(_steps(np.asarray(values[place])))
        writer.add(np.concatenate(parts), row)
        check(row + 1)
    writer.write(work)
    return place


def windows(sound: Array, audio: Audio, size: int) -> Iterator[Array]:
    """The windows of a row of sound, each of ``size`` samples."""
    hop = audio.hop or size
    whole = np.concatenate([np.zeros(audio.lead, sound.dtype), sound])
    count = max(1, -(-(len(whole) - size) // hop) + 1)
    missing = max(0, (count - 1) * hop + size - len(whole))
    if audio.fill == "repeat" and len(sound):
        filled = np.concatenate([whole, np.resize(sound, missing)])
    else:
        filled = np.concatenate([whole, np.zeros(missing, sound.dtype)])
    for place in range(count):
        yield filled[place * hop : place * hop + size]


def text_of(scores: Array, alphabet: Sequence[str]) -> str:
    """The text of scores ``[steps, 1 + characters]``, of which the first is that of the blank."""
    best = scores.argmax(axis=1)
    is_new = np.append([True], best[1:] != best[:-1])
    return "".join(alphabet[step - 1] for step in best[is_new & (best > 0)])


def _steps(value: Array) -> Array:
    """An output for one row, ``[1, steps, …]``, as ``[steps, width]``."""
    row = value[0] if value.ndim > 1 and value.shape[0] == 1 else value
    return row.reshape(len(row), -1) if row.ndim else row.reshape(1, 1)


class _Texts:
    def __init__(self, alphabet: Sequence[str]) -> None:
        self._alphabet, self._texts = list(alphabet), list[str]()

    def add(self, scores: Array, row: int) -> None:
        extra = scores.shape[1] - 1 - len(self._alphabet)
        if not self._alphabet or extra not in (0, 1):
            raise outputs.UnfitOutputError(
                f"The model scores {scores.shape[1]:,} characters, and the metadata of its file "
                f"lists {len(self._alphabet):,}; one more is the blank. Keys that are read: "
                f"{', '.join(ALPHABETS)}."
            )
        if not np.isfinite(scores).all():
            raise outputs.UnfitOutputError(
                f"The model's answer to row {row + 1:,} is not finite numbers."
            )
        self._texts.append(text_of(scores, [*self._alphabet, _SPACE]))

    def write(self, work: Path) -> None:
        (work / TEXTS).write_text(json.dumps(self._texts), encoding="utf-8")


class _Frames:
    def __init__(self, work: Path) -> None:
        targets = np.load(work / readers.TARGETS, mmap_mode="r", allow_pickle=False)
        if targets.size > _MOST_SCORES:
            raise outputs.UnfitOutputError(f"The targets have more than {_MOST_SCORES:,} frames.")
        self._values = np.full(targets.shape, np.nan)

    def add(self, values: Array, row: int) -> None:
        frames, width = self._values.shape[1:]
        if values.shape[1] != width:
            raise outputs.UnfitOutputError(
                f"The model gives {values.shape[1]:,} values for each frame, the targets have "
                f"{width:,}."
            )
        nearest = ((np.arange(frames) + 0.5) * len(values) / frames).astype(np.int64)
        self._values[row] = values[nearest]

    def write(self, work: Path) -> None:
        np.save(work / SCORES, self._values)


class _Tokens:
    """Of each row the most likely tokens, and the sum of the losses of the true ones."""

    def __init__(self, work: Path) -> None:
        self._targets = np.load(work / readers.TARGETS, allow_pickle=False)[:, 1:]
        self._tokens = np.full(self._targets.shape, splits.IGNORED_TOKEN)
        self._losses = np.zeros(len(self._targets))

    def add(self, scores: Array, row: int) -> None:
        targets = self._targets[row]
        length, width = len(targets) + 1, scores.shape[1]
        if len(scores) != length:
            raise outputs.UnfitOutputError(
                f"The model scores {plural(len(scores), 'token')}, and a row of the targets has "
                f"{number(length)}."
            )
        if targets.max() >= width:
            raise outputs.UnfitOutputError(
                f"The targets have token {targets.max()}, and the model scores "
                f"{plural(width, 'token')}."
            )
        places = np.flatnonzero(targets != splits.IGNORED_TOKEN)
        size = max(1, _SCORES_AT_ONCE // width)
        for start in range(0, len(places), size):
            part = places[start : start + size]
            values = scores[part].astype(np.float64)
            if not np.isfinite(values).all():
                raise outputs.UnfitOutputError(
                    f"The model's answer to row {row + 1:,} is not finite numbers."
                )
            greatest = values.max(axis=1)
            sums = np.log(np.exp(values - greatest[:, np.newaxis]).sum(axis=1)) + greatest
            self._losses[row] += (sums - values[np.arange(len(part)), targets[part]]).sum()
            self._tokens[row, part] = values.argmax(axis=1)

    def write(self, work: Path) -> None:
        np.save(work / SCORES, self._tokens)
        np.save(work / LOSSES, self._losses)
