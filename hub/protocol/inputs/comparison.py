"""Declared inputs against the inputs that the model really has, and the files of the version."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hub.protocol.facts import Port
from hub.protocol.inputs.declarations import DeclaredInput, Image, layout_of
from hub.protocol.inputs.fields import Notes, escaped
from hub.protocol.inputs.signals import axis_of

# Type of integers -> its lowest and highest value.
_INTEGERS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (2, 4, 8, 16, 32, 64)},
}


def compare(
    declared: Iterable[DeclaredInput],
    inputs: Iterable[Port],
    notes: Notes,
    *,
    files: Collection[str] | None = None,
    pointer: str = "/inputs",
) -> None:
    """Report declarations that the model's own inputs, or the version's files, contradict."""
    ports = {port.name: port for port in inputs}
    for declaration in declared:
        place = f"{pointer}/{escaped(declaration.name)}"
        if (
            declaration.example is not None
            and files is not None
            and declaration.example not in files
        ):
            near = notes.guess(declaration.example, files)
            cure = (
                f"{declaration.example} -> {near}."
                if near
                else "Add the file, or remove the example."
            )
            # The rest of the card is right without it, as where only the model was sent again.
            notes.warn(f"{place}/example", f"The version has no file {declaration.example}.", cure)
        port = ports.get(declaration.name)
        if port is None:
            _report_unknown(declaration.name, ports, notes, place)
            continue
        _check_type(declaration, port, notes, place)
        _check_shape(declaration, port, notes, place)
        if declaration.image is not None:
            _check_sizes(declaration.image, port, notes, f"{place}/image")
        _check_signals(declaration, port, notes, place)


def _report_unknown(name: str, ports: Mapping[str, Port], notes: Notes, place: str) -> None:
    near = notes.guess(name, ports, 0.6) or (next(iter(ports)) if len(ports) == 1 else "")
    names = ", ".join(list(ports)[:8]) + (" …" if len(ports) > 8 else "")
    cure = f"{name} -> {near}." if near else f"Its inputs are {names}." if names else "Remove it."
    notes.error(place, f"The model has no input {name[:80]}.", cure)


def _check_type(declaration: DeclaredInput, port: Port, notes: Notes, place: str) -> None:
    """Report what the type of the model's input rules out."""
    dtype = port.type.tensor_dtype
    what = f"{declaration.name} is {dtype}" if dtype else f"{declaration.name} is not a tensor"
    limits = _INTEGERS.get(dtype)
    is_numeric = limits is not None or dtype.startswith(("float", "bfloat"))
    values = declaration.distribution.values if declaration.distribution else ()
    are_words = {isinstance(value, str) for value in values}
    if declaration.vocabulary is not None and limits is None:
        cure = "Remove the vocabulary, or give a range."
        notes.error(f"{place}/vocabulary", f"{what}; only integer types hold ids.", cure)
    if declaration.image is not None and not is_numeric:
        notes.error(f"{place}/image", f"{what} and cannot take an image.", "Remove image.")
    if declaration.range is not None and not is_numeric:
        notes.error(f"{place}/range", f"{what} and has no range.", "Remove the range.")
    if are_words and (True in are_words) != (dtype == "string"):
        expected = "text" if dtype == "string" else "numbers"
        notes.error(f"{place}/distribution/values", f"{what}.", f"Write {expected}.")
    if limits is None:
        return
    if declaration.distribution and declaration.distribution.kind == "normal":
        message = f"{what}; normal values are not integers."
        notes.error(f"{place}/distribution", message, "Write integers, with a range.")
    for low, high in declaration.bounds():
        if low < limits[0] or high > limits[1]:
            notes.error(
                f"{place}/range" if declaration.range else place,
                f"Values from {low:g} to {high:g} do not fit in {dtype}.",
                f"{dtype} holds {limits[0]} to {limits[1]}.",
            )


def _check_shape(declaration: DeclaredInput, port: Port, notes: Notes, place: str) -> None:
    """Report sizes that the model's input does not have."""
    own, declared = port.type.sizes, declaration.shape
    if declared is None or own is None:
        return
    pairs = list(zip(own, declared, strict=False))
    if len(own) != len(declared) or any(None not in pair and len(set(pair)) > 1 for pair in pairs):
        message = f"{declaration.name} has the shape {_bracketed(own)}, not {_bracketed(declared)}."
        cure = "Write a size for each axis, the model's own where it is fixed."
        notes.error(f"{place}/shape", message, cure)


def _check_signals(declaration: DeclaredInput, port: Port, notes: Notes, place: str) -> None:
    """Report a window of sound, or bytes of a file, that the model's input has no room for."""
    audio, file, sizes = declaration.audio, declaration.file, port.type.sizes
    if audio is not None and not port.type.tensor_dtype.startswith("float"):
        message = f"{declaration.name} is {port.type.tensor_dtype} and takes no sound."
        notes.error(f"{place}/audio", message, "Remove audio.")
    axis = axis_of(sizes)
    most = sizes[axis] if sizes and axis is not None else None
    for name, size in (("audio", audio and audio.window), ("file", file and file.size)):
        if size and most is not None and size != most:
            message = f"{declaration.name} takes {most:,} values, not {size:,}."
            notes.error(f"{place}/{name}", message, "Correct the numbers.")


def _bracketed(sizes: Sequence[int | None]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in sizes) + "]"


def _check_sizes(image: Image, port: Port, notes: Notes, place: str) -> None:
    """Report what the sizes of the model's input rule out for a picture."""
    shape = port.type.sizes
    if shape is None:
        return
    sizes = _bracketed(shape)
    if len(shape) not in (3, 4):
        message = f"{port.name} has the shape {sizes}, which is not an image's."
        notes.error(place, message, "Remove image.")
        return
    layout = image.layout or layout_of(shape, image.channels)
    if layout is None:
        cure = "Add layout: NCHW or NHWC (CHW or HWC without a batch axis)."
        notes.warn(place, f"The shape {sizes} does not determine the layout.", cure)
        return
    if len(layout) != len(shape):
        notes.error(
            f"{place}/layout",
            f"{layout} names {len(layout)} axes; {port.name} has the shape {sizes}.",
            f"Write {'CHW or HWC' if len(shape) == 3 else 'NCHW or NHWC'}.",
        )
        return
    size = dict(zip(layout, shape, strict=True))
    if image.depth is not None and size["C"] not in (None, image.depth):
        notes.error(
            f"{place}/{'layout' if image.layout else 'channels'}",
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
            message = f"The model takes a {name} of {size[axis]}, not {edge}."
            notes.error(f"{place}/resize/{name}", message, f"{name}: {size[axis]}")
