"""The inputs that a version supplies: its test data and the examples of its card.

Only names are looked at here. A page's reader loads the files, and their own browser parses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from hub.protocol.inputs import PICTURES, DeclaredInput
from registry.models import File

MOST_EXAMPLES = 4
# Larger files would be loaded whole for one row of them.
MOST_BYTES = 4_000_000
READABLE = (".pb", ".npy")
_FOLDER = re.compile(r"test_data_set_(\d{1,5})")
_FILE = re.compile(r"(input|output)_(\d{1,3})\.pb")


@dataclass(frozen=True, slots=True)
class Example:
    """Files by the place of their input or output in the graph; either may be incomplete."""

    title: str
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[tuple[int, str], ...] = ()


def read(
    files: Mapping[str, File], entry: str, names: Sequence[str], declared: Iterable[DeclaredInput]
) -> tuple[Example, ...]:
    """The examples of a model with these inputs, test data first; at most `MOST_EXAMPLES`."""
    small = {
        path
        for path, file in files.items()
        if file.blob.size <= MOST_BYTES and not file.blob.erased_at
    }
    examples = list(_test_data(small, entry, len(names)))
    places = {name: place for place, name in enumerate(names)}
    pairs = tuple(
        (places[declared_input.name], declared_input.example)
        for declared_input in declared
        if declared_input.example in small
        and declared_input.name in places
        and declared_input.example.lower().endswith((*READABLE, *PICTURES))
    )
    if pairs and not any(set(pairs) <= set(example.inputs) for example in examples):
        examples.insert(0, Example("card", pairs))
    return tuple(examples[:MOST_EXAMPLES])


def _test_data(paths: Iterable[str], entry: str, count: int) -> Iterable[Example]:
    home = PurePosixPath(entry).parent
    sets: dict[int, dict[str, list[tuple[int, str]]]] = {}
    for path in sorted(paths):
        place = PurePosixPath(path)
        folder, file = _FOLDER.fullmatch(place.parent.name), _FILE.fullmatch(place.name)
        if folder and file and place.parent.parent == home:
            sides = sets.setdefault(int(folder[1]), {"input": [], "output": []})
            sides[file[1]].append((int(file[2]), path))
    for number, sides in sorted(sets.items()):
        inputs = tuple(pair for pair in sides["input"] if pair[0] < count)
        if inputs:
            yield Example(f"test data {number}", inputs, tuple(sides["output"]))
