"""The pieces that capabilities add to the pages of a version."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hub.protocol.ports import Port

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.template import Context


class Place(StrEnum):
    """Where a piece stands: among the buttons, below the code, or after a browser's measurement."""

    ACTIONS = "actions"
    USE = "use"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class PagePart:
    """A piece of a page of a version: its place, its template, and further values for that.

    ``values`` are made from the context of the page.
    """

    place: Place
    template: str
    values: Callable[[Context], dict[str, Any]] = lambda _: {}


page_parts = Port(PagePart)
