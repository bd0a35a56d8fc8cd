"""The picture of a model that chats and social networks show beside a link (Open Graph).

1200 by 630 pixels, the size that most of them cut nothing from; in the colours of the light theme,
which are read from the style sheet of the pages.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from frontend.parts.svg import barcode

WIDTH, HEIGHT = 1200, 630
# Pictures kept by each web process, of about 60 kB each.
CACHE_SIZE = 128
MOST_FIGURES = 4

_STATIC = Path(__file__).resolve().parent.parent / "static" / "frontend"
_FONT = _STATIC / "vendor/atkinson-hyperlegible/atkinson-hyperlegible-next-latin-wght-normal.woff2"
_COLOUR = re.compile(r"--([a-z0-9-]+):\s*light-dark\((#[0-9a-f]{6}),")
_SIDE, _TOP = 64, 56
_ROOM = WIDTH - 2 * _SIDE
_REGULAR, _BOLD = 400, 700
_LEAST_NAME, _NAME = 36, 84
# What the font has, which lacks even the sign of micro; boxes would say nothing.
_WRITABLE = re.compile(r"[\x20-\x7e\xa0-\xb4\xb6-\xff\u2000-\u206f\u20ac\u2122\u2212]*")
_LINES = 2


@dataclass(frozen=True, slots=True)
class LinkPicture:
    """What a picture shows: names, a line about the model, figures as (value, meaning), evidence.

    ``tone`` colours the evidence: pass, part, fail, or nothing.
    """

    namespace: str
    name: str
    number: int
    summary: str
    figures: tuple[tuple[str, str], ...]
    evidence: str
    tone: str
    cells: tuple[str, ...]


def is_writable(text: str) -> bool:
    """Whether the font has every character of a text."""
    return _WRITABLE.fullmatch(text) is not None


@lru_cache(maxsize=CACHE_SIZE)
def draw(of: LinkPicture) -> bytes:
    """The picture as PNG."""
    colours = _colours()
    image = Image.new("RGB", (WIDTH, HEIGHT), colours["paper"])
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, WIDTH, 12), fill=colours["accent"])
    pen.text((_SIDE, _TOP), "Model hub", font=_font(30, _BOLD), fill=colours["accent"])
    line = _TOP + 64
    pen.text((_SIDE, line), f"{of.namespace}/", font=_font(36), fill=colours["ink-3"])
    line = _name(pen, of, line + 44)
    for words in _wrapped(pen, of.summary, _font(32)):
        pen.text((_SIDE, line), words, font=_font(32), fill=colours["ink-2"])
        line += 42
    _band(pen, of.cells, 372)
    _figures(pen, of.figures[:MOST_FIGURES], 432)
    if of.evidence:
        pen.ellipse((_SIDE, 561, _SIDE + 20, 581), fill=colours[of.tone or "none"])
        words = _cut(pen, of.evidence, _font(28), _ROOM - 36)
        pen.text((_SIDE + 36, 552), words, font=_font(28), fill=colours["ink"])
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def _name(pen: ImageDraw.ImageDraw, of: LinkPicture, line: int) -> int:
    """Write the name as large as it fits, with the version behind it; returns the line below."""
    number = f"@{of.number}"
    for size in range(_NAME, _LEAST_NAME - 1, -4):
        font = _font(size, _BOLD)
        room = _ROOM - pen.textlength(number, font)
        if pen.textlength(of.name, font) <= room:
            break
    name = _cut(pen, of.name, font, room)
    pen.text((_SIDE, line), name, font=font, fill=_colours()["ink"])
    left = _SIDE + pen.textlength(name, font)
    pen.text((left, line), number, font=font, fill=_colours()["ink-3"])
    return line + size + 24


def _band(pen: ImageDraw.ImageDraw, cells: tuple[str, ...], top: int) -> None:
    """The operators of the graph in order of execution."""
    band, colours = barcode.bands(cells), _colours()
    for at, category in enumerate(band):
        left, right = (_SIDE + _ROOM * edge // len(band) for edge in (at, at + 1))
        pen.rectangle(
            (left, top, right - 1, top + 27), fill=colours.get(f"op-{category}", colours["edge"])
        )


def _figures(pen: ImageDraw.ImageDraw, figures: tuple[tuple[str, str], ...], top: int) -> None:
    column = _ROOM // MOST_FIGURES
    for at, (value, meaning) in enumerate(figures):
        left = _SIDE + at * column
        figure = _cut(pen, value, _font(44, _BOLD), column - 16)
        pen.text((left, top), figure, font=_font(44, _BOLD), fill=_colours()["ink"])
        words = _cut(pen, meaning, _font(24), column - 16)
        pen.text((left, top + 56), words, font=_font(24), fill=_colours()["ink-3"])


def _wrapped(pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont) -> Iterator[str]:
    """At most two lines of a text; nothing where the font lacks a character of it."""
    if not is_writable(text):
        return
    line, count = "", 1
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and pen.textlength(longer, font) > _ROOM:
            if count == _LINES:
                yield _cut(pen, f"{line} {word}", font, _ROOM)
                return
            yield _cut(pen, line, font, _ROOM)
            line, count = word, count + 1
        else:
            line = longer
    if line:
        yield _cut(pen, line, font, _ROOM)


def _cut(pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, room: float) -> str:
    """A text, with an ellipsis where it is longer than there is room for."""
    if pen.textlength(text, font) <= room:
        return text
    while text and pen.textlength(f"{text}…", font) > room:
        text = text[:-1].rstrip()
    return f"{text}…"


@cache
def _colours() -> Mapping[str, str]:
    return dict(_COLOUR.findall((_STATIC / "tokens.css").read_text()))


@cache
def _font(size: int, weight: int = _REGULAR) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(str(_FONT), size)
    font.set_variation_by_axes([weight])
    return font
