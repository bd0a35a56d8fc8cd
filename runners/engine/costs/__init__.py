"""What each node of a graph costs: multiplications, bytes and memory, by its free dimensions."""

from __future__ import annotations

from typing import Final

# How costs are counted; a higher number has what was counted before counted again.
METHOD: Final = 1
