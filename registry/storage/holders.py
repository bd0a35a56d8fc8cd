"""Who else holds bytes: capabilities above storage plug in here what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from hub.protocol.ports import Port
from registry.models import Blob, Namespace


@dataclass(frozen=True, slots=True)
class Holder:
    """What needs blobs beside the files of versions, which blobs, and when they may go.

    ``rows`` gives, for an expression of a blob's key, querysets that are empty if it is free.
    ``size`` gives the bytes held for a namespace beside the files of its versions. ``may_free``
    says whether any blob may be freed now; ``release`` lets go of one, or says that it cannot yet.
    ``objects`` gives what it keeps in storage beside blobs: keys, each with its size.
    """

    rows: Callable[[Any], list[QuerySet[Any]]] = lambda _: []
    size: Callable[[Namespace], int] = lambda _: 0
    may_free: Callable[[], bool] = lambda: True
    release: Callable[[Blob], bool] = lambda _: True
    objects: Callable[[], Mapping[str, int]] = dict


holders = Port(Holder)


def rows(blob: Any) -> Iterator[QuerySet[Any]]:
    """Every holder's querysets for one blob."""
    for holder in holders:
        yield from holder.rows(blob)


def size(namespace: Namespace) -> int:
    """Bytes that holders keep for a namespace."""
    return sum(holder.size(namespace) for holder in holders)


def may_free() -> bool:
    """Whether every holder lets blobs go for now."""
    return all(holder.may_free() for holder in holders)


def release(blob: Blob) -> bool:
    """Have every holder let go of a blob that nothing needs; False where one cannot."""
    return all(holder.release(blob) for holder in holders)


def objects() -> dict[str, int]:
    """What holders keep in storage beside blobs: keys, each with its size."""
    return {key: size for holder in holders for key, size in holder.objects().items()}
