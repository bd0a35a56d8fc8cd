"""A run as Python code: the same values, the same preprocessing, the same model.

The pictures' steps are those of runners/engine/runs/pictures.py, written out for one choice of
them, in the template of a picture; a test runs the code and compares the tensor. `javascript.py`
writes the same run for Node.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frontend.pages.tryouts.input_form import TITLES, Input, Value
from frontend.parts import text_templates
from hub.protocol import inputs

if TYPE_CHECKING:
    from hub.protocol.inputs import Audio, FileBytes, Image, Polarity
    from hub.protocol.outputs import Text

_WIDTH = 88
_ARRAY, _PROTO, _PICTURE = "code/array.txt", "code/proto.txt", "code/picture_python.txt"
_SOUND, _FILE = "code/sound_python.txt", "code/file_python.txt"
_TOKENS = "code/tokens_python.txt"
# What puts the channels of a picture, which come last, where the layout has them.
_AXES = {
    ("grey", "NCHW"): "[np.newaxis, np.newaxis]",
    ("grey", "CHW"): "[np.newaxis]",
    ("grey", "NHWC"): "[np.newaxis, :, :, np.newaxis]",
    ("grey", "HWC"): "[:, :, np.newaxis]",
    ("colour", "NCHW"): ".transpose(2, 0, 1)[np.newaxis]",
    ("colour", "CHW"): ".transpose(2, 0, 1)",
    ("colour", "NHWC"): "[np.newaxis]",
    ("colour", "HWC"): "",
}


@dataclass(frozen=True, slots=True)
class Feed:
    """One input, and what it was given: a picture, a row of an example, a value, or an array file.

    ``image`` is how a picture is prepared, ``own`` its polarity (None where nobody has said it),
    ``trim`` whether it is cut to the square around its strokes first, ``file`` its name.
    ``example`` is a path of the version, ``row`` the row of it that was given. ``is_source`` says
    that sound, a file or a state is given as the card declares it.
    """

    input: Input
    image: Image | None = None
    own: Polarity | None = None
    trim: bool = False
    file: str = "picture.png"
    value: Value | None = None
    example: str = ""
    row: int | None = None
    is_source: bool = False

    @property
    def audio(self) -> Audio | None:
        """How sound becomes the calls of the model, where sound is given."""
        return self.input.declared.audio if self.is_source and self.input.declared else None

    @property
    def bytes(self) -> FileBytes | None:
        """Which bytes make the tensor, where a file is given."""
        return self.input.declared.file if self.is_source and self.input.declared else None

    @property
    def shape(self) -> list[int]:
        """The sizes of the tensor, its samples as one of them: -1 where their number is free."""
        sizes = [1 if size is None else size for size in self.input.shape or (None,)]
        axis = inputs.axis_of(self.input.shape or (None,))
        if self.audio and axis is not None and (self.input.shape or (None,))[axis] is None:
            sizes[axis] = self.window or -1
        if self.bytes and axis is not None:
            sizes[axis] = self.bytes.size
        return sizes

    @property
    def hop(self) -> int | None:
        """The samples from one call to the next."""
        return (self.audio.hop or self.window) if self.audio else None

    @property
    def block(self) -> int | None:
        """How many bytes of each end of a file are looked at."""
        return (self.bytes.block or max(self.bytes.begin, self.bytes.end)) if self.bytes else None

    @property
    def window(self) -> int | None:
        """The samples of one call; None for the whole sound."""
        return self.audio.window_of(self.input.shape) if self.audio else None


@dataclass(frozen=True, slots=True)
class _Tensor:
    """The code of one input: its variable, the template that gives it a value, and its parts."""

    feed: Feed
    name: str
    template: str
    parts: Mapping[str, Any]


def code(
    load: str,
    feeds: Iterable[Feed],
    outputs: Sequence[str] = (),
    text: tuple[int, Text] | None = None,
) -> str:
    """Python that runs the model ``load`` gives (`hub.load(…)`) on what was given.

    ``outputs`` are the names of its outputs, ``text`` the place of one that is read as text.
    """
    feeds = list(feeds)
    tensors = []
    for at, feed in enumerate(feeds):
        name = "tensor" if len(feeds) == 1 else f"tensor_{at}"
        tensors.append(_Tensor(feed, name, *_tensor(feed, name)))
    pairs = [f"{tensor.feed.input.name!r}: {tensor.name}" for tensor in tensors]
    templates = {tensor.template for tensor in tensors}
    return text_templates.render(
        "code/tryout_python.txt",
        load=load,
        folder=load.replace("hub.load(", "hub.download(", 1),
        tensors=tensors,
        names=f"{{{', '.join(pairs)}}}",
        has_folder=any(feed.example for feed in feeds) or _TOKENS in templates,
        has_tokens=_TOKENS in templates,
        has_protos=_PROTO in templates,
        has_pictures=_PICTURE in templates,
        has_sound=_SOUND in templates,
        calls=next((tensor for tensor in tensors if tensor.feed.window), None),
        carried=[
            (tensor.name, outputs.index(tensor.feed.input.declared.carry))
            for tensor in tensors
            if tensor.feed.input.declared and tensor.feed.input.declared.carry in outputs
        ],
        text=text and {"at": text[0], "reading": text[1], "extra": list(text[1].extra)},
    )


def _tensor(feed: Feed, name: str) -> tuple[str, dict[str, Any]]:
    """The template for an input and what it needs; an array may come from a file of the reader."""
    if feed.example:
        return _example(feed)
    if feed.value is not None:
        return _ARRAY, {"values": _array(feed, name)}
    if feed.input.encoding:
        return _TOKENS, {}
    if feed.is_source:
        zeros = f"np.zeros({feed.shape}, dtype=np.{feed.input.type})"
        return (_SOUND if feed.audio else _FILE if feed.bytes else _ARRAY), {"values": zeros}
    return _picture(feed, f'np.load("{name}.npy")  # {feed.input.words}')


def _example(feed: Feed) -> tuple[str, dict[str, Any]]:
    row = "" if feed.row is None else f"[{feed.row}:{feed.row + 1}]"
    if feed.example.lower().endswith(".npy"):
        return _ARRAY, {"values": f"np.load(folder / {feed.example!r}){row}"}
    return _PROTO, {"row": row}


def _picture(feed: Feed, own_file: str) -> tuple[str, dict[str, Any]]:
    """The steps of a picture; the reader's own array file where one of them is not known."""
    if feed.image is None:
        return _ARRAY, {"values": own_file}
    own, image = feed.own, feed.image
    is_guess = image.polarity is not None and own is None
    if is_guess:
        own = next(polarity for polarity in inputs.POLARITIES if polarity != image.polarity)
    try:
        how = inputs.resolve(image, feed.input.shape, own)
    except inputs.UnknownStepError as error:
        steps = ", ".join(TITLES[step] for step in error.names)
        remark = f"The preprocessing of {feed.input.name!r} is not known: {steps}."
        return _ARRAY, {"values": own_file, "remark": remark}
    is_grey = how.channels == "grey"
    return _PICTURE, {
        "how": how,
        "guess": own if is_guess else "",
        "mode": "L" if is_grey else "RGB",
        "is_trimmed": feed.trim and is_grey and feed.own is not None,
        "inverse": "255 - " if (feed.own == "dark-on-light") != how.invert else "",
        "resampling": f"Image.Resampling.{how.interpolation.upper()}",
        "ground": how.pad if is_grey else (how.pad,) * 3,
        "mean": _row(how.mean),
        "std": _row(how.std),
        "axes": _AXES["grey" if is_grey else "colour", how.layout],
        "is_whole": feed.input.type.startswith(("int", "uint")),
    }


def _array(feed: Feed, name: str) -> str:
    """An array of a value, in lines that are not too long for readers."""
    kind = feed.input.type
    dtype = "object" if kind == "string" else f"np.{'bool_' if kind == 'bool' else kind}"
    text = f"np.array({literal(feed.value)}, dtype={dtype})"
    if len(f"{name} = {text}") <= _WIDTH or kind == "string":
        return text
    lines = ["np.array(["]
    for row in feed.value if isinstance(feed.value, list) else [feed.value]:
        lines += textwrap.wrap(
            f"{literal(row)},", _WIDTH, initial_indent="    ", subsequent_indent="     "
        )
    return "\n".join([*lines, f"], dtype={dtype})"])


def _row(values: tuple[float, ...]) -> str:
    """One number for all channels, or one for each."""
    return repr(values[0]) if len(values) == 1 else repr(list(values))


def literal(value: Value | None, missing: str = "np.nan") -> str:
    """A value as Python writes it; ``missing`` stands for NaN."""
    if isinstance(value, list):
        return f"[{', '.join(literal(element, missing) for element in value)}]"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return missing
    return repr(value)
