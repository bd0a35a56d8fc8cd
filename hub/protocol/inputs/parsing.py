"""Reading the key ``inputs`` of a card's front matter, which docs/cards.md describes.

It maps the name of each input of the model to a declaration. What is wrong is reported with its
JSON pointer (RFC 6901), and a declaration with an error is left out.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hub.protocol.inputs.declarations import (
    CHANNELS,
    INTERPOLATIONS,
    KINDS,
    LAYOUTS,
    MODES,
    POLARITIES,
    SCALES,
    DeclaredInput,
    Distribution,
    Image,
    Resize,
    Scale,
    depth,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from hub.protocol.inputs.declarations import Channels

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif")
ARRAYS = (".npy", ".npz", ".pb")
MOST_INPUTS, MOST_VALUES, MOST_EDGE, MOST_NAME = 1_000, 1_000, 1 << 14, 500
MOST_VOCABULARY = 1 << 31
_Word = TypeVar("_Word", bound=str)
_FRACTION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*([0-9]+(?:\.[0-9]+)?)")


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
class _Errors:
    """Where notes go, and how many of them were errors."""

    notes: Notes | None
    count: int = 0


@dataclass(frozen=True, slots=True)
class _Field:
    """A value in a card with its JSON pointer: the readers report what is wrong and give None."""

    value: Any
    pointer: str
    errors: _Errors

    def __getitem__(self, name: str) -> _Field:
        return _Field(self.value.get(name), f"{self.pointer}/{escaped(name)}", self.errors)

    def __bool__(self) -> bool:
        return self.value is not None

    def error(self, message: str, cure: str) -> None:
        self.errors.count += 1
        if self.errors.notes is not None:
            self.errors.notes.error(self.pointer, message, cure)

    def warn(self, message: str, cure: str) -> None:
        if self.errors.notes is not None:
            self.errors.notes.warn(self.pointer, message, cure)

    def guess(self, word: str, words: Collection[str]) -> str:
        notes = self.errors.notes
        return notes.guess(word, words, 0.6) if word and notes is not None else ""

    def is_mapping(self, expected: str, *keys: str) -> bool:
        """Whether the value is a mapping; keys other than these are reported."""
        if not isinstance(self.value, dict):
            self.error(f"This must be {expected}.", "See docs/cards.md.")
            return False
        for name in self.value:
            if name not in keys:
                near = self.guess(str(name), keys)
                cure = f"{name} -> {near}." if near else f"Valid keys: {', '.join(keys)}."
                place = replace(self, pointer=f"{self.pointer}/{escaped(name)}")
                place.error(f"{str(name)[:60]} is not a valid key.", cure)
        return True

    def word(self, words: tuple[_Word, ...], noun: str) -> _Word | None:
        if not self:
            return None
        text = self.value.strip().lower() if isinstance(self.value, str) else ""
        text = "grey" if text == "gray" else text
        for word in words:
            if word.lower() == text:
                return word
        near = self.guess(text, words)
        cure = f"{self.value} -> {near}." if near else f"Write one of {', '.join(words)}."
        self.error(f"{str(self.value)[:60]!r} is not a valid {noun}.", cure)
        return None

    def number(self) -> float | None:
        """A finite number."""
        value = self.value
        if not self:
            return None
        if not _is_number(value):
            self.error(f"{str(value)[:60]!r} is not a number.", _unquoted(value))
            return None
        if abs(value) > sys.float_info.max or not math.isfinite(value):
            self.error("The number is too large.", "Write a finite number.")
            return None
        return float(value)

    def numbers(self, expected: str, counts: tuple[int, ...] = ()) -> tuple[float, ...]:
        """A list of finite numbers, as many as one of ``counts``; empty where one is wrong."""
        rows = self.value
        if not isinstance(rows, list) or (counts and len(rows) not in counts):
            self.error(f"This must be {expected}.", "Write them in brackets, with commas.")
            return ()
        fields = [_Field(row, f"{self.pointer}/{at}", self.errors) for at, row in enumerate(rows)]
        numbers = [number for field in fields if (number := field.number()) is not None]
        if not all(fields):
            self.error("An entry is empty.", "Fill or remove it.")
        return tuple(numbers) if len(numbers) == len(rows) else ()

    def whole(self, least: int, most: int) -> int | None:
        if not self:
            return None
        if _is_whole(self.value, least, most):
            return int(self.value)
        self.error(f"This must be a whole number from {least} to {most:,}.", "Correct the number.")
        return None


def parse(
    declared: Any, notes: Notes | None = None, pointer: str = "/inputs"
) -> tuple[DeclaredInput, ...]:
    """The declarations of a card's ``inputs``, in its order; never raises.

    What is wrong goes to ``notes``; a declaration with an error is left out.
    """
    errors = _Errors(notes)
    field = _Field(declared, pointer, errors)
    if not field:
        return ()
    if not isinstance(declared, dict):
        field.error(
            "inputs must map the names of the model's inputs to descriptions.",
            "Write `inputs:`, then one indented `name:` for each input; see docs/cards.md.",
        )
        return ()
    if len(declared) > MOST_INPUTS:
        field.error(f"At most {MOST_INPUTS:,} inputs are declared.", "Declare fewer.")
        return ()
    inputs = []
    for name, value in declared.items():
        before = errors.count
        one = _input(str(name), _Field(value, f"{pointer}/{escaped(name)}", errors))
        if errors.count == before:
            inputs.append(one)
    return tuple(inputs)


def image_of(document: Any, notes: Notes | None = None, pointer: str = "") -> Image | None:
    """One image as a card writes it; None where it has an error, which goes to ``notes``."""
    return _image(_Field(document, pointer, _Errors(notes)))


def escaped(name: object) -> str:
    """A key as a step of a JSON pointer (RFC 6901)."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _input(name: str, field: _Field) -> DeclaredInput:
    if len(name) > MOST_NAME:
        field.error(f"A name has at most {MOST_NAME} characters.", "Correct the name.")
    keys = ("range", "distribution", "vocabulary", "example", "image")
    if not field.is_mapping("a declaration such as {range: [0, 1]}", *keys):
        return DeclaredInput(name)
    before = field.errors.count
    one = DeclaredInput(
        name,
        range=_range(field["range"]),
        distribution=_distribution(field["distribution"]),
        vocabulary=_vocabulary(field["vocabulary"]),
        example=_example(field["example"]),
        image=_image(field["image"]),
    )
    if field.errors.count == before:
        _check_together(one, field)
    return one


