"""A run as Python code: the same values, the same preprocessing, the same model.

The pictures' steps are those of runners/engine/runs/pictures.py, written out for one choice of
them; a test runs the code and compares the tensor. `javascript.py` writes the same run for Node.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frontend.pages.tryouts.input_form import TITLES
from hub.protocol import inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from frontend.pages.tryouts.input_form import Input, Value
    from hub.protocol.inputs import Image, Picture, Polarity

_WIDTH = 88
_IMPORTS = ("import hub", "import numpy as np", "import onnxruntime")


@dataclass(frozen=True, slots=True)
class Feed:
    """One input, and what it was given: a picture, a row of an example, a value, or an array file.

    ``image`` is how a picture is prepared, ``own`` its polarity (None where nobody has said it),
    ``trim`` whether it is cut to the square around its strokes first, ``file`` its name.
    ``example`` is a path of the version, ``row`` the row of it that was given.
    """

    input: Input
    image: Image | None = None
    own: Polarity | None = None
    trim: bool = False
    file: str = "picture.png"
    value: Value | None = None
    example: str = ""
    row: int | None = None


def code(load: str, feeds: Iterable[Feed]) -> str:
    """Python that runs the model ``load`` gives (`hub.load(…)`) on a picture or arrays."""
    feeds = list(feeds)
    lines: list[str] = []
    names = []
    for at, feed in enumerate(feeds):
        name = "tensor" if len(feeds) == 1 else f"tensor_{at}"
        names.append(f"{feed.input.name!r}: {name}")
        lines += [*_tensor(feed, name), ""]
    imports = [*_IMPORTS]
    if any("numpy_helper" in line for line in lines):
        imports[2:2] = ["import onnx"]
        imports.append("from onnx import numpy_helper")
    if any("(folder / " in line for line in lines):
        folder = load.replace("hub.load(", "hub.download(", 1)
        lines = [f"folder = {folder}", *lines]
    pillow = (
        ("from PIL import Image, ImageOps",) if any("ImageOps" in line for line in lines) else ()
    )
    return "\n".join(
        [
            *imports,
            *pillow,
            "",
            *lines,
            f"model = {load}",
            "session = onnxruntime.InferenceSession(model.SerializeToString())",
            f"outputs = session.run(None, {{{', '.join(names)}}})",
            "",
        ]
    )


def _tensor(feed: Feed, name: str) -> Iterator[str]:
    if feed.example:
        row = "" if feed.row is None else f"[{feed.row}:{feed.row + 1}]"
        if feed.example.lower().endswith(".npy"):
            yield f"{name} = np.load(folder / {feed.example!r}){row}"
            return
        yield f"proto = onnx.load_tensor(folder / {feed.example!r})"
        yield f"{name} = numpy_helper.to_array(proto){row}"
        return
    if feed.value is not None:
        yield from _array(feed, name)
        return
    if feed.image is None:
        yield f'{name} = np.load("{name}.npy")  # {feed.input.words}'
        return
    own, image = feed.own, feed.image
    unsaid = image.polarity is not None and own is None
    if unsaid:
        own = next(
            polarity_word for polarity_word in inputs.POLARITIES if polarity_word != image.polarity
        )
    try:
        how = inputs.resolve(image, feed.input.shape, own)
    except inputs.UnknownStepError as error:
        words = ", ".join(TITLES[name] for name in error.names)
        yield f"# The preprocessing of {feed.input.name!r} is not known: {words}."
        yield f'{name} = np.load("{name}.npy")  # {feed.input.words}'
        return
    yield from _picture(how, feed, f"  # only if the picture is {own}" if unsaid else "")
    yield from _values(how, name, feed.input.type)


def _array(feed: Feed, name: str) -> Iterator[str]:
    kind = feed.input.type
    dtype = "object" if kind == "string" else f"np.{'bool_' if kind == 'bool' else kind}"
    text = f"{name} = np.array({literal(feed.value)}, dtype={dtype})"
    if len(text) <= _WIDTH or kind == "string":
        yield text
        return
    rows = feed.value if isinstance(feed.value, list) else [feed.value]
    yield f"{name} = np.array(["
    for row in rows:
        yield from textwrap.wrap(
            f"{literal(row)},", _WIDTH, initial_indent="    ", subsequent_indent="     "
        )
    yield f"], dtype={dtype})"


def literal(value: Value | None, missing: str = "np.nan") -> str:
    """A value as Python writes it; ``missing`` stands for NaN."""
    if isinstance(value, list):
        return f"[{', '.join(literal(element, missing) for element in value)}]"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return missing
    return repr(value)


def _trimmed(how: Picture, polarity: Polarity) -> Iterator[str]:
    """The square around the strokes: what is nearer to their level than to the ground's."""
    dark = (polarity == "dark-on-light") != how.invert
    yield f"ink = {'255 - ' if dark else ''}np.asarray(picture, dtype=int)"
    yield "rows, columns = np.nonzero(2 * ink > ink.min() + ink.max())"
    yield "edge = int(max(np.ptp(rows), np.ptp(columns))) + 1"
    yield "left = int(columns.min() + columns.max() + 1 - edge) // 2"
    yield "top = int(rows.min() + rows.max() + 1 - edge) // 2"
    yield f'square = Image.new("L", (edge, edge), int({"255 - " if dark else ""}ink.min()))'
    yield "square.paste(picture, (-left, -top))"
    yield "picture = square"


