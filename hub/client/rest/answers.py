"""Answers of the hub as frozen objects, and objects as the JSON that they came from."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime
from typing import Any, TypeVar

from hub.protocol import problems, strict

_T = TypeVar("_T")
_READER = strict.Reader()


def read(kind: type[_T], value: object) -> _T:
    """Read a decoded JSON value as a type of `hub.client.rest`.

    Fields that this client does not know, from a newer hub, are left out. Raises Unreachable where
    a field is missing or has another type.
    """
    try:
        return _READER.read(kind, value)
    except strict.UnreadableError as error:
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
