"""Costs of the nodes of a graph: multiplications, bytes and memory, by its free dimensions."""

from __future__ import annotations

from typing import Final

# Version of the counting; a higher number makes older costs be counted again.
METHOD: Final = 1
