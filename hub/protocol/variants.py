"""The kinds of variants that the hub makes, each declared here alone.

Pages, API, command line and graphs take names, words, options and needs from `KINDS`; the tools
that make a precision stand in `runners/engine/convert/recipes.py`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from hub.protocol import derivations


class Option(enum.StrEnum):
    """What a request may state beside the kind and the source."""

    OPSET = "opset"
    CALIBRATION = "calibration"
    # Names of nodes that stay in float32.
    KEEP_FLOAT32 = "keep_float32"


@dataclass(frozen=True, slots=True)
class VariantKind:
    """A kind of variant: its name, how it is made, its label on pages, and what it takes.

    ``job`` is the kind of job that makes it, ``runtime`` what its worker must offer.
    """

    name: str
    derivation: derivations.Derivation
    job: str
    label: str
    options: frozenset[Option] = frozenset()
    runtime: str = "onnxruntime"


UPGRADE: Final = VariantKind(
    "upgrade",
    derivations.UPGRADE,
    "upgrade",
    "Change opset, equal outputs",
    frozenset({Option.OPSET}),
)
FP16: Final = VariantKind(
    "fp16",
    derivations.CONVERSION,
    "convert",
    "fp16, half precision",
    frozenset({Option.KEEP_FLOAT32}),
)
INT8: Final = VariantKind("int8", derivations.CONVERSION, "convert", "int8, dynamic")
INT8_QDQ: Final = VariantKind(
    "int8-qdq",
    derivations.CONVERSION,
    "convert",
    "int8-qdq, static, calibrated",
    frozenset({Option.CALIBRATION}),
)
KINDS: Final = {kind.name: kind for kind in (UPGRADE, FP16, INT8, INT8_QDQ)}
DERIVATIONS: Final = {kind.derivation.adjective: kind.derivation for kind in KINDS.values()}
JOBS: Final = frozenset(kind.job for kind in KINDS.values())


def with_option(option: Option) -> str:
    """The names of the kinds that take an option, for sentences."""
    return ", ".join(kind.name for kind in KINDS.values() if option in kind.options)
