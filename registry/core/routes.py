"""The addresses that capabilities add to those of the core."""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol.ports import Port


@dataclass(frozen=True, slots=True)
class Route:
    """Addresses: a module with `urlpatterns`, below a ``prefix``; they come before the core's.

    ``closed`` are those that crawlers are asked to leave out, as robots.txt writes them.
    """

    module: str
    prefix: str = ""
    closed: tuple[str, ...] = ()


routes = Port(Route)
