"""Reading the key ``inputs`` of a card's front matter, which docs/cards.md describes.

It maps the name of each input of the model to a declaration. What is wrong is reported with its
JSON pointer (RFC 6901), and a declaration with an error is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hub.protocol.inputs.declarations import KINDS, DeclaredInput, Distribution, Image
from hub.protocol.inputs.fields import MOST_NAME, Errors, Field, Notes, is_whole, named
from hub.protocol.inputs.images import read_image
from hub.protocol.inputs.signals import read_audio, read_file_bytes

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif")
ARRAYS = (".npy", ".npz", ".pb")
MOST_VALUES = 1_000
MOST_VOCABULARY = 1 << 31
MOST_AXES, MOST_SIZE = 16, 1 << 24


def parse(
    declared: Any, notes: Notes | None = None, pointer: str = "/inputs"
) -> tuple[DeclaredInput, ...]:
    """The declarations of a card's ``inputs``, in its order; never raises.

    What is wrong goes to ``notes``; a declaration with an error is left out.
    """
    errors = Errors(notes)
    inputs = []
    for name, field in named(Field(declared, pointer, errors), "input"):
        before = errors.count
        declaration = _input(name, field)
        if errors.count == before:
            inputs.append(declaration)
    return tuple(inputs)


def image_of(document: Any, notes: Notes | None = None, pointer: str = "") -> Image | None:
    """One image as a card writes it; None where it has an error, which goes to ``notes``."""
    return read_image(Field(document, pointer, Errors(notes)))


def _input(name: str, field: Field) -> DeclaredInput:
    keys = (
        "shape",
        "range",
        "distribution",
        "vocabulary",
        "example",
        "image",
        "audio",
        "file",
        "carry",
    )
    if not field.is_mapping("a declaration such as {range: [0, 1]}", *keys):
        return DeclaredInput(name)
    before = field.errors.count
    declaration = DeclaredInput(
        name,
        shape=_shape(field["shape"]),
        range=_range(field["range"]),
        distribution=_distribution(field["distribution"]),
        vocabulary=_vocabulary(field["vocabulary"]),
        example=_example(field["example"]),
        image=read_image(field["image"]),
        audio=read_audio(field["audio"]),
        file=read_file_bytes(field["file"]),
        carry=field["carry"].text(MOST_NAME),
    )
    if field.errors.count == before:
        _check_together(declaration, field)
    return declaration


def _check_together(declaration: DeclaredInput, field: Field) -> None:
    """Report parts of one declaration that contradict one another."""
    kind = declaration.distribution.kind if declaration.distribution else None
    how = field["distribution"]
    is_bounded = declaration.range is not None or declaration.vocabulary is not None
    if kind == "uniform" and not declaration.bounds():
        how.error("uniform needs a range.", "Add range: [low, high].")
    if kind == "integers" and not is_bounded:
        how.error("integers needs a range.", "Add range: [low, high].")
    if kind == "token-ids" and declaration.vocabulary is None:
        cure = "Add vocabulary: with the number of ids."
        how.error("token-ids needs the size of the vocabulary.", cure)
    if declaration.image is not None and declaration.vocabulary is not None:
        either = "An input is either an image or token ids."
        field["vocabulary"].error(either, "Remove vocabulary or image.")
    sources = [name for name in ("image", "audio", "file", "carry") if field[name]]
    if len(sources) > 1:
        either = f"An input is given by one of {' and '.join(sources)}."
        field[sources[-1]].error(either, "Remove the others.")
    if declaration.range is not None:
        _check_range(declaration, declaration.range, field["range"])
    if (
        declaration.example
        and declaration.example.lower().endswith(PICTURES)
        and declaration.image is None
    ):
        field["example"].error(
            "An example image needs preprocessing.",
            "Add image: with channels and scale, or give the tensor as .npy.",
        )


def _check_range(declaration: DeclaredInput, ends: tuple[float, float], field: Field) -> None:
    """Report a range that the vocabulary or the image contradicts."""
    if declaration.vocabulary is not None and (ends[0] < 0 or ends[1] > declaration.vocabulary - 1):
        field.error(
            f"The ids of the vocabulary are 0 to {declaration.vocabulary - 1}.",
            "Keep the range within them, or correct vocabulary.",
        )
    if declaration.image and (channels := declaration.image.bounds()):
        low, high = min(low for low, _ in channels), max(high for _, high in channels)
        slack = 0.01 * (high - low)
        if ends[0] > low + slack or ends[1] < high - slack:
            field.error(
                f"image makes values from {low:.4g} to {high:.4g}, beyond this range.",
                "Remove the range, which follows from image, or correct one of the two.",
            )


def _shape(field: Field) -> tuple[int | None, ...] | None:
    if not field:
        return None
    sizes = field.value if isinstance(field.value, list) else []
    if not 1 <= len(sizes) <= MOST_AXES or not all(
        size is None or is_whole(size, 1, MOST_SIZE) for size in sizes
    ):
        field.error(
            f"A shape is a list of 1 to {MOST_AXES} sizes, each from 1 to {MOST_SIZE:,} or null.",
            "Write one size for each axis, null where any will do, such as [null, 576].",
        )
        return None
    return tuple(sizes)


def _range(field: Field) -> tuple[float, float] | None:
    ends = field.numbers("[low, high]", (2,)) if field else ()
    if len(ends) != 2:
        return None
    low, high = ends
    if low > high:
        field.error("The low end is above the high end.", f"[{high:g}, {low:g}]")
    return low, high


def _distribution(field: Field) -> Distribution | None:
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


def _normal(parts: Field) -> Distribution:
    for name in ("mean", "std"):
        if not parts[name]:
            parts.error(f"{name} is missing.", f"Add {name}.")
    mean, std = parts["mean"].number(), parts["std"].number()
    if std is not None and std <= 0:
        parts["std"].error("A standard deviation is above 0.", "Correct std.")
    return Distribution("normal", mean or 0.0, std or 1.0)


def _values(distribution: Field) -> tuple[float, ...] | tuple[str, ...]:
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


def _vocabulary(field: Field) -> int | None:
    if isinstance(field.value, dict):
        field.is_mapping("a number of ids", "size")
        field = field["size"]
    elif not field:
        return None
    if not is_whole(field.value, 1, MOST_VOCABULARY):
        field.error(
            "A vocabulary is a whole number of ids, 1 or more.",
            "Write the size, such as vocabulary: 30522.",
        )
        return None
    return int(field.value)


def _example(field: Field) -> str | None:
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
