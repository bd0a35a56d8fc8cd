"""What a card declares of an input, as frozen objects; None where the card says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from hub.protocol.inputs.signals import Audio, FileBytes

Channels = Literal["RGB", "BGR", "grey"]
Layout = Literal["NCHW", "NHWC", "CHW", "HWC"]
Polarity = Literal["light-on-dark", "dark-on-light"]
Mode = Literal["stretch", "letterbox", "crop"]
Interpolation = Literal["nearest", "box", "bilinear", "bicubic", "lanczos"]
Kind = Literal["uniform", "normal", "integers", "token-ids", "one-of"]

CHANNELS: tuple[Channels, ...] = get_args(Channels)
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
POLARITIES: tuple[Polarity, ...] = get_args(Polarity)
MODES: tuple[Mode, ...] = get_args(Mode)
INTERPOLATIONS: tuple[Interpolation, ...] = get_args(Interpolation)
KINDS: tuple[Kind, ...] = get_args(Kind)
# Name -> factor and offset on values of 0 to 255.
SCALES = {"0-255": (1.0, 0.0), "0-1": (1 / 255, 0.0), "-1-1": (2 / 255, -1.0)}


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

    `stretch` ignores the ratio of its edges; `letterbox` keeps it and fills the rest with the
    grey level ``pad`` (0 to 255); `crop` scales the shorter edge to ``shortest_edge`` (None: as
    little as covers the size) and takes the middle. A width or height of None is the model's own;
    where it has none, the ratio decides, but with `stretch` the picture's own size.
    """

    width: int | None = None
    height: int | None = None
    mode: Mode | None = None
    interpolation: Interpolation | None = None
    shortest_edge: int | None = None
    pad: int = 0

    def document(self) -> dict[str, Any]:
        """The sizes as a card writes them."""
        return _stated(
            width=self.width,
            height=self.height,
            mode=self.mode,
            interpolation=self.interpolation,
            shortest_edge=self.shortest_edge,
            pad=self.pad or None,
        )


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
        channels = []
        for mean, std in zip(self.mean or [0.0] * count, self.std or [1.0] * count, strict=False):
            low, high = sorted((end - mean) / std for end in ends)
            channels.append((low, high))
        return tuple(channels)

    def document(self) -> dict[str, Any]:
        """The image as a card writes it, without what it does not say."""
        return _stated(
            channels=self.channels,
            layout=self.layout,
            scale=self.scale.document() if self.scale else None,
            mean=list(self.mean) or None,
            std=list(self.std) or None,
            polarity=self.polarity,
            resize=self.resize.document() if self.resize else None,
        )


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
        """Width and height of the tensor for a picture of these.

        Where the ratio is kept and one edge is given, the other follows from it.
        """
        if self.mode != "stretch" and self.width is None and self.height is not None:
            width = max(1, (2 * width * self.height + height) // (2 * height))
        elif self.mode != "stretch" and self.height is None and self.width is not None:
            height = max(1, (2 * height * self.width + width) // (2 * width))
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
    or a picture that ``image`` makes a tensor of. ``shape`` has a size for each axis, None where
    any will do. ``audio`` and ``file`` make tensors of sound and of a file's bytes. ``carry`` names
    the output of one call that is this input of the next; the first call has zeros.
    """

    name: str
    shape: tuple[int | None, ...] | None = None
    range: tuple[float, float] | None = None
    distribution: Distribution | None = None
    vocabulary: int | None = None
    example: str | None = None
    image: Image | None = None
    audio: Audio | None = None
    file: FileBytes | None = None
    carry: str = ""

    @property
    def constant(self) -> float | str | None:
        """The value of an input that has a single one; None for any other."""
        values = self.distribution.values if self.distribution else ()
        return values[0] if len(values) == 1 else None

    def sizes(self, own: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
        """The size of each axis: ``own``, those of the file, and where it has none the declared."""
        if own is None or self.shape is None or len(own) != len(self.shape):
            return own
        pairs = zip(own, self.shape, strict=True)
        return tuple(declared if size is None else size for size, declared in pairs)

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
        return _stated(
            shape=None if self.shape is None else list(self.shape),
            range=list(self.range) if self.range else None,
            distribution=self.distribution.document() if self.distribution else None,
            vocabulary=self.vocabulary,
            example=self.example,
            image=self.image.document() if self.image else None,
            audio=self.audio.document() if self.audio else None,
            file=self.file.document() if self.file else None,
            carry=self.carry or None,
        )


def _stated(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


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
    """Steps of a picture's preprocessing that are neither declared nor chosen: ``names``."""

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
