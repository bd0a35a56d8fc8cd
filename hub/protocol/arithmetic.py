"""In what arithmetic, and on what device, the figures of a half-precision variant were computed.

The CPU provider of ONNX Runtime computes float16 in float32. What half precision gives is computed
by the ONNX reference, node by node, on as many inputs as its time allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.protocol import stored

# The name of the tolerance profile of half-precision comparisons.
HALF = "fp16"
# Precisions of weights, as `Variant.precision` names them.
_HALVES = ("fp16", "bf16")
_FLOAT32 = "computed in float32 on CPU"


def sentence(parity: Mapping[str, Any]) -> str:
    """How the figures of a comparison with a half-precision variant were computed; else empty."""
    if parity.get("profile") != HALF:
        return ""
    half = stored.mapping(parity.get("half"))
    sets = stored.whole(half.get("sets")) or 0
    if not half:
        return f"{_FLOAT32}; not in half"
    if not sets:
        reason = half.get("reason") or "it gave no outputs"
        return f"{_FLOAT32}; not in half by the reference: {reason}"
    return of(sets)


def of_precision(precision: str) -> str:
    """How a figure of a model of this precision is computed on CPU; empty unless it is of half."""
    return _FLOAT32 if any(half in precision for half in _HALVES) else ""


def of(sets: int) -> str:
    """How a model was computed whose outputs the reference gave on this number of inputs."""
    return f"{_FLOAT32}; in half by the reference on {sets} input{'' if sets == 1 else 's'}"
