"""Reading a card: YAML front matter and the text below it, both untrusted.

The front matter becomes plain JSON: no aliases (they can make a small file enormous), no
constructors, no values that JSON lacks. Source: Hugging Face model card specification.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any

from hub.protocol import inputs, phrases, problems
from hub.protocol.cards import Card
from hub.protocol.facts import Port
from registry.cards import fields, source
from registry.cards.findings import Finding, Notes, nearest
from registry.core import parsing

CARD_PATH = "README.md"
LIMIT_BYTES = 1_000_000
# What of a first paragraph can get into a summary.
_BEGINNING = 10_000
_NOT_PROSE = re.compile(r"#|>|\||`{3}|<|!\[|[-*] |\d+\. ")
# Each mark ends where the next of its kind begins, so that no part is looked at twice.
_TARGET = r"\((?:[^()]|\([^()]*\))*\)"
_PICTURE = re.compile(rf"!\[[^\[\]]*\]{_TARGET}")
_LINK = re.compile(rf"\[([^\[\]]*)\](?:{_TARGET}|\[[^\[\]]*\])?")
# A formula between dollar signs, as GitHub and KaTeX read it.
_FORMULA = re.compile(r"\$[^$]+\$")
_EMPHASIS = re.compile(r"[*`]|(?<!\w)_|_(?!\w)")


@dataclass(frozen=True, slots=True)
class Checked:
    """A card as far as it can be read, and what is wrong with it: front matter, prose, findings."""

    front: dict[str, Any]
    body: str
    findings: tuple[Finding, ...]

    @property
    def card(self) -> Card:
        return Card.read(self.front)

    @property
    def errors(self) -> list[Finding]:
        """What keeps it from being saved."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == "warning"]


def check(text: str) -> Checked:
    """Look at a whole card and name everything that is wrong with it; never raises."""
    notes = Notes()
    if len(text.encode("utf-8", "replace")) > LIMIT_BYTES:
        notes.error(
            "/line/1",
            f"A card may have at most {LIMIT_BYTES:,} bytes.",
            "Move the rest to a file.",
            line=1,
        )
        return Checked({}, "", notes.in_order())
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        notes.error(
            f"/line/{line}",
            "The card contains a NUL character.",
            "Save it as plain UTF-8 text.",
            line=line,
        )
        return Checked({}, "", notes.in_order())
    parts = source.split(text)
    if parts.start:
        front, findings = parsing.run(_examined, text[: parts.body])
    else:
        front, findings = _examined(text)
    return Checked(front, text[parts.body :], tuple(Finding(**finding) for finding in findings))


def _examined(head: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The values of a front matter, and every finding, as JSON has them."""
    front = source.read(head)
    fields.check(front.notes, front.values)
    return front.values, [asdict(finding) for finding in front.notes.in_order()]


def contradictions(
    text: str, model: Collection[Port], files: Collection[str]
) -> tuple[Finding, ...]:
    """What a card declares of inputs that the model does not have so, or of files that are missing.

    ``model`` are the inputs of the version's described files, empty where none is described yet.
    """
    notes = Notes()
    if model:
        inputs.compare(check(text).card.inputs, model, notes, files=files)
    return tuple(
        replace(finding, line=line_of(text, finding.pointer)) for finding in notes.in_order()
    )


def accept(text: str) -> Checked:
    """A card without errors, to be saved; raises CardInvalid naming every error at once."""
    checked = check(text)
    if errors := checked.errors:
        detail = errors[0].detail
        if len(errors) > 1:
            detail = f"{detail} And {len(errors) - 1} more."
        raise problems.CardInvalid(
            detail, errors=[{"pointer": error.pointer, "detail": error.detail} for error in errors]
        )
    return checked


def summary(declared: str, body: str) -> str:
    """A card's declared summary, else the first sentence of its prose; at most 300 characters.

    Prose with formulas is taken only where there is no other.
    """
    if not declared:
        blocks = (block.strip()[:_BEGINNING] for block in re.split(r"\n\s*\n", body))
        prose = [block for block in blocks if block and not _NOT_PROSE.match(block)]
        first = next((block for block in prose if not _FORMULA.search(block)), "".join(prose[:1]))
        text = _LINK.sub(r"\1", _PICTURE.sub("", first))
        declared = _EMPHASIS.sub("", text)
    text = " ".join(declared.split())
    sentence = re.match(r".{20,}?[.!?](?= |$)", text)
    text = sentence.group() if sentence else text
    return phrases.ellipsis(text, 300)


def body(readme: str) -> str:
    """The text of a stored card, below its front matter."""
    return readme[source.split(readme).body :]


def digest(readme: str) -> str:
    """Identifies the text of a card: 32 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(readme.encode("utf-8", "replace")).hexdigest()[:32]


def line_of(readme: str, pointer: str) -> int | None:
    """The line of the README, from 1, on which a field of the front matter stands.

    ``pointer`` is a JSON pointer such as ``/training_data/1/name``; of what is missing inside a
    field, the line of the part that lacks it. None where the field itself is not there.
    """
    if line := re.fullmatch(r"/line/([1-9][0-9]{0,8})", pointer):
        return int(line.group(1))
    return parsing.run(_nearest_line, readme[: source.split(readme).body], pointer)


def _nearest_line(head: str, pointer: str) -> int | None:
    return nearest(source.read(head).notes.lines, pointer)
