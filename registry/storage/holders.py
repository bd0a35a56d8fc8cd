"""Who else holds bytes: capabilities above storage register here what they need.

A blob that any of them holds is not collected, and its bytes count in the namespace's quota.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.db.models import QuerySet

    from registry.models import Namespace


@dataclass(frozen=True, slots=True)
class Holder:
    """``rows`` gives, for an expression of a blob's key, querysets that are empty if it is free.

    ``size`` gives the bytes held for a namespace beside the files of its versions.
    """

    rows: Callable[[Any], list[QuerySet[Any]]]
    size: Callable[[Namespace], int]


_holders: dict[str, Holder] = {}


def register(name: str, holder: Holder) -> None:
    """Add a holder when its app is ready; a second one of the same name replaces the first."""
    _holders[name] = holder


def rows(blob: Any) -> Iterator[QuerySet[Any]]:
    """Every registered holder's querysets for one blob."""
    for holder in _holders.values():
        yield from holder.rows(blob)


def size(namespace: Namespace) -> int:
    """Bytes that registered holders keep for a namespace."""
    return sum(holder.size(namespace) for holder in _holders.values())
