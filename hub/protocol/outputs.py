"""The key ``outputs`` of a card: what the values of an output mean, so that a page can show them.

It maps the name of an output to one reading of it: a curve over time, notes, scores, classes,
regions, text, or boxes. `parse` makes frozen objects of it and reports what is wrong with its JSON
pointer (RFC 6901); a reading with an error is left out. docs/cards.md describes the keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from hub.protocol.inputs.fields import Errors, Field, Notes, named

BoxFormat = Literal["xyxy", "xywh", "cxcywh"]

BOX_FORMATS: tuple[BoxFormat, ...] = get_args(BoxFormat)
MOST_NAMES, MOST_STEP = 1_000, 1 << 20


@dataclass(frozen=True, slots=True)
class Curve:
    """One value each ``step`` samples of a sound; a step of None is the hop of its windows.

    Values below ``threshold``, or with a value of the output ``confidence`` below ``least``, are
    drawn apart; ``low`` and ``high`` are the ends of the axis where they are known.
    """

    title: str = ""
    unit: str = ""
    step: int | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    confidence: str = ""
    least: float | None = None


@dataclass(frozen=True, slots=True)
class Keyboard:
    """A score for each key of a keyboard, each ``step`` samples; the first is MIDI's ``first``.

    A note is a run of at least ``shortest`` values of ``threshold`` or more. The first and last
    ``edge`` rows of each window are left out.
    """

    step: int
    first: int = 21
    threshold: float = 0.5
    shortest: int = 1
    edge: int = 0


@dataclass(frozen=True, slots=True)
class Scores:
    """One number for each of ``names``, on a scale from ``low`` to ``high``."""

    names: tuple[str, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Classes:
    """One score for each of ``names``, of which the highest is the answer."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Regions:
    """A map of scores over the picture; connected values of ``threshold`` or more are a region."""

    threshold: float


@dataclass(frozen=True, slots=True)
class Text:
    """Scores of characters for each step of a line, as connectionist temporal classification.

    The highest score is taken, equal neighbours count once, ``blank`` counts never. The others are
    the lines of the file's metadata key ``labels`` in order, then those of ``extra``.
    Source: Graves et al., ICML 2006.
    """

    labels: str
    blank: int = 0
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rows of four numbers in ``format``, as shares of the edges or in pixels of the tensor.

    ``scores`` and ``classes`` are outputs with one value for each row; rows whose score is below
    ``threshold`` are not shown.
    """

    format: BoxFormat
    is_share: bool = False
    scores: str = ""
    classes: str = ""
    threshold: float = 0.5


Reading = Curve | Keyboard | Scores | Classes | Regions | Text | Boxes


@dataclass(frozen=True, slots=True)
class DeclaredOutput:
    """What the card says of an output."""

    name: str
    kind: str
    reading: Reading

    def document(self) -> dict[str, Any]:
        """The reading with its kind, as the page's modules take it."""
        return {"kind": self.kind, **asdict(self.reading)}


def parse(
    declared: Any, notes: Notes | None = None, pointer: str = "/outputs"
) -> tuple[DeclaredOutput, ...]:
    """The readings of a card's ``outputs``, in its order; never raises."""
    errors = Errors(notes)
    outputs = []
    for name, field in named(Field(declared, pointer, errors), "output"):
        before = errors.count
        output = _output(name, field)
        if output is not None and errors.count == before:
            outputs.append(output)
    return tuple(outputs)


def _output(name: str, field: Field) -> DeclaredOutput | None:
    if not field.is_mapping("a reading such as {curve: {unit: Hz}}", *_READERS):
        return None
    kinds = [kind for kind in _READERS if field[kind]]
    if len(kinds) != 1:
        field.error("An output has one reading.", f"Write one of {', '.join(_READERS)}.")
        return None
    reading = _READERS[kinds[0]](field[kinds[0]])
    return None if reading is None else DeclaredOutput(name, kinds[0], reading)


