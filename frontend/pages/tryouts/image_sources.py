"""What the files of a version declare of its pictures' preprocessing, and which file says it.

What the card declares of `inputs` goes first, then `preprocessor_config.json` as the image
processors of Hugging Face write it, then the model file's own `Image.*` properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from frontend.pages.tryouts.input_form import Input
from hub.protocol import inputs, stored
from hub.protocol.facts import Facts
from hub.protocol.inputs import DeclaredInput, Image, Resize, Scale
from registry.catalogue import searchable

CARD, PROCESSOR, FILE = "the card", "preprocessor_config.json", "the model file"
ORIGINS = (CARD, PROCESSOR, FILE)
# `resample` of an image processor, which are the numbers of the Python Imaging Library.
_RESAMPLE: dict[Any, inputs.Interpolation] = {
    0: "nearest",
    1: "lanczos",
    2: "bilinear",
    3: "bicubic",
    4: "box",
}
# Image.NominalPixelRange of the ONNX metadata properties.
_RANGES = {"nominalrange_0_255": "0-255", "normalized_0_1": "0-1", "normalized_1_1": "-1-1"}


def declared(
    rows: Iterable[Input],
    declarations: Mapping[str, DeclaredInput],
    config: dict[str, Any],
    facts: Facts,
) -> tuple[Input, ...]:
    """The inputs with what their files declare of pictures.

    `preprocessor_config.json` and the file's properties name no input: they go for the only one
    that takes pictures.
    """
    rows = tuple(rows)
    alone = sum("picture" in row.kinds for row in rows) == 1
    inputs = []
    for row in rows:
        if "picture" in row.kinds:
            of_card = declarations.get(row.name)
            sources = [(CARD, of_card.image if of_card else None)]
            if alone:
                sources += [(PROCESSOR, of_processor(config)), (FILE, _of_file(facts))]
            image, origins = _merged(sources)
            row = replace(row, image=image, origins=tuple(origins.items()))  # noqa: PLW2901
        inputs.append(row)
    return tuple(inputs)


def _merged(sources: Iterable[tuple[str, Image | None]]) -> tuple[Image, dict[str, str]]:
    """The first source that says a part says it; scale, mean and deviation come from one source."""
    image = Image()
    origins: dict[str, str] = {}
    for origin, part in sources:
        if part is None:
            continue
        new: dict[str, Any] = {}
        for name in ("channels", "layout", "resize"):
            value = getattr(part, name)
            if value is not None and getattr(image, name) is None:
                new[name] = value
                origins |= dict.fromkeys(
                    value.document() if isinstance(value, Resize) else [name], origin
                )
                if isinstance(value, Resize) and value.mode == "letterbox":
                    origins["pad"] = origin
        if part.scale is not None and image.scale is None:
            new |= {"scale": part.scale, "mean": part.mean, "std": part.std}
            origins |= dict.fromkeys(("scale", "mean", "std"), origin)
        # A card that declares an image says by leaving it out that colours stay as they are.
        if origin == CARD:
            new["polarity"] = part.polarity
            origins["polarity"] = origin
        image = replace(image, **new)
    return image, origins


def of_processor(config: dict[str, Any]) -> Image | None:
    """A `preprocessor_config.json` as the image processors of Hugging Face write it."""
    size = config.get("size")
    crop = config.get("crop_size") if config.get("do_center_crop") else None
    mean = _finite(config.get("image_mean")) if config.get("do_normalize", True) else ()
    std = _finite(config.get("image_std")) if config.get("do_normalize", True) else ()
    if not (
        size or crop or mean or "rescale_factor" in config or "do_flip_channel_order" in config
    ):
        return None
    return Image(
        channels=None
        if len(mean) == 1
        else "BGR"
        if config.get("do_flip_channel_order") is True
        else "RGB",
        scale=_rescaled(config),
        mean=mean if len(mean) in (1, 3) else (),
        std=std if len(std) in (1, 3) and all(std) else (),
        resize=_resize(config, size, crop),
    )


def _rescaled(config: dict[str, Any]) -> Scale | None:
    factor = config.get("rescale_factor")
    if config.get("do_rescale") is False:
        return Scale("0-255", 1.0)
    if stored.is_number(factor) and factor > 0:
        near = abs(factor * 255 - 1) < 1e-6
        return Scale("0-1", 1 / 255) if near else Scale(f"{factor:g}", float(factor))
    # Processors that write no factor divide by 255.
    if config.get("do_rescale") is True or "image_mean" in config:
        return Scale("0-1", 1 / 255)
    return None


def _resize(config: dict[str, Any], size: Any, crop: Any) -> Resize | None:
    how = _RESAMPLE.get(config.get("resample"))
    width, height = _edges(crop or size)
    if crop:
        edge = _edge(size.get("shortest_edge") if isinstance(size, dict) else size)
        fits = edge is not None and edge >= max(width or 0, height or 0)
        return (
            Resize(width, height, "crop", how, edge) if fits else Resize(width, height, None, how)
        )
    if isinstance(size, dict) and width and height:
        return Resize(width, height, "stretch", how)
    return Resize(width, height, None, how) if width or how else None


def _edges(size: Any) -> tuple[int | None, int | None]:
    if isinstance(size, dict):
        return _edge(size.get("width")), _edge(size.get("height"))
    return _edge(size), _edge(size)


def _of_file(facts: Facts) -> Image | None:
    formats = searchable.pixel_formats(facts)
    channels: inputs.Channels | None = None
    if formats:
        order: dict[str, inputs.Channels] = {"Bgr": "BGR", "Rgb": "RGB", "Gra": "grey"}
        channels = order.get(formats[0][:3])
    name = _RANGES.get(facts.properties.get("image.nominalpixelrange", "").strip().lower())
    scale = Scale(name, *inputs.SCALES[name]) if name else None
    return Image(channels=channels, scale=scale) if channels or scale else None


def _edge(value: Any) -> int | None:
    edge = stored.whole(value)
    return edge if edge and 0 < edge <= inputs.MOST_EDGE else None


def _finite(values: Any) -> tuple[float, ...]:
    rows = values if isinstance(values, list) else []
    numbers = [float(number) for number in rows[:4] if isinstance(number, int | float)]
    return tuple(numbers) if len(numbers) == len(rows) else ()
