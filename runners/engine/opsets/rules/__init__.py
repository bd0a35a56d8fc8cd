"""The small rules, one for each operator and step the C++ converter cannot do or does wrongly."""

from __future__ import annotations

from runners.engine.opsets.rules import (
    broadcasting,
    control,
    experimental,
    lowering,
    normalising,
    quantising,
    recurrent,
    resizing,
    shaping,
    softmax,
)
from runners.engine.opsets.rules.rule import Rule, find

__all__ = [
    "Rule",
    "broadcasting",
    "control",
    "experimental",
    "find",
    "lowering",
    "normalising",
    "quantising",
    "recurrent",
    "resizing",
    "shaping",
    "softmax",
]
