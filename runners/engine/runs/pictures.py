"""Conversion of pictures to tensors, as the card declares or the user of a try-out chose.

Only a child may decode an upload. The browser does the same steps in
frontend/static/frontend/try-picture.js; tests compare both tensors.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hub.protocol.inputs import Picture

if TYPE_CHECKING:
    from PIL import Image


Array = np.ndarray[Any, Any]

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")
MOST_PIXELS = 50_000_000
# Edge lengths of outputs that are drawn as pictures, in pixels.
LEAST_EDGE, MOST_EDGE = 16, 8192
_WHITE = 255
# The tag of Exif that says how a picture is turned, and its values for a quarter of a turn.
_ORIENTATION, _TURNED = 0x0112, range(5, 9)


class UnfitPictureError(ValueError):
    """The file is no readable picture; the message says why."""


def tensor(source: Path | BinaryIO, how: Picture, dtype: Any) -> Array:
    """The tensor of a picture file, of this NumPy type. Raises UnfitPictureError.

    Its shape is as ``how.layout`` says, with a batch axis of 1 where that has one. Integers are
    rounded half to even and clipped to the type; float16 is rounded from float32.
    """
    pixels = _resized(_opened(source, how), how)
    values = np.asarray(pixels, dtype=np.float64)
    if values.ndim == 2:
        values = values[:, :, np.newaxis]
    if how.channels == "BGR":
        values = values[:, :, ::-1]
    values = values * how.scale.factor + how.scale.offset
    if how.mean:
        values = values - np.asarray(how.mean)
    if how.std:
        values = values / np.asarray(how.std)
    if how.layout.endswith("CHW"):
        values = values.transpose(2, 0, 1)
    if how.layout.startswith("N"):
        values = values[np.newaxis]
    return np.ascontiguousarray(_typed(values, np.dtype(dtype)))


def size(source: BinaryIO) -> tuple[int, int]:
    """The width and height of a readable picture, upright."""
    from PIL import Image  # noqa: PLC0415 - as above

    image = Image.open(source, formats=FORMATS)
    is_turned = image.getexif().get(_ORIENTATION, 1) in _TURNED
    return (image.height, image.width) if is_turned else (image.width, image.height)


def draw(array: Array, target: Path) -> dict[str, Any] | None:
    """Draw an output as a `.png` if it has the shape of a picture; else None.

    Returns the file's name, its ``width`` and ``height``, and ``how`` values became shades:
    ``bytes`` (8-bit values as they are), ``classes`` (whole numbers, a colour each) or ``linear``
    from ``low`` (black) to ``high`` (white), the finite extremes of the output.
    """
    try:
        from PIL import Image  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        return None
    plane = plane_of(array.shape)
    if plane is None or array.dtype.kind not in "fiub":
        return None
    values = array.reshape(plane[0])
    if plane[1] == "CHW":
        values = values.transpose(1, 2, 0)
    height, width = values.shape[:2]
    drawing: dict[str, Any] = {"file": target.name, "width": width, "height": height}
    if values.dtype == np.uint8:
        shades, drawing["how"] = values, "bytes"
    elif values.dtype.kind in "iub" and values.shape[2] == 1:
        table = np.array([class_colour(at) for at in range(256)], np.uint8)
        shades, drawing["how"] = table[values[:, :, 0].astype(np.int64) % 256], "classes"
    else:
        numbers = values.astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        if not finite.size:
            return None
        low, high = float(finite.min()), float(finite.max())
        share = (np.nan_to_num(numbers, nan=low, posinf=high, neginf=low) - low) / (
            (high - low) or 1.0
        )
        shades = np.rint(share * 255).astype(np.uint8)
        drawing |= {"how": "linear", "low": low, "high": high}
    shades = shades[:, :, 0] if shades.shape[2] == 1 else shades
    with target.open("xb") as file:
        Image.fromarray(np.ascontiguousarray(shades)).save(file, "PNG")
    return drawing


def plane_of(shape: tuple[int, ...]) -> tuple[tuple[int, int, int], str] | None:
    """Sizes and order (CHW or HWC) of the only picture that a shape can be; None if it is none.

    A picture has 1 or 3 channels and edges of 16 to 8,192; axes of 1 before it are ignored.
    """
    sizes = list(shape)
    while len(sizes) > 3 and sizes[0] == 1:
        sizes.pop(0)
    if len(sizes) == 2:
        sizes.insert(0, 1)
    if len(sizes) != 3:
        return None
    for order in ("CHW", "HWC"):
        channels, *edges = sizes if order == "CHW" else (sizes[2], *sizes[:2])
        if channels in (1, 3) and all(LEAST_EDGE <= edge <= MOST_EDGE for edge in edges):
            return (sizes[0], sizes[1], sizes[2]), order
    return None


def class_colour(number: int) -> tuple[int, int, int]:
    """The colour of a class: 0 is black, neighbours differ by a golden angle of hue."""
    if number % 256 == 0:
        return (0, 0, 0)
    hue = (number * 137.508) % 360 / 60
    middle = 200 * (1 - abs(hue % 2 - 1)) + 40
    order = [(240, middle, 40), (middle, 240, 40), (40, 240, middle)]
    order += [(40, middle, 240), (middle, 40, 240), (240, 40, middle)]
    red, green, blue = order[int(hue)]
    return (int(red), int(green), int(blue))


def _typed(values: Array, dtype: Any) -> Array:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)
    with np.errstate(over="ignore"):
        return (
            values.astype(np.float32).astype(dtype) if dtype.itemsize < 4 else values.astype(dtype)
        )


def _opened(source: Path | BinaryIO, how: Picture) -> Image.Image:
    """A picture upright, in 8-bit RGB or grey, with transparent areas on white."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        raise UnfitPictureError(
            "This worker cannot read images because Pillow is not installed. Use a .npy file."
        ) from None
    try:
        with (
            warnings.catch_warnings(),
            source.open("rb") if isinstance(source, Path) else source as file,
        ):
            warnings.simplefilter("ignore")
            image = Image.open(file, formats=FORMATS)
            _check(image)
            upright = ImageOps.exif_transpose(image)
            if upright.has_transparency_data:
                rgba = np.asarray(upright.convert("RGBA"), dtype=np.int64)
                alpha = rgba[:, :, 3:]
                flat = (rgba[:, :, :3] * alpha + _WHITE * (255 - alpha) + 127) // 255
                colours = Image.fromarray(flat.astype(np.uint8), "RGB")
            else:
                colours = upright.convert("RGB")
    except UnidentifiedImageError:
        raise UnfitPictureError(f"The file is not one of {', '.join(FORMATS)}.") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnfitPictureError(f"The image cannot be read: {error}.") from None
    converted = colours.convert("L") if how.channels == "grey" else colours
    return ImageOps.invert(converted) if how.invert else converted


def _check(image: Image.Image) -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise UnfitPictureError(
            f"An image may have at most {MOST_PIXELS:,} pixels; this one has {width * height:,}."
        )
    if image.mode.startswith(("I", "F")):
        raise UnfitPictureError("Only images with 8 bits per channel are supported.")


def _resized(picture: Image.Image, how: Picture) -> Image.Image:
    from PIL import Image  # noqa: PLC0415 - as above

    width, height = how.size(*picture.size)
    scaled = how.scaled(*picture.size)
    resized = picture.resize(scaled, Image.Resampling[how.interpolation.upper()])
    left, top = (width - scaled[0]) // 2, (height - scaled[1]) // 2
    if how.mode == "crop":
        left, top = (scaled[0] - width) // 2, (scaled[1] - height) // 2
        return resized.crop((left, top, left + width, top + height))
    if scaled == (width, height):
        return resized
    ground = how.pad if resized.mode == "L" else (how.pad,) * 3
    whole = Image.new(resized.mode, (width, height), ground)
    whole.paste(resized, (left, top))
    return whole
