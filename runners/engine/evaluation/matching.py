"""Which input of a model gets which input of a split, and in which shape and batches.

Nothing is guessed: what fits in no way, or in several, is refused with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from runners.engine.evaluation.answers import Column, Port

# Rows that are run at once where the model leaves their number free, and values of one input.
BATCH, PICTURES = 64, 16
_BATCH_VALUES = 1 << 24


class UnfitSplitError(ValueError):
    """The split and the model do not fit each other; the message says why."""


@dataclass(frozen=True, slots=True)
class Feed:
    """An input of the split for the model's input at ``port``, of shape ``[batch, *shape]``.

    Where ``is_alone``, the model's input has no axis for the rows and gets ``shape`` itself. The
    shape of pictures is None: that of their preprocessing.
    """

    port: int
    shape: tuple[int, ...] | None
    is_alone: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The feeds in the order of the split's inputs, and how many rows are run at once.

    Where ``is_fixed``, the model takes no other number: the last rows are padded.
    """

    feeds: tuple[Feed, ...]
    batch: int
    is_fixed: bool


def ports_of(
    names: Sequence[str], ports: Sequence[Port], card_inputs: Collection[str] = ()
) -> list[int]:
    """The place of the model's input for each input of a split, by name.

    One input of a split goes to the only required input of a model, whatever their names. The card
    has values for ``card_inputs``. Raises UnfitSplitError.
    """
    required = [
        place
        for place, port in enumerate(ports)
        if port.is_required and (port.name in names or port.name not in card_inputs)
    ]
    by_name: dict[str, int] = {port.name: place for place, port in enumerate(ports)}
    if len(names) == 1 and names[0] not in by_name and len(required) == 1:
        places = required
    else:
        unknown = [name for name in names if name not in by_name]
        if unknown:
            own = ", ".join(port.name for port in ports if port.is_required) or "none"
            raise UnfitSplitError(
                f"The split has an input {unknown[0]!r}, but the model's inputs are {own}."
            )
        places = [by_name[name] for name in names]
    lacking = [ports[place].name for place in required if place not in places]
    if lacking:
        raise UnfitSplitError(f"The split gives no value for the model's input {lacking[0]!r}.")
    for place in places:
        if not ports[place].dtype:
            raise UnfitSplitError(
                f"The model's input {ports[place].name!r} is no tensor of numbers or text."
            )
    return places


def plan(places: Sequence[int], ports: Sequence[Port], columns: Sequence[Column]) -> Plan:
    """How rows are fed to a model. Raises UnfitSplitError."""
    feeds, sizes = [], set()
    for place, column in zip(places, columns, strict=True):
        port = ports[place]
        _check_kind(port, column)
        feed, size = _feed(place, port, column.shape)
        feeds.append(feed)
        sizes.add(size)
    fixed = sizes - {None}
    if len(fixed) > 1:
        raise UnfitSplitError(
            "The model's inputs take different numbers of rows at once: "
            f"{', '.join(map(str, sorted(size for size in fixed if size)))}."
        )
    if fixed:
        return Plan(tuple(feeds), int(fixed.pop() or 1), is_fixed=True)
    largest = max(math.prod(feed.shape or ()) for feed in feeds)
    return Plan(tuple(feeds), max(1, min(BATCH, _BATCH_VALUES // max(1, largest))), is_fixed=False)


def plan_for_pictures(place: int, ports: Sequence[Port]) -> Plan:
    """How pictures are fed to a model. Raises UnfitSplitError."""
    port = ports[place]
    if port.dtype == "text" or port.shape is None or len(port.shape) not in (3, 4):
        raise UnfitSplitError(f"The model's input {port.name!r} does not take pictures.")
    if len(port.shape) == 3:
        return Plan((Feed(place, None, is_alone=True),), 1, is_fixed=True)
    size = port.shape[0]
    return Plan((Feed(place, None),), size or PICTURES, is_fixed=size is not None)


def _check_kind(port: Port, column: Column) -> None:
    if column.is_text != (port.dtype == "text"):
        kind = "text" if port.dtype == "text" else port.dtype
        has = "text" if column.is_text else "numbers"
        raise UnfitSplitError(
            f"The model's input {port.name!r} takes {kind}, but the split has {has} for it."
        )
    if column.missing and not port.dtype.startswith(("float", "bfloat", "text")):
        raise UnfitSplitError(
            f"The model's input {port.name!r} takes {port.dtype}, which cannot be missing; missing "
            f"values in the split: {column.missing:,}."
        )


def _feed(place: int, port: Port, row: tuple[int, ...]) -> tuple[Feed, int | None]:
    """The feed of one input, and the number of rows that it takes at once; None for any."""
    if port.shape is None:
        return Feed(place, row), None
    if port.shape and (shape := _filled(port.shape[1:], row)) is not None:
        return Feed(place, shape), port.shape[0]
    shape = _filled(port.shape, row)
    if shape is not None and None not in port.shape:
        return Feed(place, shape, is_alone=True), 1
    sizes = ", ".join("any" if size is None else str(size) for size in port.shape)
    raise UnfitSplitError(
        f"The model's input {port.name!r} has the shape [{sizes}], but a row of the split has "
        f"{math.prod(row):,} values in the shape {list(row)}."
    )


def _filled(shape: tuple[int | None, ...], row: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that a row's values take, None where they do not fit; at most one size is free."""
    if len(shape) == len(row) and all(
        size in (None, own) for size, own in zip(shape, row, strict=True)
    ):
        return row
    count = math.prod(row)
    fixed = math.prod(size for size in shape if size is not None)
    free = sum(size is None for size in shape)
    if not free:
        return tuple(size or 0 for size in shape) if fixed == count else None
    if free > 1 or not fixed or count % fixed:
        return None
    return tuple(count // fixed if size is None else size for size in shape)
