"""What both sides of the sandbox know of evaluations; imports no library."""

from __future__ import annotations

from typing import Final

# A change of what the figures mean is a new method: results of two are not compared.
METHOD: Final = "1"
RESAMPLES: Final = 2_000
PERCENTILES: Final = (2.5, 97.5)
