"""A run as JavaScript code for ONNX Runtime: the same values, the same preprocessing.

Pictures go through the page's own module, `try-picture.js`, which needs nothing else.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from frontend.parts import text_templates
from hub.protocol import inputs

if TYPE_CHECKING:
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


def code(model_url: str, module_url: Callable[[str], str], feeds: Iterable[Feed]) -> str:
    """JavaScript that runs the model at an address on what was given.

    ``module_url`` gives the address of a module of the page by its name.
    """
    feeds = list(feeds)
    tensors = []
    pairs = []
    for at, feed in enumerate(feeds):
        name = "tensor" if len(feeds) == 1 else f"tensor${at}"
        key = feed.input.name
        pairs.append(f"{key if _NAME.fullmatch(key) else json.dumps(key)}: {name}")
        values = "values" if len(feeds) == 1 else f"values${at}"
        tensor = _tensor(feed)
        if "values" in tensor:
            tensor["values"] = tensor["values"].replace("const values =", f"const {values} =", 1)
        is_carried = feed.is_source and not feed.audio and not feed.bytes
        word = "let" if is_carried else "const"
        tensors.append(
            {"name": name, "type": feed.input.type, "data": values, "word": word, **tensor}
        )
    return text_templates.render(
        "code/tryout_javascript.txt",
        model_url=model_url,
        picture_url=module_url("try-picture.js"),
        signals_url=module_url("try-signals.js"),
        tensors=tensors,
        pairs=", ".join(pairs),
        has_pictures=any("steps" in tensor for tensor in tensors),
        signals=sorted({tensor["signal"] for tensor in tensors if "signal" in tensor}),
        calls=next((tensor for tensor in tensors if tensor.get("window")), None),
        carried=[
            (tensor["name"], feed.input.declared.carry)
            for tensor, feed in zip(tensors, feeds, strict=True)
            if feed.is_source and feed.input.declared and feed.input.declared.carry
        ],
    )


def _tensor(feed: Feed) -> dict[str, Any]:
    """The steps of a picture, or the line that sets the values, and their shape."""
    kind = feed.input.type
    if feed.audio is not None:
        how = feed.audio.document() | {"window": feed.window}
        return {"signal": "windows", "how": how, "window": feed.window, "shape": _sizes(feed)}
    if feed.bytes is not None:
        how = feed.bytes.document()
        return {"signal": "bytesOf", "how": how, "block": feed.block, "shape": _sizes(feed),
                "array": _ARRAYS.get(kind, "Array")}  # fmt: skip
    if feed.is_source:
        size = math.prod(feed.shape)
        values = f"const values = new {_ARRAYS.get(kind, 'Array')}({size});"
        return {"values": values, "shape": json.dumps(feed.shape)}
    if feed.value is not None and (kind in _ARRAYS or kind == "string"):
        return _array(feed.value, kind)
    picture = _resolved(feed)
    if picture is not None and not feed.example and kind == "float32":
        return {"steps": _steps(feed, picture)}
    where = f": {feed.example}" if feed.example else ""
    row = "" if feed.row is None else f", row {feed.row}"
    shape = ", ".join("1" if size is None else str(size) for size in feed.input.shape or ())
    return {
        "remark": f"The values of {feed.input.words}{where}{row}, in row-major order.",
        "values": f"const values = new {_ARRAYS.get(kind, 'Array')}(/* … */);",
        "shape": f"[{shape}]",
    }


def _sizes(feed: Feed) -> str:
    """The shape of a tensor as code; its samples are as many as there are."""
    return json.dumps(feed.shape).replace("-1", "samples.length")


def _array(value: Value, kind: str) -> dict[str, Any]:
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
    values = f"[{', '.join(words)}]"
    if kind == "string":
        text = f"const values = {values};"
    else:
        text = textwrap.fill(
            f"const values = {_ARRAYS[kind]}.from({values});",
            _WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return {"values": text, "shape": json.dumps(shape)}


def _resolved(feed: Feed) -> Picture | None:
    if feed.image is None:
        return None
    try:
        return inputs.resolve(feed.image, feed.input.shape, feed.own)
    except inputs.UnknownStepError:
        return None


def _steps(feed: Feed, how: Picture) -> dict[str, Any]:
    """What `prepare` of the module takes: the steps that are not its defaults."""
    steps = {
        "channels": how.channels,
        "layout": how.layout,
        "invert": how.invert,
        "trim": feed.trim,
        "width": how.width,
        "height": how.height,
        "mode": how.mode,
        "interpolation": how.interpolation,
        "shortest_edge": how.shortest_edge,
        "pad": how.pad,
        "scale": how.scale.name,
        "mean": list(how.mean),
        "std": list(how.std),
    }
    stated = {key: value for key, value in steps.items() if value not in (None, False, [], 0)}
    if feed.trim:
        stated["dark"] = (feed.own == "dark-on-light") != how.invert
    return stated