def _picture(how: Picture, feed: Feed, when: str) -> Iterator[str]:
    mode = "L" if how.channels == "grey" else "RGB"
    yield f"picture = ImageOps.exif_transpose(Image.open({feed.file!r}))"
    yield f'picture = picture.convert("{mode}")'
    if how.invert:
        yield f"picture = ImageOps.invert(picture){when}"
    if feed.trim and mode == "L" and feed.own is not None:
        yield from _trimmed(how, feed.own)
    resampling = f"Image.Resampling.{how.interpolation.upper()}"
    sized = how.width is not None and how.height is not None
    if how.mode == "stretch" and how.width is None and how.height is None:
        return
    if how.mode == "stretch" and sized:
        yield f"picture = picture.resize(({how.width}, {how.height}), {resampling})"
        return
    yield "wide, high = picture.size"
    width, height = how.width or "wide", how.height or "high"
    if how.mode == "stretch":
        yield f"picture = picture.resize(({width}, {height}), {resampling})"
        return
    yield f"width, height = {width}, {height}"
    yield from _scaled(how)
    yield f"picture = picture.resize(size, {resampling})"
    if how.mode == "crop":
        yield "left, top = (size[0] - width) // 2, (size[1] - height) // 2"
        yield "picture = picture.crop((left, top, left + width, top + height))"
        return
    ground = how.pad if how.channels == "grey" else (how.pad,) * 3
    yield "drawn = picture"
    yield f'picture = Image.new("{mode}", (width, height), {ground})'
    yield "picture.paste(drawn, ((width - size[0]) // 2, (height - size[1]) // 2))"


def _scaled(how: Picture) -> Iterator[str]:
    if how.mode == "crop" and how.shortest_edge is not None:
        edge = how.shortest_edge
        yield f"size = ({edge}, {edge} * high // wide)"
        yield "if wide > high:"
        yield f"    size = ({edge} * wide // high, {edge})"
        return
    sign = "<=" if how.mode == "letterbox" else ">"
    yield f"if width * high {sign} height * wide:"
    yield "    size = (width, max(1, (2 * high * width + wide) // (2 * wide)))"
    yield "else:"
    yield "    size = (max(1, (2 * wide * height + high) // (2 * high)), height)"


def _values(how: Picture, name: str, kind: str) -> Iterator[str]:
    yield "values = np.asarray(picture, dtype=np.float64)"
    if how.channels == "BGR":
        yield "values = values[:, :, ::-1]"
    scales = {"0-1": "values * (1 / 255)", "-1-1": "values * (2 / 255) - 1"}
    if how.scale.name in scales:
        yield f"values = {scales[how.scale.name]}"
    elif how.scale.factor != 1:
        yield f"values = values * {how.scale.factor!r}"
    if how.mean:
        yield f"values = values - {_row(how.mean)}"
    if how.std:
        yield f"values = values / {_row(how.std)}"
    if kind.startswith(("int", "uint")):
        yield f"limits = np.iinfo(np.{kind})"
        yield "values = np.clip(np.rint(values), limits.min, limits.max)"
    axes = {
        ("grey", "NCHW"): "[np.newaxis, np.newaxis]",
        ("grey", "CHW"): "[np.newaxis]",
        ("grey", "NHWC"): "[np.newaxis, :, :, np.newaxis]",
        ("grey", "HWC"): "[:, :, np.newaxis]",
        ("colour", "NCHW"): ".transpose(2, 0, 1)[np.newaxis]",
        ("colour", "CHW"): ".transpose(2, 0, 1)",
        ("colour", "NHWC"): "[np.newaxis]",
        ("colour", "HWC"): "",
    }
    axis = axes["grey" if how.channels == "grey" else "colour", how.layout]
    yield f"{name} = values{axis}.astype(np.{kind})"


def _row(values: tuple[float, ...]) -> str:
    return repr(values[0]) if len(values) == 1 else repr(list(values))
