"""The inputs of a model as fields of a form, and how a picture becomes a tensor.

A step that nobody declares has an empty field, which the reader has to fill.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.protocol import inputs, problems
from hub.protocol.inputs import DeclaredInput, Image, Polarity, Resize

# Numbers, words, and rows of them, as code writes them; None and NaN are a missing number.
Value = float | int | str | bool | list["Value"]
KINDS = {
    "picture": "Picture",
    "sound": "Sound",
    "file": "File",
    "carry": "State",
    "text": "Text",
    "table": "Table",
    "tensor": "Tensor",
}
READER = "your choice"
# What the page's module takes of a declaration.
_SOURCES = ("audio", "file", "carry", "range")
_LONGEST_VALUE, _DEEPEST = 4_000, 6
# A table of more columns is given as text.
_FIELDS = 64
_CHANNELS = (("RGB", "RGB"), ("BGR", "BGR"), ("grey", "Grey"))
_POLARITIES = (
    ("none", "Colour image"),
    ("light-on-dark", "Light on dark"),
    ("dark-on-light", "Dark on light"),
)
_OWN = _POLARITIES[1:]
_MODES = (
    ("stretch", "Stretched"),
    ("letterbox", "Letterbox: entire image, with a border"),
    ("crop", "Crop: centre"),
)
_INTERPOLATIONS = tuple((name, name.capitalize()) for name in inputs.INTERPOLATIONS)
_SCALES = (
    ("0-255", "0 to 255, unchanged"),
    ("0-1", "0 to 1"),
    ("-1-1", "\N{MINUS SIGN}1 to 1"),
)
_LAYOUTS = tuple((name, name) for name in inputs.LAYOUTS)
TITLES = {
    "channels": "channels",
    "polarity": "polarity",
    "own": "polarity of the image",
    "width": "width",
    "height": "height",
    "mode": "fit",
    "interpolation": "interpolation",
    "shortest_edge": "shortest edge",
    "pad": "border",
    "scale": "values",
    "mean": "mean",
    "std": "deviation",
    "layout": "layout",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One field: its value, empty if it is not declared, and its options if it has some."""

    name: str
    value: str
    origin: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The fields of one picture."""

    choices: tuple[Choice, ...]

    def __getitem__(self, name: str) -> Choice:
        choice = next((choice for choice in self.choices if choice.name == name), None)
        if choice is None:
            raise KeyError(name)
        return choice

    @property
    def missing(self) -> list[str]:
        """The steps that are not declared; a picture's own polarity is the reader's choice."""
        return [
            TITLES[choice.name]
            for choice in self.choices
            if choice.options and not choice.value and choice.name != "own"
        ]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the model: its type, its sizes (None where free), and how it may be given.

    ``image`` is what is known of a picture's preprocessing, ``origins`` says where each part of it
    is declared; what is not known is asked of the reader.
    """

    index: int
    name: str
    type: str
    shape: tuple[int | None, ...] | None
    kinds: tuple[str, ...]
    image: Image = field(default_factory=Image)
    origins: tuple[tuple[str, str], ...] = ()
    # The names of a table's columns, where a file of the version lists them.
    features: tuple[str, ...] = ()
    features_from: str = ""
    # Its only value as JSON, or the zeros that a state begins with.
    preset: str = ""
    declared: DeclaredInput | None = None
    # What a tokenizer of the version makes for it: an attribute of its `Encoding`.
    encoding: str = ""

    @property
    def source(self) -> dict[str, Any]:
        """What the card declares of sound, of a file's bytes, and of a state, for the module."""
        declared = self.declared.document() if self.declared else {}
        return {name: declared[name] for name in _SOURCES if name in declared}

    @property
    def rate(self) -> int | None:
        """The declared rate of its sound, in hertz."""
        audio = self.declared.audio if self.declared else None
        return audio.rate if audio else None

    @property
    def is_drawable(self) -> bool:
        """Whether a drawing may be its picture: one channel of strokes on a ground."""
        return "picture" in self.kinds and self.image.depth == 1 and bool(self.image.polarity)

    @property
    def cells(self) -> list[tuple[int, str]]:
        """The columns of a table as fields: place from 1 and name; empty where they are many."""
        names = self.features or tuple(f"column {at + 1}" for at in range(self.columns))
        return list(enumerate(names, 1)) if "table" in self.kinds and len(names) <= _FIELDS else []

    @property
    def columns(self) -> int:
        """How many numbers a row of a table has."""
        return (self.shape or (0,))[-1] or 0

    @property
    def words(self) -> str:
        """Type and sizes: float32[?, 3, 64, 64]."""
        if self.shape is None:
            return self.type
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.type}[{sizes}]"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The ways to give it, with their words."""
        return [(kind, KINDS[kind]) for kind in self.kinds]

    @property
    def settings(self) -> Settings:
        """The fields of a picture's preprocessing, filled with what is known."""
        return settings(self.image, self.shape, dict(self.origins))


