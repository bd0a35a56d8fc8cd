"""The inputs that a card declares: ranges, distributions, vocabularies, examples, preprocessing.

The key ``inputs`` of a card's front matter maps the name of each input of the model to a
declaration; docs/cards.md describes the keys. `parse` makes frozen objects of it and reports what
is wrong, `compare` holds them against the inputs that the model really has. Whoever generates,
checks or preprocesses inputs uses these objects and parses nothing.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from hub.protocol.facts import Port

Channels = Literal["RGB", "BGR", "grey"]
Layout = Literal["NCHW", "NHWC", "CHW", "HWC"]
Polarity = Literal["light-on-dark", "dark-on-light"]
Mode = Literal["stretch", "letterbox", "crop"]
Interpolation = Literal["nearest", "box", "bilinear", "bicubic", "lanczos"]
Kind = Literal["uniform", "normal", "integers", "token-ids", "one-of"]

CHANNELS: tuple[Channels, ...] = ("RGB", "BGR", "grey")
LAYOUTS: tuple[Layout, ...] = ("NCHW", "NHWC", "CHW", "HWC")
POLARITIES: tuple[Polarity, ...] = ("light-on-dark", "dark-on-light")
MODES: tuple[Mode, ...] = ("stretch", "letterbox", "crop")
INTERPOLATIONS: tuple[Interpolation, ...] = ("nearest", "box", "bilinear", "bicubic", "lanczos")
KINDS: tuple[Kind, ...] = ("uniform", "normal", "integers", "token-ids", "one-of")
# Name -> factor and offset on values of 0 to 255.
SCALES = {"0-255": (1.0, 0.0), "0-1": (1 / 255, 0.0), "-1-1": (2 / 255, -1.0)}
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif")
ARRAYS = (".npy", ".npz", ".pb")
MOST_INPUTS, MOST_VALUES, MOST_EDGE, MOST_NAME = 1_000, 1_000, 1 << 14, 500
MOST_VOCABULARY = 1 << 31
_Word = TypeVar("_Word", bound=str)
_FRACTION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*([0-9]+(?:\.[0-9]+)?)")
_INTEGERS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (2, 4, 8, 16, 32, 64)},
}


class Notes(Protocol):
    """Takes what is wrong with a declaration; `registry.cards.findings.Notes` is one.

    ``pointer`` is a JSON pointer (RFC 6901) into the front matter.
    """

    def error(self, pointer: str, message: str, cure: str) -> None: ...

    def warn(self, pointer: str, message: str, cure: str) -> None: ...

    def guess(self, word: str, words: Collection[str], likeness: float = 0.75) -> str:
        """The word that was probably meant; empty where none is near."""
        ...


@dataclass(slots=True)
class _Faults:
    """Passes notes on and counts the errors, so that a wrong declaration is left out."""

    to: Notes | None
    errors: int = 0

    def error(self, pointer: str, message: str, cure: str) -> None:
        self.errors += 1
        if self.to is not None:
            self.to.error(pointer, message, cure)

    def warn(self, pointer: str, message: str, cure: str) -> None:
        if self.to is not None:
            self.to.warn(pointer, message, cure)

    def guess(self, word: str, words: Collection[str], likeness: float = 0.75) -> str:
        return "" if self.to is None else self.to.guess(word, words, likeness)


@dataclass(frozen=True, slots=True)
class Scale:
    """What becomes of an 8-bit value: ``value * factor + offset``; ``name`` as the card has it."""

    name: str
    factor: float
    offset: float = 0.0

    def document(self) -> str | float:
        """The scale as a card writes it."""
        return self.name if self.name in SCALES else self.factor


@dataclass(frozen=True, slots=True)
class Resize:
    """How a picture gets the size that the model takes, in pixels.

    ``stretch`` ignores the ratio of its edges; ``letterbox`` keeps it and fills the rest with the
    grey level ``pad`` (0 to 255); ``crop`` scales the shorter edge to ``shortest_edge`` (None: as
    little as covers the size) and takes the middle. A width or height of None is the model's own.
    """

    width: int | None = None
    height: int | None = None
    mode: Mode | None = None
    interpolation: Interpolation | None = None
    shortest_edge: int | None = None
    pad: int = 0

    def document(self) -> dict[str, Any]:
        """The sizes as a card writes them."""
        rows: dict[str, Any] = {
            "width": self.width,
            "height": self.height,
            "mode": self.mode,
            "interpolation": self.interpolation,
            "shortest_edge": self.shortest_edge,
            "pad": self.pad or None,
        }
        return {name: value for name, value in rows.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Image:
    """How a picture becomes the tensor; None where the card does not say.

    In this order: 8-bit pixels, ``channels``, ``polarity``, ``resize``, then each value of channel
    c becomes ``(value * scale.factor + scale.offset - mean[c]) / std[c]``, then ``layout``.
    ``mean`` and ``std`` have one number for each channel in the order of ``channels``, or none.
    """

    channels: Channels | None = None
    layout: Layout | None = None
    scale: Scale | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    polarity: Polarity | None = None
    resize: Resize | None = None

    @property
    def depth(self) -> int | None:
        """How many channels it has: 1 or 3."""
        return None if self.channels is None else depth(self.channels)

    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of each channel in the tensor; empty where it is not known."""
        count = self.depth
        if self.scale is None or count is None:
            return ()
        ends = (self.scale.offset, 255 * self.scale.factor + self.scale.offset)
        rows = []
        for at in range(count):
            mean = self.mean[at] if self.mean else 0.0
            std = self.std[at] if self.std else 1.0
            low, high = sorted((end - mean) / std for end in ends)
            rows.append((low, high))
        return tuple(rows)

    def document(self) -> dict[str, Any]:
        """The image as a card writes it, without what it does not say."""
        resize = self.resize
        rows: dict[str, Any] = {
            "channels": self.channels,
            "layout": self.layout,
            "scale": self.scale.document() if self.scale else None,
            "mean": list(self.mean) or None,
            "std": list(self.std) or None,
            "polarity": self.polarity,
            "resize": resize.document() if resize else None,
        }
        return {name: value for name, value in rows.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Picture:
    """What is done to one picture: an `Image` of which every step is known.

    ``invert`` is true where the picture has another polarity than the model expects. ``width`` or
    ``height`` of None is the picture's own.
    """

    channels: Channels
    layout: Layout
    scale: Scale
    mode: Mode
    interpolation: Interpolation
    width: int | None = None
    height: int | None = None
    shortest_edge: int | None = None
    pad: int = 0
    invert: bool = False
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the tensor for a picture of these."""
        return self.width or width, self.height or height

    def scaled(self, width: int, height: int) -> tuple[int, int]:
        """Width and height that a picture of these is resampled to, before padding or cropping.

        ``letterbox`` and ``crop`` keep the ratio: the other edge is rounded to the nearest pixel,
        or with ``shortest_edge`` down, as image processors of PyTorch do.
        """
        to_width, to_height = self.size(width, height)
        if self.mode == "stretch":
            return to_width, to_height
        if self.mode == "crop" and self.shortest_edge is not None:
            edge = self.shortest_edge
            if width <= height:
                return edge, edge * height // width
            return edge * width // height, edge
        # Whether the width decides: of letterbox the tighter edge, of crop the looser one.
        by_width = (to_width * height <= to_height * width) == (self.mode == "letterbox")
        if by_width:
            return to_width, max(1, (2 * height * to_width + width) // (2 * width))
        return max(1, (2 * width * to_height + height) // (2 * height)), to_height


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the values lie; ``mean`` and ``std`` of normal, ``values`` of one-of."""

    kind: Kind
    mean: float = 0.0
    std: float = 1.0
    values: tuple[float, ...] | tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The distribution as a card writes it."""
        if self.kind == "normal":
            return {"type": self.kind, "mean": self.mean, "std": self.std}
        return {"type": self.kind} | ({"values": list(self.values)} if self.values else {})


@dataclass(frozen=True, slots=True)
class DeclaredInput:
    """One input as its card declares it; None where it says nothing.

    ``vocabulary`` is a number of ids: 0 to ``vocabulary - 1``. ``example`` is the path of a file
    of the version: .npy, .npz (the array of the input's name, or the only one), .pb (TensorProto),
    or a picture that ``image`` makes a tensor of.
    """

    name: str
    range: tuple[float, float] | None = None
    distribution: Distribution | None = None
    vocabulary: int | None = None
    example: str | None = None
    image: Image | None = None

    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value: one pair for all, or one for each channel of a picture.

        From ``range``, else from ``image``, ``vocabulary`` and the values of one-of; empty where
        nothing bounds them.
        """
        if self.range is not None:
            return (self.range,)
        if self.image is not None and (rows := self.image.bounds()):
            return rows
        if self.vocabulary is not None:
            return ((0.0, float(self.vocabulary - 1)),)
        values = self.distribution.values if self.distribution else ()
        numbers = [value for value in values if isinstance(value, float)]
        return ((min(numbers), max(numbers)),) if numbers else ()

    def document(self) -> dict[str, Any]:
        """The declaration as a card writes it, without what it does not say."""
        how = self.distribution
        rows: dict[str, Any] = {
            "range": list(self.range) if self.range else None,
            "distribution": how.document() if how else None,
            "vocabulary": self.vocabulary,
            "example": self.example,
            "image": self.image.document() if self.image else None,
        }
        return {name: value for name, value in rows.items() if value is not None}


def depth(channels: Channels) -> int:
    """The number of channels: 1 for grey, else 3."""
    return 1 if channels == "grey" else 3


def layout_of(shape: tuple[int | None, ...] | None, channels: Channels | None) -> Layout | None:
    """The layout that a shape determines; None where two are possible, or none is.

    An axis is that of the channels only where its size is fixed: 1 for grey, 3 for RGB and BGR,
    either where ``channels`` is None.
    """
    if shape is None or len(shape) not in (3, 4):
        return None
    counts = {1, 3} if channels is None else {depth(channels)}
    last = len(shape) - 1
    first = last - 2
    if (shape[first] in counts) == (shape[last] in counts):
        return None
    if shape[first] in counts:
        return "NCHW" if len(shape) == 4 else "CHW"
    return "NHWC" if len(shape) == 4 else "HWC"


class UnknownStepError(ValueError):
    """Steps of a picture's preprocessing that nobody has declared or chosen; ``names`` are they."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"not known: {', '.join(names)}")
        self.names = names


def resolve(
    image: Image, shape: tuple[int | None, ...] | None, own: Polarity | None = None
) -> Picture:
    """What is done to a picture for an input of this shape; ``own`` is the picture's polarity.

    Width and height that are not declared are those of the shape, where it fixes them. Raises
    UnknownStepError where a step is not known: nothing is assumed.
    """
    layout = image.layout or layout_of(shape, image.channels)
    resize = image.resize or Resize()
    steps = {
        "channels": image.channels,
        "layout": layout,
        "scale": image.scale,
        "mode": resize.mode,
        "interpolation": resize.interpolation,
        "polarity": own if image.polarity else "none",
    }
    if unknown := tuple(name for name, value in steps.items() if value is None):
        raise UnknownStepError(unknown)
    sizes = dict(zip(layout or "", shape or (), strict=False))
    return Picture(
        channels=cast("Channels", image.channels),
        layout=cast("Layout", layout),
        scale=cast("Scale", image.scale),
        mode=cast("Mode", resize.mode),
        interpolation=cast("Interpolation", resize.interpolation),
        width=resize.width or sizes.get("W"),
        height=resize.height or sizes.get("H"),
        shortest_edge=resize.shortest_edge,
        pad=resize.pad,
        invert=image.polarity is not None and own != image.polarity,
        mean=image.mean,
        std=image.std,
    )


def image_of(document: Any, notes: Notes | None = None, pointer: str = "") -> Image | None:
    """One image as a card writes it; None where it has an error, which goes to ``notes``."""
    return _image(document, _Faults(notes), pointer)


def parse(
    declared: Any, notes: Notes | None = None, pointer: str = "/inputs"
) -> tuple[DeclaredInput, ...]:
    """The declarations of a card's ``inputs``, in its order; never raises.

    What is wrong goes to ``notes``; a declaration with an error is left out.
    """
    to = _Faults(notes)
    if declared is None:
        return ()
    if not isinstance(declared, dict):
        to.error(
            pointer,
            "inputs must map the names of the model's inputs to descriptions.",
            "Write `inputs:`, then one indented `name:` for each input; see docs/cards.md.",
        )
        return ()
    if len(declared) > MOST_INPUTS:
        to.error(pointer, f"At most {MOST_INPUTS:,} inputs are declared.", "Declare fewer.")
        return ()
    inputs = []
    for name, value in declared.items():
        place = f"{pointer}/{_escaped(name)}"
        before = to.errors
        one = _input(str(name), value, to, place)
        if to.errors == before:
            inputs.append(one)
    return tuple(inputs)


def compare(
    declared: Iterable[DeclaredInput],
    inputs: Iterable[Port],
    notes: Notes,
    *,
    files: Collection[str] | None = None,
    pointer: str = "/inputs",
) -> None:
    """Report declarations that the model's own inputs, or the version's files, contradict."""
    known = {one.name: one for one in inputs}
    for one in declared:
        place = f"{pointer}/{_escaped(one.name)}"
        if one.example is not None and files is not None and one.example not in files:
            near = notes.guess(one.example, files)
            cure = f"{one.example} -> {near}." if near else "Add the file, or remove the example."
            # The rest of the card is right without it, as where only the model was sent again.
            notes.warn(f"{place}/example", f"The version has no file {one.example}.", cure)
        if one.name not in known:
            _unknown(one.name, known, notes, place)
            continue
        _types(one, known[one.name], notes, place)
        if one.image is not None:
            _shapes(one.image, known[one.name], notes, f"{place}/image")


def _unknown(name: str, known: Mapping[str, Port], notes: Notes, place: str) -> None:
    near = notes.guess(name, known, 0.6)
    if not near and len(known) == 1:
        near = next(iter(known))
    names = ", ".join(list(known)[:8]) + (" …" if len(known) > 8 else "")
    cure = f"{name} -> {near}." if near else f"Its inputs are {names}." if names else "Remove it."
    notes.error(place, f"The model has no input {name[:80]}.", cure)


def _types(one: DeclaredInput, real: Port, notes: Notes, place: str) -> None:
    """What the type of the model's input rules out."""
    dtype = real.type.tensor_dtype
    what = f"{one.name} is {dtype}" if dtype else f"{one.name} is not a tensor"
    limits = _INTEGERS.get(dtype)
    numeric = limits is not None or dtype.startswith(("float", "bfloat"))
    words = {isinstance(v, str) for v in one.distribution.values} if one.distribution else set()
    if one.vocabulary is not None and limits is None:
        notes.error(
            f"{place}/vocabulary",
            f"{what}; only integer types hold ids.",
            "Remove the vocabulary, or give a range.",
        )
    if one.image is not None and not numeric:
        notes.error(f"{place}/image", f"{what} and cannot take an image.", "Remove image.")
    if one.range is not None and not numeric:
        notes.error(f"{place}/range", f"{what} and has no range.", "Remove the range.")
    if words and (True in words) != (dtype == "string"):
        expected = "text" if dtype == "string" else "numbers"
        notes.error(f"{place}/distribution/values", f"{what}.", f"Write {expected}.")
    if one.distribution and one.distribution.kind == "normal" and dtype and limits:
        notes.error(
            f"{place}/distribution",
            f"{what}; normal values are not integers.",
            "Write integers, with a range.",
        )
    if limits is not None:
        for low, high in one.bounds():
            if low < limits[0] or high > limits[1]:
                notes.error(
                    f"{place}/range" if one.range else place,
                    f"Values from {low:g} to {high:g} do not fit in {dtype}.",
                    f"{dtype} holds {limits[0]} to {limits[1]}.",
                )


def _shapes(image: Image, real: Port, notes: Notes, place: str) -> None:
    """What the sizes of the model's input rule out for a picture."""
    shape = real.type.sizes
    if shape is None:
        return
    sizes = "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
    if len(shape) not in (3, 4):
        notes.error(
            place, f"{real.name} has the shape {sizes}, which is not an image's.", "Remove image."
        )
        return
    layout = image.layout or layout_of(shape, image.channels)
    if layout is None:
        notes.warn(
            place,
            f"The shape {sizes} does not determine the layout.",
            "Add layout: NCHW or NHWC (CHW or HWC without a batch axis).",
        )
        return
    if len(layout) != len(shape):
        fitting = "CHW or HWC" if len(shape) == 3 else "NCHW or NHWC"
        notes.error(
            f"{place}/layout",
            f"{layout} names {len(layout)} axes; {real.name} has the shape {sizes}.",
            f"Write {fitting}.",
        )
        return
    size = dict(zip(layout, shape, strict=True))
    if image.depth is not None and size["C"] not in (None, image.depth):
        name = "layout" if image.layout else "channels"
        notes.error(
            f"{place}/{name}",
            f"{image.channels} has {image.depth} channels; as {layout}, {sizes} has {size['C']}.",
            "Correct channels or layout.",
        )
    if image.resize is None:
        return
    for name, axis, edge in (
        ("width", "W", image.resize.width),
        ("height", "H", image.resize.height),
    ):
        if edge is not None and size[axis] not in (None, edge):
            notes.error(
                f"{place}/resize/{name}",
                f"The model takes a {name} of {size[axis]}, not {edge}.",
                f"{name}: {size[axis]}",
            )


# --- one declaration ------------------------------------------------------------------------------


def _input(name: str, value: Any, to: _Faults, place: str) -> DeclaredInput:
    keys = ("range", "distribution", "vocabulary", "example", "image")
    if len(name) > MOST_NAME:
        to.error(place, f"A name has at most {MOST_NAME} characters.", "Correct the name.")
    if not _is_mapping(value, keys, to, place, "a declaration such as {range: [0, 1]}"):
        return DeclaredInput(name)
    before = to.errors
    one = DeclaredInput(
        name,
        range=_range(value.get("range"), to, f"{place}/range"),
        distribution=_distribution(value.get("distribution"), to, f"{place}/distribution"),
        vocabulary=_vocabulary(value.get("vocabulary"), to, f"{place}/vocabulary"),
        example=_example(value.get("example"), to, f"{place}/example"),
        image=_image(value.get("image"), to, f"{place}/image"),
    )
    if to.errors == before:
        _together(one, to, place)
    return one


def _together(one: DeclaredInput, to: _Faults, place: str) -> None:
    """What the parts of one declaration say with one another."""
    kind = one.distribution.kind if one.distribution else None
    bounded = one.range is not None or one.vocabulary is not None
    if kind == "uniform" and not one.bounds():
        to.error(f"{place}/distribution", "uniform needs a range.", "Add range: [low, high].")
    if kind == "integers" and not bounded:
        to.error(f"{place}/distribution", "integers needs a range.", "Add range: [low, high].")
    if kind == "token-ids" and one.vocabulary is None:
        to.error(
            f"{place}/distribution",
            "token-ids needs the size of the vocabulary.",
            "Add vocabulary: with the number of ids.",
        )
    if one.image is not None and one.vocabulary is not None:
        to.error(
            f"{place}/vocabulary",
            "An input is either an image or token ids.",
            "Remove vocabulary or image.",
        )
    if one.range is not None and one.vocabulary is not None:
        low, high = one.range
        if low < 0 or high > one.vocabulary - 1:
            to.error(
                f"{place}/range",
                f"The ids of the vocabulary are 0 to {one.vocabulary - 1}.",
                "Keep the range within them, or correct vocabulary.",
            )
    rows = one.image.bounds() if one.image else ()
    if one.range is not None and rows:
        low, high = min(row[0] for row in rows), max(row[1] for row in rows)
        slack = 0.01 * (high - low)
        if one.range[0] > low + slack or one.range[1] < high - slack:
            to.error(
                f"{place}/range",
                f"image makes values from {low:.4g} to {high:.4g}, beyond this range.",
                "Remove the range, which follows from image, or correct one of the two.",
            )
    if one.example and one.example.lower().endswith(PICTURES) and one.image is None:
        to.error(
            f"{place}/example",
            "An example image needs preprocessing.",
            "Add image: with channels and scale, or give the tensor as .npy.",
        )


def _range(value: Any, to: _Faults, place: str) -> tuple[float, float] | None:
    if value is None:
        return None
    ends = _numbers(value, to, place, "[low, high]", (2,))
    if len(ends) != 2:
        return None
    if ends[0] > ends[1]:
        to.error(place, "The low end is above the high end.", f"[{ends[1]:g}, {ends[0]:g}]")
    return (ends[0], ends[1])


def _distribution(value: Any, to: _Faults, place: str) -> Distribution | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = {"type": value}
        at = place
    else:
        at = f"{place}/type"
    keys = ("type", "mean", "std", "values")
    if not _is_mapping(value, keys, to, place, "a word, or a mapping with type"):
        return None
    kind = _word(value.get("type"), KINDS, to, at, "distribution")
    if kind is None:
        if value.get("type") is None:
            to.error(place, "It has no type.", f"Write one of {', '.join(KINDS)}.")
        return None
    for name, of in (("mean", "normal"), ("std", "normal"), ("values", "one-of")):
        if value.get(name) is not None and kind != of:
            to.error(f"{place}/{name}", f"{kind} has no {name}.", f"Remove {name}.")
    if kind == "normal":
        mean = _number(value.get("mean"), to, f"{place}/mean", missing=place)
        std = _number(value.get("std"), to, f"{place}/std", missing=place)
        if std is not None and std <= 0:
            to.error(f"{place}/std", "A standard deviation is above 0.", "Correct std.")
        return Distribution("normal", mean or 0.0, std or 1.0)
    return Distribution(kind, values=_values(value, to, place) if kind == "one-of" else ())


def _values(
    value: Mapping[str, Any], to: _Faults, place: str
) -> tuple[float, ...] | tuple[str, ...]:
    rows = value.get("values")
    if not isinstance(rows, list) or not rows:
        to.error(place, "one-of has no values.", "Add values: with a list of numbers or texts.")
        return ()
    if len(rows) > MOST_VALUES:
        to.error(f"{place}/values", f"At most {MOST_VALUES:,} values are listed.", "Give a range.")
        return ()
    if all(isinstance(row, str) for row in rows):
        return tuple(rows)
    return _numbers(rows, to, f"{place}/values", "all numbers or all texts", None)


def _vocabulary(value: Any, to: _Faults, place: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, dict):
        _is_mapping(value, ("size",), to, place, "a number of ids")
        value, place = value.get("size"), f"{place}/size"
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST_VOCABULARY:
        to.error(
            place,
            "A vocabulary is a whole number of ids, 1 or more.",
            "Write the size, such as vocabulary: 30522.",
        )
        return None
    return value


def _example(value: Any, to: _Faults, place: str) -> str | None:
    if value is None:
        return None
    steps = value.split("/") if isinstance(value, str) else []
    if not steps or any(step in ("", ".", "..") for step in steps) or len(value) > 512:
        to.error(
            place,
            "An example is the path of a file of this version.",
            "Write it as the list of files shows it, such as test_data_set_0/input_0.pb.",
        )
        return None
    if not value.lower().endswith(ARRAYS + PICTURES):
        to.error(
            place,
            f"{value[-60:]} is not a valid example file.",
            f"Give a file that ends in {', '.join(ARRAYS + PICTURES)}.",
        )
        return None
    return str(value)


def _image(value: Any, to: _Faults, place: str) -> Image | None:
    if value is None:
        return None
    before = to.errors
    keys = ("channels", "layout", "scale", "mean", "std", "polarity", "resize")
    if not _is_mapping(value, keys, to, place, "a mapping such as {channels: RGB, scale: 0-1}"):
        return None
    channels = _word(value.get("channels"), CHANNELS, to, f"{place}/channels", "order of channels")
    image = Image(
        channels=channels,
        layout=_word(value.get("layout"), LAYOUTS, to, f"{place}/layout", "layout"),
        scale=_scale(value.get("scale"), to, f"{place}/scale"),
        mean=_each(value.get("mean"), channels, to, f"{place}/mean"),
        std=_each(value.get("std"), channels, to, f"{place}/std"),
        polarity=_word(value.get("polarity"), POLARITIES, to, f"{place}/polarity", "polarity"),
        resize=_resize(value.get("resize"), to, f"{place}/resize"),
    )
    if any(one <= 0 for one in image.std):
        to.error(f"{place}/std", "Each standard deviation is above 0.", "Correct std.")
    if to.errors > before:
        return None
    _values_of(image, to, place)
    return image


def _values_of(image: Image, to: _Faults, place: str) -> None:
    """What channels, scale, mean and deviation make of the values together."""
    for name, value in (("channels", image.channels), ("scale", image.scale)):
        if value is None:
            to.warn(
                place,
                f"The image has no {name}; users have to enter it when they try the model.",
                f"Add {name}.",
            )
    if image.scale is None:
        if image.mean or image.std:
            to.error(place, "mean and std apply to scaled values.", "Add scale: 0-1 or 0-255.")
        return
    if not all(math.isfinite(end) for row in image.bounds() for end in row):
        to.error(place, "The values of the tensor are not finite.", "Correct scale, mean and std.")
    most = 255 * image.scale.factor + image.scale.offset
    if any(abs(one) > max(1.0, abs(most)) for one in image.mean):
        to.warn(
            f"{place}/mean",
            f"The mean is outside the scaled values, which end at {most:g}.",
            "mean and std apply after scale; scale: 0-255 leaves pixels as they are.",
        )


def _scale(value: Any, to: _Faults, place: str) -> Scale | None:
    if value is None:
        return None
    cure = f"Write {', '.join(SCALES)}, or a factor such as 1/255."
    if isinstance(value, str):
        name = value.strip().replace("\N{EN DASH}", "-").replace("\N{MINUS SIGN}", "-")
        name = name.replace(" ", "")
        if name in SCALES:
            return Scale(name, *SCALES[name])
        if (parts := _FRACTION.fullmatch(name)) and float(parts[2]):
            return _factor(name, float(parts[1]) / float(parts[2]), to, place)
        to.error(place, f"{value[:60]!r} is not a scale.", cure)
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        to.error(place, "A scale is a name or a factor.", cure)
        return None
    number = _number(value, to, place)
    return None if number is None else _factor(f"{number:g}", number, to, place)


def _factor(name: str, value: float, to: _Faults, place: str) -> Scale | None:
    if value <= 0:
        to.error(place, "The factor of a scale is above 0.", "Use polarity to invert an image.")
        return None
    return Scale(name, value)


def _each(value: Any, channels: Channels | None, to: _Faults, place: str) -> tuple[float, ...]:
    """One number for each channel; a number alone stands for all."""
    if value is None:
        return ()
    count = depth(channels) if channels else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = [value] * (count or 1)
    wanted = f"{count} numbers, one for each channel" if count else "one number for each channel"
    return _numbers(value, to, place, wanted, (count,) if count else (1, 3))


def _resize(value: Any, to: _Faults, place: str) -> Resize | None:
    if value is None:
        return None
    keys = ("width", "height", "mode", "interpolation", "shortest_edge", "pad")
    if not _is_mapping(value, keys, to, place, "a mapping such as {width: 224, height: 224}"):
        return None
    width = _whole(value.get("width"), to, f"{place}/width", 1, MOST_EDGE)
    height = _whole(value.get("height"), to, f"{place}/height", 1, MOST_EDGE)
    mode = _word(value.get("mode"), MODES, to, f"{place}/mode", "mode")
    edge = _whole(value.get("shortest_edge"), to, f"{place}/shortest_edge", 1, MOST_EDGE)
    pad = _whole(value.get("pad"), to, f"{place}/pad", 0, 255)
    if edge is not None and mode != "crop":
        to.error(f"{place}/shortest_edge", "Only mode: crop has a shortest_edge.", "Remove it.")
    if pad is not None and mode != "letterbox":
        to.error(f"{place}/pad", "Only mode: letterbox has a pad.", "Remove it.")
    if edge is not None and edge < max(width or 0, height or 0):
        to.error(
            f"{place}/shortest_edge",
            f"{edge} is less than the crop of {width or '?'} x {height or '?'}.",
            "Give the edge before the crop, such as 256 for a crop of 224.",
        )
    return Resize(
        width=width,
        height=height,
        mode=mode,
        interpolation=_word(
            value.get("interpolation"),
            INTERPOLATIONS,
            to,
            f"{place}/interpolation",
            "interpolation",
        ),
        shortest_edge=edge,
        pad=pad or 0,
    )


# --- single values --------------------------------------------------------------------------------


def _is_mapping(value: Any, keys: Collection[str], to: _Faults, place: str, wanted: str) -> bool:
    """Whether a value is a mapping of these keys alone; reports what it is not."""
    if not isinstance(value, dict):
        to.error(place, f"This must be {wanted}.", "See docs/cards.md.")
        return False
    for name in value:
        if name not in keys:
            near = to.guess(str(name), keys, 0.6)
            cure = f"{name} -> {near}." if near else f"Valid keys: {', '.join(keys)}."
            to.error(f"{place}/{_escaped(name)}", f"{str(name)[:60]} is not a valid key.", cure)
    return True


def _word(value: Any, words: tuple[_Word, ...], to: _Faults, place: str, what: str) -> _Word | None:
    if value is None:
        return None
    said = value.strip().lower() if isinstance(value, str) else ""
    said = {"gray": "grey"}.get(said, said)
    for word in words:
        if word.lower() == said:
            return word
    near = to.guess(said, words, 0.6) if said else ""
    cure = f"{value} -> {near}." if near else f"Write one of {', '.join(words)}."
    to.error(place, f"{str(value)[:60]!r} is not a valid {what}.", cure)
    return None


def _number(value: Any, to: _Faults, place: str, *, missing: str = "") -> float | None:
    """A finite number; with ``missing``, the pointer of what must have it."""
    if value is None:
        if missing:
            name = place.rpartition("/")[2]
            to.error(missing, f"{name} is missing.", f"Add {name}.")
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        to.error(place, f"{str(value)[:60]!r} is not a number.", _digits(value))
        return None
    if abs(value) > sys.float_info.max or not math.isfinite(value):
        to.error(place, "The number is too large.", "Write a finite number.")
        return None
    return float(value)


def _digits(value: Any) -> str:
    """How YAML takes what was written as a number: 1e-3 without a dot is text."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return f"Write {number!r}, without quotes." if math.isfinite(number) else "Write digits only."


def _numbers(
    value: Any, to: _Faults, place: str, wanted: str, counts: tuple[int, ...] | None
) -> tuple[float, ...]:
    if not isinstance(value, list) or (counts and len(value) not in counts):
        to.error(place, f"This must be {wanted}.", "Write them in brackets, with commas.")
        return ()
    numbers = [_number(one, to, f"{place}/{at}") for at, one in enumerate(value)]
    if any(one is None for one in value):
        to.error(place, "An entry is empty.", "Fill or remove it.")
    kept = tuple(one for one in numbers if one is not None)
    return kept if len(kept) == len(value) else ()


def _whole(value: Any, to: _Faults, place: str, least: int, most: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        to.error(
            place, f"This must be a whole number from {least} to {most:,}.", "Correct the number."
        )
        return None
    return value


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
