"""How sound and the bytes of a file become tensors, as a card declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from hub.protocol.inputs.fields import Field

Fill = Literal["silence", "repeat"]

FILLS: tuple[Fill, ...] = get_args(Fill)
MOST_RATE, MOST_WINDOW = 768_000, 1 << 24
MOST_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Audio:
    """How sound becomes the tensors of one call after another.

    Mono samples from -1 to 1 at ``rate`` hertz, after ``lead`` samples of silence, are cut into
    windows of ``window`` samples that begin every ``hop`` samples. A window of None is the size of
    the input's shape where that is fixed, else the whole sound; a hop of None is the window. The
    last window is filled with silence, or the sound is repeated.
    """

    rate: int
    window: int | None = None
    hop: int | None = None
    lead: int = 0
    fill: Fill = "silence"

    def document(self) -> dict[str, Any]:
        """The sound as a card writes it, without what it does not say."""
        parts = {
            "rate": self.rate,
            "window": self.window,
            "hop": self.hop,
            "lead": self.lead or None,
            "fill": self.fill if self.fill != "silence" else None,
        }
        return {name: value for name, value in parts.items() if value is not None}

    def window_of(self, shape: tuple[int | None, ...] | None) -> int | None:
        """The samples of one call for an input of this shape; None for the whole sound."""
        axis = axis_of(shape)
        return self.window or (shape[axis] if shape and axis is not None else None)


def axis_of(shape: tuple[int | None, ...] | None) -> int | None:
    """The axis of samples: the last that is not fixed to 1; None where there is none."""
    axes = [axis for axis, size in enumerate(shape or ()) if size != 1]
    return axes[-1] if axes else None


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Which bytes of a file, as numbers from 0 to 255, make the tensor: begin, middle, end.

    ``begin`` bytes are the first of the first ``block``, ``end`` bytes the last of the last
    ``block``, ``middle`` bytes lie around the middle of the file. With ``strip``, white space of
    ASCII is removed from the outer side of both blocks first. What is missing is ``pad``.
    """

    begin: int = 0
    middle: int = 0
    end: int = 0
    block: int | None = None
    strip: bool = False
    pad: int = 0

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.begin + self.middle + self.end

    def document(self) -> dict[str, Any]:
        """The parts as a card writes them, without what it does not say."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in parts.items() if value}


def read_audio(field: Field) -> Audio | None:
    keys = ("rate", "window", "hop", "lead", "fill")
    if not field or not field.is_mapping("a mapping such as {rate: 16000}", *keys):
        return None
    rate = field["rate"].whole(1_000, MOST_RATE)
    window, hop = (field[name].whole(1, MOST_WINDOW) for name in ("window", "hop"))
    lead = field["lead"].whole(0, MOST_WINDOW)
    fill = field["fill"].word(FILLS, "way to fill a window")
    if rate is None:
        if not field["rate"]:
            field.error("The sound has no rate.", "Add rate: with the samples a second.")
        return None
    if hop is not None and window is not None and hop > window:
        field["hop"].error("Samples between the windows would be left out.", "Lower hop.")
    return Audio(rate, window, hop, lead or 0, fill or "silence")


def read_file_bytes(field: Field) -> FileBytes | None:
    keys = FileBytes.__slots__
    if not field or not field.is_mapping("a mapping such as {begin: 1024}", *keys):
        return None
    begin, middle, end = (field[name].whole(0, MOST_PART) for name in ("begin", "middle", "end"))
    block = field["block"].whole(1, MOST_PART)
    pad = field["pad"].whole(0, 1 << 16)
    strip = field["strip"].value
    if strip is not None and not isinstance(strip, bool):
        field["strip"].error("This must be true or false.", "Write true or false.")
    if not (begin or middle or end):
        field.error("No bytes of the file are used.", "Add begin, middle or end.")
        return None
    if block is not None and block < max(begin or 0, end or 0):
        field["block"].error("A block is shorter than its bytes.", "Raise block.")
    return FileBytes(begin or 0, middle or 0, end or 0, block, strip is True, pad or 0)
