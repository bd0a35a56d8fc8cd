"""The preprocessing of an image as a card declares it: channels, scale, deviation, size."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from hub.protocol.inputs.declarations import (
    CHANNELS,
    INTERPOLATIONS,
    LAYOUTS,
    MODES,
    POLARITIES,
    SCALES,
    Channels,
    Image,
    Resize,
    Scale,
    depth,
)
from hub.protocol.inputs.fields import Field
from hub.protocol.stored import is_number

MOST_EDGE = 1 << 14
_FRACTION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*([0-9]+(?:\.[0-9]+)?)")


def read_image(field: Field) -> Image | None:
    if not field:
        return None
    before = field.errors.count
    keys = ("channels", "layout", "scale", "mean", "std", "polarity", "resize")
    if not field.is_mapping("a mapping such as {channels: RGB, scale: 0-1}", *keys):
        return None
    channels = field["channels"].word(CHANNELS, "order of channels")
    image = Image(
        channels=channels,
        layout=field["layout"].word(LAYOUTS, "layout"),
        scale=_scale(field["scale"]),
        mean=_per_channel(field["mean"], channels),
        std=_per_channel(field["std"], channels),
        polarity=field["polarity"].word(POLARITIES, "polarity"),
        resize=_resize(field["resize"]),
    )
    if any(value <= 0 for value in image.std):
        field["std"].error("Each standard deviation is above 0.", "Correct std.")
    if field.errors.count > before:
        return None
    _check_values(image, field)
    return image


def _check_values(image: Image, field: Field) -> None:
    """Report what channels, scale, mean and deviation make of the values together."""
    for name, value in (("channels", image.channels), ("scale", image.scale)):
        if value is None:
            missing = f"The image has no {name}; users have to enter it when they try the model."
            field.warn(missing, f"Add {name}.")
    if image.scale is None:
        if image.mean or image.std:
            field.error("mean and std apply to scaled values.", "Add scale: 0-1 or 0-255.")
        return
    if not all(math.isfinite(end) for ends in image.bounds() for end in ends):
        field.error("The values of the tensor are not finite.", "Correct scale, mean and std.")
    most = 255 * image.scale.factor + image.scale.offset
    if any(abs(value) > max(1.0, abs(most)) for value in image.mean):
        field["mean"].warn(
            f"The mean is outside the scaled values, which end at {most:g}.",
            "mean and std apply after scale; scale: 0-255 leaves pixels as they are.",
        )


def _scale(field: Field) -> Scale | None:
    if not field:
        return None
    name, factor = "", None
    cure = f"Write {', '.join(SCALES)}, or a factor such as 1/255."
    if isinstance(field.value, str):
        name = field.value.strip().replace("\N{EN DASH}", "-").replace("\N{MINUS SIGN}", "-")
        name = name.replace(" ", "")
        if name in SCALES:
            return Scale(name, *SCALES[name])
        parts = _FRACTION.fullmatch(name)
        if not parts or not float(parts[2]):
            field.error(f"{field.value[:60]!r} is not a scale.", cure)
            return None
        factor = float(parts[1]) / float(parts[2])
    elif not is_number(field.value):
        field.error("A scale is a name or a factor.", cure)
    elif (factor := field.number()) is not None:
        name = f"{factor:g}"
    if factor is not None and factor <= 0:
        field.error("The factor of a scale is above 0.", "Use polarity to invert an image.")
        return None
    return None if factor is None else Scale(name, factor)


def _per_channel(field: Field, channels: Channels | None) -> tuple[float, ...]:
    """One number for each channel; a number alone stands for all."""
    if not field:
        return ()
    count = depth(channels) if channels else None
    if is_number(field.value):
        field = replace(field, value=[field.value] * (count or 1))
    expected = f"{count} numbers, one for each channel" if count else "one number for each channel"
    return field.numbers(expected, (count,) if count else (1, 3))


def _resize(field: Field) -> Resize | None:
    keys = ("width", "height", "mode", "interpolation", "shortest_edge", "pad")
    if not field or not field.is_mapping("a mapping such as {width: 224, height: 224}", *keys):
        return None
    width, height = (field[name].whole(1, MOST_EDGE) for name in ("width", "height"))
    mode = field["mode"].word(MODES, "mode")
    edge = field["shortest_edge"].whole(1, MOST_EDGE)
    pad = field["pad"].whole(0, 255)
    if edge is not None and mode != "crop":
        field["shortest_edge"].error("Only mode: crop has a shortest_edge.", "Remove it.")
    if pad is not None and mode != "letterbox":
        field["pad"].error("Only mode: letterbox has a pad.", "Remove it.")
    if edge is not None and edge < max(width or 0, height or 0):
        field["shortest_edge"].error(
            f"{edge} is less than the crop of {width or '?'} x {height or '?'}.",
            "Give the edge before the crop, such as 256 for a crop of 224.",
        )
    interpolation = field["interpolation"].word(INTERPOLATIONS, "interpolation")
    return Resize(width, height, mode, interpolation, edge, pad or 0)
