"""Values of a card with their places: the readers report what is wrong, with its cure."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from hub.protocol.stored import is_number

MOST_DECLARATIONS, MOST_NAME = 1_000, 500
_Word = TypeVar("_Word", bound=str)


class Notes(Protocol):
    """Takes what is wrong with a declaration; `registry.cards.findings.Notes` is one.

    ``pointer`` is a JSON pointer (RFC 6901) into the front matter.
    """

    def error(self, pointer: str, message: str, cure: str) -> None: ...

    def warn(self, pointer: str, message: str, cure: str) -> None: ...

    def guess(self, word: str, words: Collection[str], likeness: float = 0.75) -> str:
        """The word that was probably meant; empty where none is near."""
        ...


@dataclass(slots=True)
class Errors:
    """Where notes go, and how many of them were errors."""

    notes: Notes | None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Field:
    """A value in a card with its JSON pointer: the readers report what is wrong and give None."""

    value: Any
    pointer: str
    errors: Errors

    def __getitem__(self, name: str) -> Field:
        return Field(self.value.get(name), f"{self.pointer}/{escaped(name)}", self.errors)

    def __bool__(self) -> bool:
        return self.value is not None

    def error(self, message: str, cure: str) -> None:
        self.errors.count += 1
        if self.errors.notes is not None:
            self.errors.notes.error(self.pointer, message, cure)

    def warn(self, message: str, cure: str) -> None:
        if self.errors.notes is not None:
            self.errors.notes.warn(self.pointer, message, cure)

    def guess(self, word: str, words: Collection[str]) -> str:
        notes = self.errors.notes
        return notes.guess(word, words, 0.6) if word and notes is not None else ""

    def is_mapping(self, expected: str, *keys: str) -> bool:
        """Whether the value is a mapping; keys other than these are reported."""
        if not isinstance(self.value, dict):
            self.error(f"This must be {expected}.", "See docs/cards.md.")
            return False
        for name in self.value:
            if name not in keys:
                near = self.guess(str(name), keys)
                cure = f"{name} -> {near}." if near else f"Valid keys: {', '.join(keys)}."
                place = replace(self, pointer=f"{self.pointer}/{escaped(name)}")
                place.error(f"{str(name)[:60]} is not a valid key.", cure)
        return True

    def word(self, words: tuple[_Word, ...], noun: str) -> _Word | None:
        if not self:
            return None
        text = self.value.strip().lower() if isinstance(self.value, str) else ""
        text = "grey" if text == "gray" else text
        for word in words:
            if word.lower() == text:
                return word
        near = self.guess(text, words)
        cure = f"{self.value} -> {near}." if near else f"Write one of {', '.join(words)}."
        self.error(f"{str(self.value)[:60]!r} is not a valid {noun}.", cure)
        return None

    def number(self) -> float | None:
        """A finite number."""
        value = self.value
        if not self:
            return None
        if not is_number(value):
            self.error(f"{str(value)[:60]!r} is not a number.", _unquoted(value))
            return None
        if abs(value) > sys.float_info.max or not math.isfinite(value):
            self.error("The number is too large.", "Write a finite number.")
            return None
        return float(value)

    def numbers(self, expected: str, counts: tuple[int, ...] = ()) -> tuple[float, ...]:
        """A list of finite numbers, as many as one of ``counts``; empty where one is wrong."""
        rows = self.value
        if not isinstance(rows, list) or (counts and len(rows) not in counts):
            self.error(f"This must be {expected}.", "Write them in brackets, with commas.")
            return ()
        fields = [Field(row, f"{self.pointer}/{at}", self.errors) for at, row in enumerate(rows)]
        numbers = [number for field in fields if (number := field.number()) is not None]
        if not all(fields):
            self.error("An entry is empty.", "Fill or remove it.")
        return tuple(numbers) if len(numbers) == len(rows) else ()

    def text(self, most: int) -> str:
        """A text of at most this many characters; empty where there is none."""
        if not self:
            return ""
        if isinstance(self.value, str) and len(self.value) <= most:
            return self.value
        self.error(f"This must be text of at most {most} characters.", "Correct the text.")
        return ""

    def texts(self, most: int) -> tuple[str, ...]:
        """A list of at most this many texts; empty where there is none."""
        rows = self.value
        if not self:
            return ()
        if isinstance(rows, list) and len(rows) <= most and all(isinstance(r, str) for r in rows):
            return tuple(rows)
        self.error(f"This must be a list of at most {most:,} texts.", "Write them in brackets.")
        return ()

    def whole(self, least: int, most: int) -> int | None:
        if not self:
            return None
        if is_whole(self.value, least, most):
            return int(self.value)
        self.error(f"This must be a whole number from {least} to {most:,}.", "Correct the number.")
        return None


def named(field: Field, noun: str) -> Iterator[tuple[str, Field]]:
    """The declarations of a key that maps the names of the model's inputs or outputs to them."""
    declared = field.value
    if not field:
        return
    if not isinstance(declared, dict):
        field.error(
            f"{noun}s must map the names of the model's {noun}s to descriptions.",
            f"Write `{noun}s:`, then one indented `name:` for each {noun}; see docs/cards.md.",
        )
        return
    if len(declared) > MOST_DECLARATIONS:
        field.error(f"At most {MOST_DECLARATIONS:,} {noun}s are declared.", "Declare fewer.")
        return
    for key, value in declared.items():
        name = str(key)
        entry = Field(value, f"{field.pointer}/{escaped(name)}", field.errors)
        if len(name) > MOST_NAME:
            entry.error(f"A name has at most {MOST_NAME} characters.", "Correct the name.")
        yield name, entry


def escaped(name: object) -> str:
    """A key as a step of a JSON pointer (RFC 6901)."""
    return str(name).replace("~", "~0").replace("/", "~1")


def is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and is_number(value) and least <= value <= most


def _unquoted(value: Any) -> str:
    """How YAML takes what was written as a number: 1e-3 without a dot is text."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return f"Write {number!r}, without quotes." if math.isfinite(number) else "Write digits only."
