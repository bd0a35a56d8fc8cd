"""Reading a card: YAML front matter and the text below it, written by strangers.

The front matter becomes plain JSON: no aliases (they can make a small file enormous), no
constructors, no values that JSON lacks. Source: Hugging Face model card specification.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from hub.protocol import problems
from registry.authoring import fields, source
from registry.authoring.findings import Notes, nearest
from registry.authoring.source import LIMIT_FRONT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from registry.authoring.findings import Finding

CARD_PATH = "README.md"
LIMIT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Card:
    """A card's structured part, its text, and what lists show of it."""

    front: dict[str, Any]
    body: str

    @property
    def license(self) -> str:
        return _words(self.front.get("license"))[:64]

    @property
    def task(self) -> str:
        return _words(self.front.get("pipeline_tag"))[:64]

    @property
    def keywords(self) -> list[str]:
        tags = self.front.get("tags")
        if isinstance(tags, str):
            tags = [tags]
        return [str(tag)[:64] for tag in tags][:50] if isinstance(tags, list) else []

    @property
    def summary(self) -> str:
        """The front matter's ``summary``, else the first sentence of prose."""
        said = _words(self.front.get("summary"))
        if not said:
            prose = [
                block.strip()
                for block in re.split(r"\n\s*\n", self.body)
                if block.strip() and not re.match(r"\s*(#|>|\||`{3}|<|!\[|[-*] |\d+\. )", block)
            ]
            said = _plain_words(prose[0]) if prose else ""
        said = " ".join(said.split())
        sentence = re.match(r".{20,}?[.!?](?= |$)", said)
        said = sentence.group() if sentence else said
        return said if len(said) <= 300 else said[:299].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Checked:
    """A card that was looked at: what it says as far as it can be read, and what is wrong."""

    card: Card
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        """What keeps it from being saved."""
        return [one for one in self.findings if one.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        return [one for one in self.findings if one.severity == "warning"]


def check(text: str) -> Checked:
    """Look at a whole card and name everything that is wrong with it; never raises."""
    notes = Notes()
    if len(text.encode("utf-8", "replace")) > LIMIT_BYTES:
        notes.error(
            "/line/1",
            f"A card may have {LIMIT_BYTES:,} bytes.",
            "Move the rest to a file.",
            line=1,
        )
        return Checked(Card({}, ""), notes.in_order())
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        notes.error(
            f"/line/{line}", "The card holds a NUL.", "Save it as plain UTF-8 text.", line=line
        )
        return Checked(Card({}, ""), notes.in_order())
    front = source.read(text)
    fields.check(front.notes, front.values)
    return Checked(Card(front.values, text[front.parts.body :]), front.notes.in_order())


def accept(text: str) -> Card:
    """The card that somebody wants to save; raises CardInvalid naming every error at once."""
    checked = check(text)
    if errors := checked.errors:
        raise refusal(errors)
    return parse(text)


def digest(readme: str) -> str:
    """What tells one text of a card from another: 32 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(readme.encode("utf-8", "replace")).hexdigest()[:32]


def refusal(errors: list[Finding]) -> problems.CardInvalid:
    """The problem that tells of these errors, each with its pointer, line and cure."""
    detail = errors[0].detail
    if len(errors) > 1:
        detail = f"{detail} And {len(errors) - 1} more."
    return problems.CardInvalid(
        detail, errors=[{"pointer": one.pointer, "detail": one.detail} for one in errors]
    )


def line_of(readme: str, pointer: str) -> int | None:
    """The line of the README, from 1, on which a field of the front matter stands.

    ``pointer`` is a JSON pointer such as ``/training_data/1/name``; of what is missing inside a
    field, the line of the part that lacks it. None where the field itself is not there.
    """
    if found := re.fullmatch(r"/line/([1-9][0-9]{0,8})", pointer):
        return int(found.group(1))
    return nearest(source.read(readme).notes.lines, pointer)


def parse(text: str) -> Card:
    """Split and read a card; raises CardInvalid naming the line and the field.

    Whatever was ever stored passes here: what is checked when a card is written may grow
    stricter (``accept``), this does not.
    """
    if len(text.encode()) > LIMIT_BYTES:
        raise problems.CardInvalid(f"A card may have {LIMIT_BYTES} bytes; move the rest to a file.")
    if "\x00" in text:
        raise problems.CardInvalid("The card holds a NUL character; save it as plain UTF-8 text.")
    parts = source.split(text)
    if not parts.start:
        return Card({}, text)
    if len(parts.front) > LIMIT_FRONT_BYTES:
        raise problems.CardInvalid(f"The front matter may have {LIMIT_FRONT_BYTES} characters.")
    try:
        front = yaml.load(parts.front, Loader=source.Loader)  # noqa: S506 - safe, narrowed further
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        detail = f"Line {line}: {error.problem or error}. Mend the YAML between the --- lines."
        raise problems.CardInvalid.at(f"/line/{line}", detail) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise problems.CardInvalid(f"The front matter is not YAML: {error}") from error
    if front is None:
        front = {}
    if not isinstance(front, dict):
        raise problems.CardInvalid.at("/line/2", "The front matter must be `field: value` lines.")
    plain = _plain(front, "")
    _check_fields(plain)
    return Card(plain, text[parts.body :])


def _plain(value: Any, where: str) -> Any:
    """``value`` as JSON has it; raises CardInvalid for what JSON has not."""
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{where}/{key}") for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return [_plain(item, f"{where}/{index}") for index, item in enumerate(value)]
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise problems.CardInvalid.at(where, f"{where[1:]} must be a finite number.")
    if isinstance(value, bytes):
        raise problems.CardInvalid.at(where, f"{where[1:]} is binary; a card holds text.")
    return value


def _is_words(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int | float) for item in items)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "license": (_is_words, "an SPDX id such as apache-2.0"),
    "pipeline_tag": (lambda value: isinstance(value, str), "one task such as image-classification"),
    "tags": (_is_words, "a list of words"),
    "language": (_is_words, "a language code or a list of them"),
    "datasets": (lambda value: isinstance(value, str | list), "a list of data sets"),
    "base_model": (_is_words, "a model's name or a list of names"),
    "model-index": (lambda value: isinstance(value, list), "a list of results"),
    "summary": (lambda value: isinstance(value, str), "one sentence"),
}


def _check_fields(front: dict[str, Any]) -> None:
    errors = [
        {"pointer": f"/{name}", "detail": f"{name} must be {wanted}."}
        for name, (fits, wanted) in _FIELDS.items()
        if front.get(name) is not None and not fits(front[name])
    ]
    if errors:
        raise problems.CardInvalid(" ".join(error["detail"] for error in errors), errors=errors)


def _plain_words(markdown: str) -> str:
    """A paragraph without its marks: links keep their words, pictures go."""
    without_pictures = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", markdown)
    without_links = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?", r"\1", without_pictures)
    return re.sub(r"[*`]|(?<!\w)_|_(?!\w)", "", without_links)


def _words(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return "" if value is None else str(value)
