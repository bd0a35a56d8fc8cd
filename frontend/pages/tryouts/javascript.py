"""A run as JavaScript code for ONNX Runtime: the same values, the same preprocessing.

Pictures go through the page's own module, `try-picture.js`, which needs nothing else.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING

from hub.protocol import inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from frontend.pages.tryouts.input_form import Value
    from frontend.pages.tryouts.snippets import Feed
    from hub.protocol.inputs import Picture

_WIDTH = 88
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_ARRAYS = {
    "float32": "Float32Array", "float64": "Float64Array", "int8": "Int8Array",
    "int16": "Int16Array", "int32": "Int32Array", "int64": "BigInt64Array",
    "uint8": "Uint8Array", "uint16": "Uint16Array", "uint32": "Uint32Array",
    "uint64": "BigUint64Array", "bool": "Uint8Array",
}  # fmt: skip


def code(model_url: str, module_url: str, feeds: Iterable[Feed]) -> str:
    """JavaScript that runs the model at an address on what was given."""
    feeds = list(feeds)
    lines: list[str] = []
    pairs = []
    for at, feed in enumerate(feeds):
        name = "tensor" if len(feeds) == 1 else f"tensor${at}"
        key = feed.input.name
        pairs.append(f"{key if _NAME.fullmatch(key) else json.dumps(key)}: {name}")
        lines += [*_tensor(feed, name), ""]
    drawn = (
        [f"// Save {module_url} beside this file.", 'import { prepare } from "./try-picture.js";']
        if any("prepare(" in line for line in lines)
        else []
    )
    return "\n".join(
        [
            'import * as ort from "onnxruntime-web";',
            *drawn,
            "",
            *lines,
            f"const session = await ort.InferenceSession.create({json.dumps(model_url)});",
            f"const outputs = await session.run({{ {', '.join(pairs)} }});",
            "for (const [name, { dims, data }] of Object.entries(outputs)) {",
            "  console.log(name, dims, data);",
            "}",
            "",
        ]
    )


def _tensor(feed: Feed, name: str) -> Iterator[str]:
    kind = feed.input.type
    how = _resolved(feed)
    if feed.value is not None and (kind in _ARRAYS or kind == "string"):
        yield from _array(feed.value, kind, name)
    elif how is not None and not feed.example and kind == "float32":
        yield from _picture(feed, how, name)
    else:
        where = f": {feed.example}" if feed.example else ""
        row = "" if feed.row is None else f", row {feed.row}"
        shape = ", ".join("1" if size is None else str(size) for size in feed.input.shape or ())
        yield f"// The values of {feed.input.words}{where}{row}, in row-major order."
        yield f"const values = new {_ARRAYS.get(kind, 'Array')}(/* … */);"
        yield f'const {name} = new ort.Tensor("{kind}", values, [{shape}]);'


def _array(value: Value, kind: str, name: str) -> Iterator[str]:
    shape, flat = [], [value]
    while isinstance(flat[0], list):
        shape.append(len(flat[0]))
        flat = [element for row in flat if isinstance(row, list) for element in row]
        if not flat:
            break
    big = kind.endswith("int64")
    words = [
        "NaN" if element is None else json.dumps(element) + ("n" if big else "") for element in flat
    ]
    opens = "" if kind == "string" else f"{_ARRAYS[kind]}.from("
    text = f"const values = {opens}[{', '.join(words)}]{')' if opens else ''};"
    yield from (
        textwrap.wrap(
            text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        if kind != "string"
        else [text]
    )
    yield f'const {name} = new ort.Tensor("{kind}", values, {json.dumps(shape)});'


def _resolved(feed: Feed) -> Picture | None:
    if feed.image is None:
        return None
    try:
        return inputs.resolve(feed.image, feed.input.shape, feed.own)
    except inputs.UnknownStepError:
        return None


def _picture(feed: Feed, how: Picture, name: str) -> Iterator[str]:
    steps = {
        "channels": how.channels, "layout": how.layout, "invert": how.invert, "trim": feed.trim,
        "width": how.width, "height": how.height, "mode": how.mode,
        "interpolation": how.interpolation, "shortest_edge": how.shortest_edge, "pad": how.pad,
        "scale": how.scale.name, "mean": list(how.mean), "std": list(how.std),
    }  # fmt: skip
    stated = {key: value for key, value in steps.items() if value not in (None, False, [], 0)}
    if feed.trim:
        stated["dark"] = (feed.own == "dark-on-light") != how.invert
    yield "// `file` is a File of an <input type=file>, or a Blob."
    yield "const bitmap = await createImageBitmap(file, {"
    yield '  premultiplyAlpha: "none", colorSpaceConversion: "none",'
    yield "});"
    yield "const { width, height } = bitmap;"
    yield 'const context = new OffscreenCanvas(width, height).getContext("2d");'
    yield "context.drawImage(bitmap, 0, 0);"
    yield "const pixels = context.getImageData(0, 0, width, height).data;"
    yield "const { values, shape } = prepare(pixels, width, height, {"
    for key, value in stated.items():
        yield f"  {key}: {json.dumps(value)},"
    yield "});"
    yield f'const {name} = new ort.Tensor("float32", Float32Array.from(values), shape);'
