"""The entities that have graphs for themselves, and not because another graph names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from hub.protocol.ports import Port


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Entities with graphs of their own: their rows, what refreshes one, and all public graphs.

    ``refresh`` makes the stored graph of a row equal to it, by its key, and says whether it had
    changed. ``public`` gives the IRI and the text of every graph that there should be.
    """

    rows: Callable[[], QuerySet[Any]]
    refresh: Callable[[int], bool]
    public: Callable[[], Iterator[tuple[str, str]]]


graph_sources = Port(GraphSource)
