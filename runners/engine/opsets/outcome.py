"""Result of a conversion: a model, or the nodes that block it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True, slots=True)
class Blocking:
    """A node that cannot be converted between the opsets, and why."""

    node: str
    op: str
    source: int
    target: int
    reason: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model, or None and what blocks it; `rules` are the names of rules used.

    `source` is 0 for a model without operators of the default domain, which is returned unchanged.
    `untouched` tells that no operator of the model changed between the opsets.
    """

    model: onnx.ModelProto | None
    source: int
    target: int
    rules: tuple[str, ...] = ()
    blocking: tuple[Blocking, ...] = ()
    untouched: bool = False


class CannotConvertError(Exception):
    """A rule cannot convert this node, since it has no equivalent; the message says why."""


class InvalidModelError(Exception):
    """The opset imports of the model are missing or ambiguous; the message says what is missing."""
