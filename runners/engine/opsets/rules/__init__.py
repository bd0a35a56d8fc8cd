"""Rules for operators and steps that the C++ converter cannot convert, or converts incorrectly."""

from __future__ import annotations

from runners.engine.opsets.rules import (
    control,
    experimental,
    lowering,
    normalising,
    quantising,
    resizing,
    shaping,
)
from runners.engine.opsets.rules.rule import Rule, find

__all__ = [
    "Rule",
    "control",
    "experimental",
    "find",
    "lowering",
    "normalising",
    "quantising",
    "resizing",
    "shaping",
]
