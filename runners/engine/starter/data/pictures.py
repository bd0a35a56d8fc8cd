"""Pages and lines of text, drawn with the font that Pillow brings."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageDraw import ImageDraw as Drawing

_WORDS: Final = tuple(
    """
account address after amount annual article balance before between board bridge budget centre
change charge chapter client column common company contract copper corner country course current
daily date delivery deposit detail district document double early energy engine estimate evening
example factor field figure final first forest future garden general glass ground harbour height
history house index industry invoice island journal kitchen lantern latest ledger letter level
library machine margin market matter measure medium member method middle minute modern morning
mountain museum nature needle network notice number object office open orange order origin owner
paper parcel passage pattern payment pencil period plan planet point policy present price process
profit project quarter question railway reading record region report request result river safety
sample school season second section sentence service silver simple single special square station
storage street summary summer supply surface system table ticket timber total tower traffic travel
under union valley value version village volume water weather weekly window winter writing yellow
""".split()  # noqa: SIM905 - 200 words are easier to read so
)


def page(seed: int, clockwise: int) -> bytes:
    """A page of paragraphs, sometimes with a title or a table, turned by ``clockwise`` degrees."""
    from PIL import Image, ImageDraw  # noqa: PLC0415 - only children load it

    source = random.Random(seed)  # noqa: S311 - a seeded draw that anyone can repeat
    width, height = source.choice([(496, 702), (540, 700), (600, 600)])
    paper = source.choice(["white", "#fbf8f0", "#f2f2f2"])
    picture = Image.new("RGB", (width, height), paper)
    drawing = ImageDraw.Draw(picture)
    margin = source.randint(24, 56)
    top = margin
    if source.random() < 0.6:
        title = " ".join(source.choices(_WORDS, k=3)).capitalize()
        top += _write(drawing, title, margin, top, source.randint(24, 32)) + 14
    size = source.randint(13, 18)
    while top < height - margin - size:
        if source.random() < 0.06 and top < height - margin - 6 * size:
            top += _table(drawing, source, margin, top, width - 2 * margin, size) + size
            continue
        text = _filled_line(source, size, width - 2 * margin)
        top += _write(drawing, text, margin, top, size) + size // 3
        if source.random() < 0.12:
            top += size
    return _png(picture.convert("L").rotate(-clockwise, expand=True))


def words(seed: int) -> str:
    """A text of one line: words, a number, a date, an amount or an address for mail."""
    source = random.Random(seed)  # noqa: S311 - as above
    first, second = source.choices(_WORDS, k=2)
    number = source.randint(1, 99_999)
    forms = (
        f"{first.capitalize()} {second} {number}",
        f"{first} {second} {source.choice(_WORDS)} {source.choice(_WORDS)}",
        f"{first.capitalize()} {source.randint(2000, 2030)}-{source.randint(1, 12):02}",
        f"Total: {number:,}.{source.randint(0, 99):02} EUR",
        f"{first}.{second}@example.org",
        f"{source.randint(0, 23):02}:{source.randint(0, 59):02} {first.upper()}",
        f"No. {number} ({first}, {second})",
    )
    return source.choice(forms)


def line(text: str, seed: int) -> bytes:
    """A picture of a line, 48 pixels high."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - as above

    source = random.Random(seed)  # noqa: S311 - as above
    font = ImageFont.load_default(source.randint(24, 34))
    width = round(font.getlength(text)) + source.randint(12, 30)
    ink, paper = source.choice(
        [("black", "white"), ("#202060", "#f4f0e0"), ("#303030", "#dcdcdc"), ("white", "#204060")]
    )
    picture = Image.new("RGB", (width, 48), paper)
    ImageDraw.Draw(picture).text((6, 24), text, fill=ink, font=font, anchor="lm")
    return _png(picture)


def _write(drawing: Drawing, text: str, left: int, top: int, size: int) -> int:
    """Draw a line; returns its height."""
    from PIL import ImageFont  # noqa: PLC0415 - as above

    drawing.text((left, top), text, fill="#181818", font=ImageFont.load_default(size))
    return size


def _filled_line(source: random.Random, size: int, width: int) -> str:
    text = source.choice(_WORDS).capitalize()
    # A character of the font is about half as wide as it is high.
    while len(text) * size * 0.52 < width - 4 * size:
        text += " " + source.choice(_WORDS)
    return f"{text}."


def _table(
    drawing: Drawing, source: random.Random, left: int, top: int, width: int, size: int
) -> int:
    rows, columns, height = source.randint(2, 4), source.randint(2, 4), size + 8
    for row in range(rows):
        for column in range(columns):
            x, y = left + column * width // columns, top + row * height
            drawing.rectangle((x, y, x + width // columns, y + height), outline="#404040")
            _write(drawing, str(source.randint(10, 9_999)), x + 5, y + 3, size)
    return rows * height


def _png(picture: Picture) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()
