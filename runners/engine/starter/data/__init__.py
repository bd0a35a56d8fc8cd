"""Data sets that the hub makes by seeded code, on which starter models are evaluated.

The right answers are known by construction: which way a page was turned, which text was drawn,
which pitch a tone has. Such data say how a model does on clean, simple input, and nothing about
photographs or recordings.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runners.engine.starter.data import files, pictures, sounds

SEED: Final = 20_261_128
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The files of a data set by their paths, and the documents of its splits."""

    files: Mapping[str, bytes]
    splits: Sequence[Mapping[str, Any]]


def turned_pages(_: Sequence[str]) -> DataFiles:
    """Drawn pages, each turned clockwise by 0, 90, 180 or 270 degrees."""
    turns = ("0", "90", "180", "270")
    members = {
        f"{turns[place % 4]}/{place:03}.png": pictures.page(SEED + place, 90 * (place % 4))
        for place in range(120)
    }
    split = _split("test", "classification", "images", "pages.zip", {"x": ()}, labels=turns)
    return DataFiles({"pages.zip": archive(members)}, [split])


def drawn_lines(_: Sequence[str]) -> DataFiles:
    """Drawn lines of words, numbers, dates and addresses, with their text."""
    texts = {f"lines/{place:03}.png": pictures.words(SEED + place) for place in range(100)}
    table = "".join(f'{name},"{text}"\n' for name, text in texts.items())
    members = {"metadata.csv": f"file_name,text\n{table}".encode()}
    members |= {
        name: pictures.line(text, SEED + at) for at, (name, text) in enumerate(texts.items())
    }
    split = _split("test", "text-recognition", "images", "lines.zip", {"x": ()}, column="text")
    return DataFiles({"lines.zip": archive(members)}, [split])


def generated_files(labels: Sequence[str]) -> DataFiles:
    """Files of 30 types; ``labels`` are the model's names of types, in its order."""
    rows = list(files.generate(SEED))
    content = sounds.npz(
        bytes=files.first_and_last([content for _, _, content in rows]),
        type=[kind for kind, _, _ in rows],
    )
    members = {f"{kind}/{name}": content for kind, name, content in rows}
    split = _split(
        "test",
        "classification",
        "npz",
        "test.npz",
        {"bytes": ("bytes",)},
        column="type",
        labels=labels,
    )
    return DataFiles({"test.npz": content, "files.zip": archive(members)}, [split])


def tones(_: Sequence[str]) -> DataFiles:
    """Tones that glide, with the pitch of each frame, and chords with the keys that sound."""
    pitch = _split(
        "pitch",
        "pitch-estimation",
        "npz",
        "pitch.npz",
        {"audio": ("sound",)},
        column="hertz",
        output="pitch",
    )
    notes = _split(
        "notes",
        "frame-classification",
        "npz",
        "notes.npz",
        {"serving_default_input_2:0": ("sound",)},
        column="keys",
        output="StatefulPartitionedCall:1",
    )
    arrays = {"pitch.npz": sounds.glides(SEED), "notes.npz": sounds.chords(SEED)}
    return DataFiles(arrays, [pitch, notes])


def speech_like_sound(_: Sequence[str]) -> DataFiles:
    """Synthetic syllables between silence, noise, hum and clicks, with what is speech-like."""
    split = _split(
        "test",
        "frame-classification",
        "npz",
        "test.npz",
        {"input": ("sound",)},
        column="is_speech",
        output="output",
    )
    return DataFiles({"test.npz": sounds.syllables_between_noise(SEED)}, [split])


RECIPES: Final[dict[str, Callable[[Sequence[str]], DataFiles]]] = {
    "turned-pages": turned_pages,
    "drawn-lines": drawn_lines,
    "generated-files": generated_files,
    "tones": tones,
    "speech-like-sound": speech_like_sound,
}


def archive(members: Mapping[str, bytes]) -> bytes:
    """A ZIP archive whose bytes depend on nothing but its members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as whole:
        for name, content in members.items():
            whole.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _split(
    name: str,
    task: str,
    reader: str,
    file: str,
    inputs: Mapping[str, Sequence[str]],
    *,
    column: str = "",
    labels: Sequence[str] = (),
    output: str = "",
) -> dict[str, Any]:
    target: dict[str, Any] = {"column": column, "labels": list(labels)}
    return {
        "name": name,
        "task": task,
        "reader": reader,
        "files": [file],
        "inputs": [{"name": port, "columns": list(columns)} for port, columns in inputs.items()],
        "target": target | ({"output": output} if output else {}),
    }
