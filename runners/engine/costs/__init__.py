"""Costs of the nodes of a graph: multiplications, bytes and memory, by its free dimensions."""

from __future__ import annotations

from typing import Final

# Version of the counting; a higher number makes older costs be counted again.
# 2: alternatives of branches, loops by their conditions, nodes in topological order, parameters.
METHOD: Final = 2
