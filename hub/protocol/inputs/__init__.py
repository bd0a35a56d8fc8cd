"""The inputs that a card declares: ranges, distributions, vocabularies, examples, preprocessing.

`parse` makes frozen objects of a card's ``inputs`` and reports what is wrong, `compare` holds them
against the inputs that the model really has. Code that generates, checks or preprocesses inputs
uses these objects and parses nothing.
"""

from hub.protocol.inputs.comparison import compare
from hub.protocol.inputs.declarations import (
    CHANNELS,
    INTERPOLATIONS,
    KINDS,
    LAYOUTS,
    MODES,
    POLARITIES,
    SCALES,
    Channels,
    DeclaredInput,
    Distribution,
    Image,
    Interpolation,
    Layout,
    Mode,
    Picture,
    Polarity,
    Resize,
    Scale,
    UnknownStepError,
    layout_of,
    resolve,
)
from hub.protocol.inputs.fields import Notes
from hub.protocol.inputs.images import MOST_EDGE
from hub.protocol.inputs.parsing import ARRAYS, PICTURES, image_of, parse
from hub.protocol.inputs.signals import Audio, FileBytes, axis_of

__all__ = [
    "ARRAYS",
    "CHANNELS",
    "INTERPOLATIONS",
    "KINDS",
    "LAYOUTS",
    "MODES",
    "MOST_EDGE",
    "PICTURES",
    "POLARITIES",
    "SCALES",
    "Audio",
    "Channels",
    "DeclaredInput",
    "Distribution",
    "FileBytes",
    "Image",
    "Interpolation",
    "Layout",
    "Mode",
    "Notes",
    "Picture",
    "Polarity",
    "Resize",
    "Scale",
    "UnknownStepError",
    "axis_of",
    "compare",
    "image_of",
    "layout_of",
    "parse",
    "resolve",
]