def _curve(field: Field) -> Curve | None:
    keys = ("title", "unit", "step", "range", "threshold", "confidence", "least")
    if not field.is_mapping("a mapping such as {unit: Hz}", *keys):
        return None
    low, high = _range(field["range"]) or (None, None)
    return Curve(
        field["title"].text(80),
        field["unit"].text(20),
        field["step"].whole(1, MOST_STEP),
        low,
        high,
        field["threshold"].number(),
        field["confidence"].text(500),
        field["least"].number(),
    )


def _notes(field: Field) -> Keyboard | None:
    keys = ("step", "first", "threshold", "shortest", "edge")
    if not field.is_mapping("a mapping such as {step: 256, first: 21}", *keys):
        return None
    step = field["step"].whole(1, MOST_STEP)
    if step is None:
        field.error("Notes have no step.", "Add step: with the samples from row to row.")
        return None
    first, threshold = field["first"].whole(0, 127), field["threshold"].number()
    return Keyboard(
        step,
        21 if first is None else first,
        0.5 if threshold is None else threshold,
        field["shortest"].whole(1, 10_000) or 1,
        field["edge"].whole(0, 10_000) or 0,
    )


def _scores(field: Field) -> Scores | None:
    if not field.is_mapping("a mapping such as {names: [a, b], range: [1, 5]}", "names", "range"):
        return None
    names, ends = field["names"].texts(MOST_NAMES), _range(field["range"])
    if not names or ends is None:
        field.error("Scores need names and a range.", "Add names: and range: [low, high].")
        return None
    return Scores(names, *ends)


def _classes(field: Field) -> Classes | None:
    if not field.is_mapping("a mapping such as {names: [a, b]}", "names"):
        return None
    names = field["names"].texts(MOST_NAMES)
    if not names:
        field.error("Classes need names.", "Add names: with a list of texts.")
    return Classes(names)


def _regions(field: Field) -> Regions | None:
    if not field.is_mapping("a mapping such as {threshold: 0.5}", "threshold"):
        return None
    threshold = field["threshold"].number()
    return Regions(0.5 if threshold is None else threshold)


def _text(field: Field) -> Text | None:
    if not field.is_mapping("a mapping such as {labels: character}", "labels", "blank", "extra"):
        return None
    labels = field["labels"].text(200)
    if not labels:
        cure = "Add labels: with the key of the file's metadata that lists them."
        field.error("The text has no labels.", cure)
        return None
    blank = field["blank"].whole(0, 1 << 24)
    return Text(labels, blank or 0, field["extra"].texts(MOST_NAMES))


def _boxes(field: Field) -> Boxes | None:
    keys = ("format", "unit", "scores", "classes", "threshold")
    if not field.is_mapping("a mapping such as {format: xyxy}", *keys):
        return None
    box_format = field["format"].word(BOX_FORMATS, "format of boxes")
    unit = field["unit"].word(("pixels", "share"), "unit of boxes")
    threshold = field["threshold"].number()
    if box_format is None:
        if not field["format"]:
            field.error("Boxes have no format.", f"Write one of {', '.join(BOX_FORMATS)}.")
        return None
    return Boxes(
        box_format,
        unit == "share",
        field["scores"].text(500),
        field["classes"].text(500),
        0.5 if threshold is None else threshold,
    )


def _range(field: Field) -> tuple[float, float] | None:
    ends = field.numbers("[low, high]", (2,)) if field else ()
    if len(ends) != 2:
        return None
    if ends[0] >= ends[1]:
        field.error("The low end is not below the high end.", f"[{ends[1]:g}, {ends[0]:g}]")
    return ends[0], ends[1]


_READERS: dict[str, Callable[[Field], Reading | None]] = {
    "curve": _curve,
    "notes": _notes,
    "scores": _scores,
    "classes": _classes,
    "regions": _regions,
    "text": _text,
    "boxes": _boxes,
}
