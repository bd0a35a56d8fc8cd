"""Conversion of models between versions of the default operator set (opset).

Only nodes whose operator changed are converted: by a small rule, or alone by the C++ converter of
onnx. The model is not run and weights are not read; the caller proves that both models are equal.
"""

from __future__ import annotations

from runners.engine.opsets.conversion import convert
from runners.engine.opsets.outcome import Blocking, Conversion

__all__ = ["Blocking", "Conversion", "convert"]
