"""Answers of the hub as frozen objects, and objects as the JSON that they came from."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from datetime import date, datetime
from typing import Any, TypeVar

from hub.protocol import problems

_T = TypeVar("_T")


def read(kind: type[_T], value: object) -> _T:
    """Read a decoded JSON value as a type of `hub.client.rest`.

    Fields that this client does not know, from a newer hub, are left out. Raises Unreachable where
    a field is missing or has another type.
    """
    try:
        return typing.cast("_T", _read(kind, value, ""))
    except (KeyError, TypeError, ValueError) as error:
        raise problems.Unreachable(
            f"The hub's response is not what this client expects ({error}). Is HUB_URL the address "
            "of a model hub? If it is, update the package onnx-hub.",
            is_transient=False,
        ) from error


def plain(value: object) -> Any:
    """The JSON value of an answer: what `read` was given, without unknown fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            item.name.removesuffix("_"): plain(getattr(value, item.name))
            for item in dataclasses.fields(value)
        }
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


@functools.cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """The type of each field of a dataclass, and whether it may be missing."""
    hints = typing.get_type_hints(kind)
    return {
        item.name: (hints[item.name], item.default is not dataclasses.MISSING)
        for item in dataclasses.fields(kind)
    }


def _read(kind: Any, value: object, place: str) -> object:
    if kind is Any:
        return value
    origin = typing.get_origin(kind)
    if origin in {typing.Union, types.UnionType}:
        return _read_union(typing.get_args(kind), value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{place or 'the answer'} is no list")
        item = typing.get_args(kind)[0]
        return tuple(_read(item, one, f"{place}[{at}]") for at, one in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise TypeError(f"{place or 'the answer'} is no object")
        item = typing.get_args(kind)[1]
        return {str(key): _read(item, one, f"{place}.{key}") for key, one in value.items()}
    if dataclasses.is_dataclass(kind):
        return _read_object(typing.cast("type", kind), value, place)
    return _read_scalar(kind, value, place)


def _read_union(kinds: tuple[Any, ...], value: object, place: str) -> object:
    if value is None and type(None) in kinds:
        return None
    causes = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return _read(kind, value, place)
            except (KeyError, TypeError, ValueError) as error:
                causes.append(error)
    raise causes[-1]


def _read_object(kind: type, value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise TypeError(f"{place or 'the answer'} is no object")
    content = {}
    for name, (hint, is_optional) in _fields(kind).items():
        key = name.removesuffix("_")
        if key in value:
            content[name] = _read(hint, value[key], f"{place}.{key}".lstrip("."))
        elif not is_optional:
            raise KeyError(f"{place}.{key} is missing".lstrip("."))
    return kind(**content)


def _read_scalar(kind: Any, value: object, place: str) -> object:
    if kind is datetime and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind is date and isinstance(value, str):
        return date.fromisoformat(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{place or 'the answer'} is no {getattr(kind, '__name__', kind)}")
    return value
