"""Reading a card: YAML front matter and the text below it, written by strangers.

The front matter becomes plain JSON: no aliases (they can make a small file enormous), no
constructors, no values that JSON lacks. Source: Hugging Face model card specification.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Callable

CARD_PATH = "README.md"
LIMIT_BYTES = 1_000_000
LIMIT_FRONT_BYTES = 200_000
_FENCE = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


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


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases, which is all that a card needs."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, "aliases (*name) are not allowed in a card", event.start_mark
            )
        return super().compose_node(parent, index)


def parse(text: str) -> Card:
    """Split and read a card; raises CardInvalid naming the line and the field."""
    if len(text.encode()) > LIMIT_BYTES:
        raise problems.CardInvalid(f"A card may have {LIMIT_BYTES} bytes; move the rest to a file.")
    if "\x00" in text:
        raise problems.CardInvalid("The card holds a NUL character; save it as plain UTF-8 text.")
    fence = _FENCE.match(text)
    if fence is None:
        return Card({}, text)
    source = fence.group(1)
    if len(source) > LIMIT_FRONT_BYTES:
        raise problems.CardInvalid(f"The front matter may have {LIMIT_FRONT_BYTES} characters.")
    try:
        front = yaml.load(source, Loader=_Loader)  # noqa: S506 - a safe loader, narrowed further
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
    return Card(plain, text[fence.end() :])


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
