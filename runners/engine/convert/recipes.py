"""The recipes: which tool makes a precision, from which operator set on, and with what settings.

A recipe's attempts stand in the order of preference; the next is tried where the tool, or the
loader with the tool's file, fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol import variants
from hub.protocol.variants import VariantKind

# Per-channel weights and the axis of DequantizeLinear came with 13; what the runtime runs, with 7.
_QUANTISING_OPSET, _LEAST_OPSET = 13, 7


@dataclass(frozen=True, slots=True)
class Settings:
    """One attempt: what of the tool's options a reader of the figures should know."""

    name: str
    weights: str
    activations: str
    per_channel: bool = False
    subgraphs: bool = False
    # Operators that stay in float32 beside those that must.
    kept: tuple[str, ...] = ()
    # Change only operators that have weights.
    weights_only: bool = False
    # Keep whole bodies and foreign operators in float32 too.
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a kind of variant with another precision is made."""

    kind: VariantKind
    tool: str
    opset: int
    attempts: tuple[Settings, ...]
    quantises: bool = True

    @property
    def calibrates(self) -> bool:
        """Whether it needs data: a sample, or the version's own."""
        return variants.Option.CALIBRATION in self.kind.options


FP16 = Recipe(
    variants.FP16,
    "onnxruntime.transformers.float16",
    _LEAST_OPSET,
    (
        Settings("plain", "float16", "float16"),
        # The optimiser of onnxruntime 1.31 dies of some half-precision Transpose nodes on CPU.
        Settings("transposes kept", "float16", "float16", kept=("Transpose",)),
        Settings("bodies kept", "float16", "float16", kept=("Transpose",), guarded=True),
    ),
    quantises=False,
)
INT8 = Recipe(
    variants.INT8,
    "onnxruntime.quantization.quantize_dynamic",
    _QUANTISING_OPSET,
    (
        Settings("with bodies", "int8", "uint8, at run time", subgraphs=True),
        Settings("main graph", "int8", "uint8, at run time"),
    ),
)
QDQ = Recipe(
    variants.INT8_QDQ,
    "onnxruntime.quantization.quantize_static",
    _QUANTISING_OPSET,
    (
        Settings("per channel", "int8", "uint8", per_channel=True),
        # The tool cannot requantise the bias of some weights that it quantised per channel.
        Settings("per tensor", "int8", "uint8"),
        # A Softmax over a thousand classes, for one, is all zeros in steps of 1/256.
        Settings("weights only", "int8", "uint8", per_channel=True, weights_only=True),
    ),
)
RECIPES = {recipe.kind.name: recipe for recipe in (FP16, INT8, QDQ)}
