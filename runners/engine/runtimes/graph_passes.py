"""Passes of ONNX Runtime's graph optimiser: their levels, their rules, and what its log says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Levels of `GraphOptimizationLevel`; each includes those before it."""

    BASIC = "basic"
    EXTENDED = "extended"
    LAYOUT = "layout"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class GraphPasses:
    """The passes of a level, without those that are named (`disabled_optimizers`)."""

    level: Level = Level.ALL
    without: tuple[str, ...] = ()


# Rules that the passes `Level1_RuleBasedTransformer` and `Level2_RuleBasedTransformer` apply, each
# of which can be disabled by its name: `GenerateRewriteRules` in `optimizer_utils.cc`.
RULES = (
    "EliminateIdentity",
    "EliminateSlice",
    "UnsqueezeElimination",
    "EliminateDropout",
    "ExpandElimination",
    "CastElimination",
    "PreShapeNodeElimination",
    "NoopElimination",
    "DivMulFusion",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "NotWhereFusion",
    "ConvAddFusion",
    "ConvMulFusion",
    "ConvBNFusion",
    "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion",
    "LabelEncoderFusion",
    "ClipQuantRewrite",
    "ReluQuantRewrite",
)
_WITH_RULES = "_RuleBasedTransformer"
_BEGUN = re.compile(r"Applying graph transformer (\w+) on step")
_ENDED = re.compile(r"GraphTransformer (\w+) modified: ([01])")


def suspects(log: str) -> list[str]:
    """Names of passes that changed the graph or did not end, the last one first.

    `log` is the verbose log of one session. The rules of a pass of rules precede it.
    """
    names: dict[str, None] = {}
    open_pass = ""
    for line in log.splitlines():
        if begun := _BEGUN.search(line):
            open_pass = begun[1]
        elif ended := _ENDED.search(line):
            open_pass = ""
            if ended[2] == "1":
                names.pop(ended[1], None)
                names[ended[1]] = None
    if open_pass:
        names.pop(open_pass, None)
        names[open_pass] = None
    ordered = []
    for name in reversed(names):
        ordered += [*RULES, name] if name.endswith(_WITH_RULES) else [name]
    return list(dict.fromkeys(ordered))