def _check_together(one: DeclaredInput, field: _Field) -> None:
    """Report parts of one declaration that contradict one another."""
    kind = one.distribution.kind if one.distribution else None
    how = field["distribution"]
    is_bounded = one.range is not None or one.vocabulary is not None
    if kind == "uniform" and not one.bounds():
        how.error("uniform needs a range.", "Add range: [low, high].")
    if kind == "integers" and not is_bounded:
        how.error("integers needs a range.", "Add range: [low, high].")
    if kind == "token-ids" and one.vocabulary is None:
        cure = "Add vocabulary: with the number of ids."
        how.error("token-ids needs the size of the vocabulary.", cure)
    if one.image is not None and one.vocabulary is not None:
        either = "An input is either an image or token ids."
        field["vocabulary"].error(either, "Remove vocabulary or image.")
    if one.range is not None:
        _check_range(one, one.range, field["range"])
    if one.example and one.example.lower().endswith(PICTURES) and one.image is None:
        field["example"].error(
            "An example image needs preprocessing.",
            "Add image: with channels and scale, or give the tensor as .npy.",
        )


def _check_range(one: DeclaredInput, ends: tuple[float, float], field: _Field) -> None:
    """Report a range that the vocabulary or the image contradicts."""
    if one.vocabulary is not None and (ends[0] < 0 or ends[1] > one.vocabulary - 1):
        field.error(
            f"The ids of the vocabulary are 0 to {one.vocabulary - 1}.",
            "Keep the range within them, or correct vocabulary.",
        )
    if one.image and (channels := one.image.bounds()):
        low, high = min(low for low, _ in channels), max(high for _, high in channels)
        slack = 0.01 * (high - low)
        if ends[0] > low + slack or ends[1] < high - slack:
            field.error(
                f"image makes values from {low:.4g} to {high:.4g}, beyond this range.",
                "Remove the range, which follows from image, or correct one of the two.",
            )


def _range(field: _Field) -> tuple[float, float] | None:
    ends = field.numbers("[low, high]", (2,)) if field else ()
    if len(ends) != 2:
        return None
    low, high = ends
    if low > high:
        field.error("The low end is above the high end.", f"[{high:g}, {low:g}]")
    return low, high


