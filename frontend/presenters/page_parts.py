"""The pieces that capabilities add to pages of the core."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hub.protocol.ports import Port

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.template import Context


class Place(StrEnum):
    """Where a piece stands: which page, and where on it."""

    # Of a version: among the buttons, below the code, after its provenance, and where a measurement
    # was made in a browser.
    ACTIONS = "actions"
    USE = "use"
    ORIGIN = "origin"
    REPEAT = "repeat"
    # Of a namespace: after its members and its room.
    NAMESPACE = "namespace"


@dataclass(frozen=True, slots=True)
class PagePart:
    """A piece of a page of the core: its place, its template, and further values for that.

    ``values`` are made from the context of the page.
    """

    place: Place
    template: str
    values: Callable[[Context], dict[str, Any]] = lambda _: {}


page_parts = Port(PagePart)
