"""The strict reader of JSON that somebody else wrote: it gives a dataclass, or says what is wrong.

It reads the answers of servers and of sandboxed children, and the proofs in reports. A field is
read by its type: texts, true and false, whole and finite numbers, dates, words (`Literal` and
`StrEnum`), lists, maps from names, and dataclasses of these. A wrong type, an unknown word, NaN,
infinity and a missing field are refused, true and false are no numbers, and nothing is guessed.
Keys that the dataclass does not have are left out, as a newer writer may add some. The depth is
that of the types; the receiver of the bytes bounds their number. `hub.protocol.stored` is the
lenient reader.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from hub.protocol import stored

_T = TypeVar("_T")


class UnreadableError(ValueError):
    """The data has another shape; the message names the place."""


@dataclass(frozen=True)
class Reader:
    """Reads dataclasses of one origin.

    `readers` take over for types that mean more than their JSON: they get the value and its place.
    `limit` bounds a list, of which it gets the type: it gives the members to read, or raises.
    `is_complete` asks for every field that cannot be null, also for one with a default.
    """

    readers: Mapping[Any, Callable[[Any, str], Any]] = field(default_factory=dict)
    limit: Callable[[Any, list[Any], str], list[Any]] = lambda _, values, __: values
    is_complete: bool = False

    def read(self, kind: type[_T], value: object, place: str = "") -> _T:
        """Read a value as this type; raises UnreadableError."""
        return typing.cast("_T", self._read(kind, value, place))

    def _read(self, kind: Any, value: Any, place: str) -> Any:
        if kind in self.readers:
            return self.readers[kind](value, place)
        origin, parts = typing.get_origin(kind), typing.get_args(kind)
        if kind is Any:
            return value
        if origin in {typing.Union, types.UnionType}:
            return self._read_union(parts, value, place)
        if origin in {list, tuple, dict}:
            return self._read_many(kind, value, place)
        if is_dataclass(kind):
            return self._read_object(typing.cast("type", kind), value, place)
        return _read_scalar(kind, value, place)

    def _read_many(self, kind: Any, value: Any, place: str) -> Any:
        origin, parts = typing.get_origin(kind), typing.get_args(kind)
        if origin is dict:
            rows = check(value, dict, place).items()
            return {str(key): self._read(parts[1], item, f"{place}.{key}") for key, item in rows}
        values = self.limit(kind, check(value, list, place), place)
        items = enumerate(values)
        return origin(self._read(parts[0], item, f"{place}[{at}]") for at, item in items)

    def _read_union(self, kinds: tuple[Any, ...], value: object, place: str) -> object:
        if value is None and types.NoneType in kinds:
            return None
        *others, last = (kind for kind in kinds if kind is not types.NoneType)
        for kind in others:
            try:
                return self._read(kind, value, place)
            except UnreadableError:
                continue
        return self._read(last, value, place)

    def _read_object(self, kind: type, value: object, place: str) -> object:
        row, content = check(value, dict, place), {}
        for name, (hint, has_default) in _fields(kind).items():
            key = name.removesuffix("_")
            below = f"{place}.{key}".lstrip(".")
            if key in row:
                content[name] = self._read(hint, row[key], below)
            elif self.is_complete and types.NoneType in typing.get_args(hint):
                content[name] = None
            elif self.is_complete or not has_default:
                raise UnreadableError(f"{below} is missing")
        return kind(**content)


@cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """The type of each field of a dataclass, and whether it has a default."""
    hints = typing.get_type_hints(kind)
    return {
        member.name: (
            hints[member.name],
            member.default is not MISSING or member.default_factory is not MISSING,
        )
        for member in fields(kind)
    }


def check(value: Any, kind: type[_T], place: str) -> _T:
    """A value of exactly this type; raises UnreadableError."""
    if type(value) is not kind:
        name = "object" if kind is dict else kind.__name__
        raise UnreadableError(f"{place or 'the answer'} is no {name}")
    return value


def count(value: Any, place: str) -> int:
    """A whole number from nought up; raises UnreadableError."""
    if check(value, int, place) < 0:
        raise UnreadableError(f"{place} is below 0")
    return typing.cast("int", value)


def number(value: Any, place: str) -> float:
    """A finite number; raises UnreadableError."""
    if type(value) is not int:
        check(value, float, place)
    amount = stored.finite(value)
    if amount is None:
        raise UnreadableError(f"{place} is not finite")
    return amount


def _read_scalar(kind: Any, value: Any, place: str) -> Any:
    words = typing.get_args(kind)
    if words and value not in words:
        raise UnreadableError(f"{place} is none of {', '.join(map(str, words))}")
    if words:
        return value
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if value not in list(kind):
            raise UnreadableError(f"{place} is none of {', '.join(kind)}")
        return kind(value)
    if kind is float:
        return number(value, place)
    if kind not in {datetime, date}:
        return check(value, kind, place)
    try:
        return kind.fromisoformat(check(value, str, place))
    except ValueError as error:
        raise UnreadableError(f"{place}: {error}") from error