def _distribution(field: _Field) -> Distribution | None:
    """A mapping with the type, or the type alone."""
    if not field:
        return None
    is_word = isinstance(field.value, str)
    parts = replace(field, value={"type": field.value}) if is_word else field
    keys = ("type", "mean", "std", "values")
    if not parts.is_mapping("a word, or a mapping with type", *keys):
        return None
    type_field = field if is_word else parts["type"]
    kind = type_field.word(KINDS, "distribution")
    if kind is None:
        if not type_field:
            field.error("It has no type.", f"Write one of {', '.join(KINDS)}.")
        return None
    for name, owner in (("mean", "normal"), ("std", "normal"), ("values", "one-of")):
        if parts[name] and kind != owner:
            parts[name].error(f"{kind} has no {name}.", f"Remove {name}.")
    if kind == "normal":
        return _normal(parts)
    return Distribution(kind, values=_values(parts) if kind == "one-of" else ())


def _normal(parts: _Field) -> Distribution:
    for name in ("mean", "std"):
        if not parts[name]:
            parts.error(f"{name} is missing.", f"Add {name}.")
    mean, std = parts["mean"].number(), parts["std"].number()
    if std is not None and std <= 0:
        parts["std"].error("A standard deviation is above 0.", "Correct std.")
    return Distribution("normal", mean or 0.0, std or 1.0)


def _values(distribution: _Field) -> tuple[float, ...] | tuple[str, ...]:
    field = distribution["values"]
    rows = field.value
    if not isinstance(rows, list) or not rows:
        cure = "Add values: with a list of numbers or texts."
        distribution.error("one-of has no values.", cure)
        return ()
    if len(rows) > MOST_VALUES:
        field.error(f"At most {MOST_VALUES:,} values are listed.", "Give a range.")
        return ()
    if all(isinstance(row, str) for row in rows):
        return tuple(rows)
    return field.numbers("all numbers or all texts")


def _vocabulary(field: _Field) -> int | None:
    if isinstance(field.value, dict):
        field.is_mapping("a number of ids", "size")
        field = field["size"]
    elif not field:
        return None
    if not _is_whole(field.value, 1, MOST_VOCABULARY):
        field.error(
            "A vocabulary is a whole number of ids, 1 or more.",
            "Write the size, such as vocabulary: 30522.",
        )
        return None
    return int(field.value)


def _example(field: _Field) -> str | None:
    if not field:
        return None
    path = field.value if isinstance(field.value, str) else ""
    if len(path) > 512 or any(step in ("", ".", "..") for step in path.split("/")):
        field.error(
            "An example is the path of a file of this version.",
            "Write it as the list of files shows it, such as test_data_set_0/input_0.pb.",
        )
        return None
    if not path.lower().endswith(ARRAYS + PICTURES):
        cure = f"Give a file that ends in {', '.join(ARRAYS + PICTURES)}."
        field.error(f"{path[-60:]} is not a valid example file.", cure)
        return None
    return path


def _image(field: _Field) -> Image | None:
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
    if any(one <= 0 for one in image.std):
        field["std"].error("Each standard deviation is above 0.", "Correct std.")
    if field.errors.count > before:
        return None
    _check_values(image, field)
    return image


def _check_values(image: Image, field: _Field) -> None:
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
    if any(abs(one) > max(1.0, abs(most)) for one in image.mean):
        field["mean"].warn(
            f"The mean is outside the scaled values, which end at {most:g}.",
            "mean and std apply after scale; scale: 0-255 leaves pixels as they are.",
        )


def _scale(field: _Field) -> Scale | None:
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
    elif not _is_number(field.value):
        field.error("A scale is a name or a factor.", cure)
    elif (factor := field.number()) is not None:
        name = f"{factor:g}"
    if factor is not None and factor <= 0:
        field.error("The factor of a scale is above 0.", "Use polarity to invert an image.")
        return None
    return None if factor is None else Scale(name, factor)


def _per_channel(field: _Field, channels: Channels | None) -> tuple[float, ...]:
    """One number for each channel; a number alone stands for all."""
    if not field:
        return ()
    count = depth(channels) if channels else None
    if _is_number(field.value):
        field = replace(field, value=[field.value] * (count or 1))
    expected = f"{count} numbers, one for each channel" if count else "one number for each channel"
    return field.numbers(expected, (count,) if count else (1, 3))


def _resize(field: _Field) -> Resize | None:
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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _unquoted(value: Any) -> str:
    """How YAML takes what was written as a number: 1e-3 without a dot is text."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return f"Write {number!r}, without quotes." if math.isfinite(number) else "Write digits only."
