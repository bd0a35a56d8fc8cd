"""The lenient reader of stored documents: what is absent or has another shape is empty.

A document was checked when it was stored, perhaps by an earlier version; nothing of it is refused.
`hub.protocol.strict` reads what nobody has checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Section = TypeVar("_Section", bound="DataclassInstance")


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number; true and false are none, though Python counts with them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_scalar(value: object) -> TypeGuard[str | float]:
    """Whether a value is a text or a number."""
    return isinstance(value, str) or is_number(value)


def mapping(value: object) -> dict[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    """The objects of a list, without its other members; none where it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """A text; empty for anything else."""
    return value if isinstance(value, str) else ""


def whole(value: object) -> int | None:
    """A whole number; None for anything else, also for true and false."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def finite(value: object) -> float | None:
    """A number that is finite as a float; None for anything else, also for infinity and NaN."""
    if not is_number(value):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


def wholes(value: object) -> list[int]:
    """The whole numbers of a list, without its other members; none where it is no list."""
    return [item for item in value if whole(item) is not None] if isinstance(value, list) else []


def count(value: object) -> int:
    """A whole number; 0 for anything else."""
    return whole(value) or 0


def amount(value: object) -> float | None:
    """A number from nought up; None for anything else, also for true and false."""
    return value if is_number(value) and 0 <= value < 1e15 else None


def amounts(value: object) -> dict[str, float]:
    """The numbers of an object by name, without its other members."""
    rows_ = ((name, amount(item)) for name, item in mapping(value).items())
    return {name: number for name, number in rows_ if number is not None}


def texts(value: object) -> tuple[str, ...]:
    """The members of a list as texts."""
    return tuple(map(str, value)) if isinstance(value, list) else ()


_READERS: dict[str, Callable[[Any], Any]] = {
    "int": count,
    "int | None": whole,
    "float | None": amount,
    "str": text,
    "bool": lambda value: value is True,
    "tuple[str, ...]": texts,
    "tuple[int, ...]": tuple,
    "Mapping[str, float]": amounts,
    "Mapping[str, Any]": mapping,
}


@dataclass(frozen=True)
class Reader:
    """Reads sections of documents as dataclasses; `readers` are those of types of their own."""

    readers: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    def read(self, kind: type[_Section], value: object, **values: Any) -> _Section:
        """A section: `values`, and the fields of the same names as the section has."""
        row, readers = mapping(value), _READERS | dict(self.readers)
        for item in fields(kind):
            if item.name in row and item.name not in values:
                values[item.name] = readers[str(item.type)](row[item.name])
        return kind(**values)
