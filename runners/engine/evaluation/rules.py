"""What both sides of the sandbox know of evaluations; imports no library."""

from __future__ import annotations

from typing import Final

# A change of what the figures or their intervals mean is a new method.
METHOD: Final = "2"
RESAMPLES: Final = 2_000
