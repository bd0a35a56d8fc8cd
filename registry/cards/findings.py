"""What a check of a card has to say: where, what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from registry.cards import vocabularies

Severity = Literal["error", "warning"]
FINDINGS = 100
GUESSES = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a card; an error keeps the card from being saved.

    ``pointer`` is a JSON pointer (RFC 6901) into the front matter, or ``/line/N`` where no field
    could be read; ``line`` counts the lines of the whole README from 1.
    """

    severity: Severity
    pointer: str
    line: int | None
    message: str
    cure: str

    @property
    def field(self) -> str:
        """The field as people write it: ``training_data[1].license``; empty for a line."""
        return "" if self.pointer.startswith("/line/") else dotted(self.pointer)

    @property
    def detail(self) -> str:
        """Line, field, cause and cure in one sentence or two."""
        place = [f"Line {self.line}"] if self.line else []
        place += [self.field] if self.field else []
        return " ".join([", ".join(place) + ":" if place else "", self.message, self.cure]).strip()


@dataclass(slots=True)
class Notes:
    """Collects findings; ``lines`` says on which line of the README each pointer stands."""

    lines: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    guesses: int = 0

    def guess(self, word: str, words: Iterable[str], likeness: float = 0.75) -> str:
        """The word that was probably meant; empty if none is, and after many guesses."""
        self.guesses += 1
        return vocabularies.near(word, words, likeness) if self.guesses <= GUESSES else ""

    def error(self, pointer: str, message: str, cure: str, *, line: int | None = None) -> None:
        self._add("error", pointer, message, cure, line)

    def warn(self, pointer: str, message: str, cure: str, *, line: int | None = None) -> None:
        self._add("warning", pointer, message, cure, line)

    def _add(
        self, severity: Severity, pointer: str, message: str, cure: str, line: int | None
    ) -> None:
        line = line or nearest(self.lines, pointer)
        self.findings.append(Finding(severity, pointer, line, message, cure))

    def in_order(self) -> tuple[Finding, ...]:
        """By line, errors first on a line; at most 100."""
        rows = sorted(self.findings, key=lambda finding: (finding.line or 0, finding.severity))
        return tuple(rows[:FINDINGS])


def escaped(name: object) -> str:
    """A key as one step of a JSON pointer."""
    return str(name).replace("~", "~0").replace("/", "~1")


def dotted(pointer: str) -> str:
    """``/training_data/1/name`` as ``training_data[1].name``."""
    path = ""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if name.isdecimal() and path else f".{name}" if path else name
    return path


def nearest(lines: dict[str, int], pointer: str) -> int | None:
    """The line of a pointer, or of the part that holds what is missing; None without its field."""
    while pointer:
        if pointer in lines:
            return lines[pointer]
        pointer = pointer.rpartition("/")[0]
    return None