def settings(
    image: Image, shape: tuple[int | None, ...] | None, origins: Mapping[str, str]
) -> Settings:
    """The fields for an input of this shape, with what ``image`` knows of it."""
    resize = image.resize or Resize()
    layout = image.layout or inputs.layout_of(shape, image.channels)
    fixed = dict(zip(layout or "", shape or (), strict=False))
    origins = dict(origins)
    if layout and not image.layout:
        origins["layout"] = "the shape"
    width, height = resize.width or fixed.get("W"), resize.height or fixed.get("H")
    for name, declared, size in (("width", resize.width, width), ("height", resize.height, height)):
        if size and not declared:
            origins[name] = "the shape"
    scales: tuple[tuple[str, str], ...] = _SCALES
    scale = ""
    if image.scale is not None:
        scale = image.scale.name
        if scale not in inputs.SCALES:
            scale = repr(image.scale.factor)
            scales = (*_SCALES, (scale, f"times {image.scale.factor:g}"))
    polarity = image.polarity or ("none" if "polarity" in origins else "")
    if not polarity and fixed.get("C") == 3:
        polarity, origins["polarity"] = "none", "three channels"
    rows = (
        ("channels", image.channels or "", _CHANNELS),
        ("polarity", polarity, _POLARITIES),
        ("own", "" if polarity != "none" else "none", _OWN),
        ("width", str(width or ""), ()),
        ("height", str(height or ""), ()),
        ("mode", resize.mode or "", _MODES),
        ("interpolation", resize.interpolation or "", _INTERPOLATIONS),
        ("shortest_edge", str(resize.shortest_edge or ""), ()),
        ("pad", str(resize.pad) if resize.mode == "letterbox" else "", ()),
        ("scale", scale, scales),
        ("mean", _comma_list(image.mean), ()),
        ("std", _comma_list(image.std), ()),
        ("layout", layout or "", _LAYOUTS),
    )
    return Settings(
        tuple(
            Choice(name, value, origins.get(name, "") if value else "", options)
            for name, value, options in rows
        )
    )


