"""What else states something in the graph of a version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol.ports import Port
from metadata.rdf.graph import Graph
from registry.models import Version

# Writes statements about a version into its graph, given its IRI.
Describe = Callable[["Graph", str], None]


@dataclass(frozen=True, slots=True)
class VersionPart:
    """Statements in the graph of a version: what reads its rows, and returns what writes them."""

    read: Callable[[Version], Describe]


version_parts = Port(VersionPart)
