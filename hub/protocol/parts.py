"""The key ``parts`` of a card: what each ONNX file does in a version of several.

It maps the path of a file to its title, and to inputs and outputs that are declared of this file
alone. docs/cards.md describes the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.protocol import inputs, outputs
from hub.protocol.inputs.fields import Errors, Field, Notes, named

if TYPE_CHECKING:
    from hub.protocol.inputs import DeclaredInput
    from hub.protocol.outputs import DeclaredOutput


@dataclass(frozen=True, slots=True)
class Part:
    """One file: a declaration of its own goes before that of the whole card, by name."""

    path: str
    title: str = ""
    inputs: tuple[DeclaredInput, ...] = ()
    outputs: tuple[DeclaredOutput, ...] = ()


def parse(declared: Any, notes: Notes | None = None, pointer: str = "/parts") -> tuple[Part, ...]:
    """The parts of a card, in its order; never raises. What is wrong goes to ``notes``."""
    parts = []
    for path, field in named(Field(declared, pointer, Errors(notes)), "part"):
        if not field.is_mapping("a mapping such as {title: Finds lines}", *_KEYS):
            continue
        parts.append(
            Part(
                path,
                field["title"].text(80),
                inputs.parse(field["inputs"].value, notes, field["inputs"].pointer),
                outputs.parse(field["outputs"].value, notes, field["outputs"].pointer),
            )
        )
    return tuple(parts)


def of(card: Mapping[str, Any], path: str) -> Part:
    """What a card declares of the file with this path, and of all its files."""
    own = next((part for part in parse(card.get("parts")) if part.path == path), Part(path))
    common_inputs = {each.name: each for each in inputs.parse(card.get("inputs"))}
    common_outputs = {each.name: each for each in outputs.parse(card.get("outputs"))}
    return Part(
        path,
        own.title,
        tuple((common_inputs | {each.name: each for each in own.inputs}).values()),
        tuple((common_outputs | {each.name: each for each in own.outputs}).values()),
    )


_KEYS = ("title", "inputs", "outputs")