def picture(posted: Mapping[str, str], field: Input) -> tuple[Image, Polarity | None]:
    """What a filled form says of a picture, and the picture's own polarity.

    Fields end in the number of the input: ``scale-0``. Raises InvalidRequest, which names every
    step that is wrong or was not chosen.
    """
    value = {name: str(posted.get(f"{name}-{field.index}", "")).strip() for name in TITLES}
    document = {
        "channels": value["channels"] or None,
        "layout": value["layout"] or None,
        "scale": _scale(value["scale"]),
        "mean": _numbers(value["mean"]) if value["scale"] else None,
        "std": _numbers(value["std"]) if value["scale"] else None,
        "polarity": value["polarity"] if value["polarity"] not in ("", "none") else None,
        "resize": {
            "width": _whole(value["width"]),
            "height": _whole(value["height"]),
            "mode": value["mode"] or None,
            "interpolation": value["interpolation"] or None,
            "shortest_edge": _whole(value["shortest_edge"]) if value["mode"] == "crop" else None,
            "pad": _whole(value["pad"]) if value["mode"] == "letterbox" else None,
        },
    }
    faults = _Faults([])
    image = inputs.image_of(document, faults, "")
    own = next((word for word in inputs.POLARITIES if word == value["own"]), None)
    unknown: tuple[str, ...] = () if value["polarity"] else ("polarity",)
    if image is not None and not faults.messages:
        try:
            inputs.resolve(image, field.shape, own)
        except inputs.UnknownStepError as error:
            steps = ("own" if name == "polarity" else name for name in error.names)
            unknown = (*unknown, *steps)
    if unknown:
        names = ", ".join(TITLES[name] for name in unknown)
        faults.messages.append(f"Choose {names}; the model does not declare it.")
    if image is None or faults.messages:
        raise problems.InvalidRequest(f"The image for {field.name}: {' '.join(faults.messages)}")
    return image, own


def value_of(text: str) -> Value | None:
    """A value that the page's module sends as JSON to be written into code; None for none."""
    if not text or len(text) > _LONGEST_VALUE:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if _is_value(value) else None


def _is_value(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < _DEEPEST and all(_is_value(element, depth + 1) for element in value)
    return value is None or isinstance(value, str | int | float)


def row_of(posted: Mapping[str, str], field: Input) -> str:
    """The fields of a table as a row of JSON; empty where none is filled.

    Raises InvalidRequest, which names the first field that is no number.
    """
    values = [posted.get(f"cell-{field.index}-{place}", "").strip() for place, _ in field.cells]
    if not any(values):
        return ""
    row = []
    for value, (_, name) in zip(values, field.cells, strict=True):
        try:
            row.append(float(value))
        except ValueError:
            raise problems.InvalidRequest(f"Enter a number for {name}.") from None
    return json.dumps([row])


def choices(document: Any, own: Any, field: Input) -> list[tuple[str, str, str]]:
    """Each step that a run took: its name, its value, and who said so."""
    image = inputs.image_of(document) or Image()
    steps = settings(image, field.shape, {"polarity": READER})
    declared = settings(field.image, field.shape, dict(field.origins))
    rows = []
    for choice in steps.choices:
        value = str(own or "") if choice.name == "own" else choice.value
        if not value or value == "none":
            continue
        words = dict(choice.options).get(value, value)
        declared_choice = declared[choice.name]
        rows.append(
            (
                TITLES[choice.name],
                words,
                declared_choice.origin if declared_choice.value == value else READER,
            )
        )
    return [(name, words, origin or READER) for name, words, origin in rows]


@dataclass(frozen=True, slots=True)
class _Faults:
    """Collects what a form has wrong, as one sentence each."""

    messages: list[str]

    def error(self, pointer: str, message: str, cure: str) -> None:
        name = pointer.rpartition("/")[2]
        self.messages.append(f"{TITLES.get(name, name).capitalize()}: {message} {cure}".strip())

    def warn(self, pointer: str, message: str, cure: str) -> None:
        """A step that is missing is named with the others."""

    def guess(self, word: str, words: Any, likeness: float = 0.75) -> str:
        return ""


def _comma_list(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.15g}" for value in values)


def _scale(text: str) -> Any:
    if not text or text in inputs.SCALES:
        return text or None
    try:
        return float(text)
    except ValueError:
        return text


def _numbers(text: str) -> Any:
    """Numbers that a user typed, with commas or blanks; else the text itself."""
    parts = text.replace(",", " ").replace(";", " ").split()
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers or None


def _whole(text: str) -> Any:
    return int(text) if text.isdecimal() and len(text) < 6 else text or None
