"""Converts models between versions of the default operator set without losing anything on the way.

Only nodes whose operator changed are touched: a small rule rewrites them, or the C++ converter gets
them alone. Nothing is run here, and no weight is needed; a caller proves parity afterwards.
"""

from __future__ import annotations

from runners.engine.opsets.conversion import convert
from runners.engine.opsets.outcome import Blocking, Conversion

__all__ = ["Blocking", "Conversion", "convert"]
