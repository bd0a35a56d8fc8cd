"""What a conversion answers: a model, or the nodes that stand in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True, slots=True)
class Blocking:
    """A node that cannot go from one operator set to the other, and why."""

    node: str
    op: str
    source: int
    target: int
    reason: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model, or None and what blocks it; `rules` names what was rewritten.

    `source` is 0 for a model that uses nothing of the default domain: it comes back unchanged.
    `untouched`: the registry knows no change of any operator in the model between the two.
    """

    model: onnx.ModelProto | None
    source: int
    target: int
    rules: tuple[str, ...] = ()
    blocking: tuple[Blocking, ...] = ()
    untouched: bool = False


class CannotConvertError(Exception):
    """A rule knows its operator and knows that this node has no equal; the words say why."""


class InvalidModelError(Exception):
    """The model says nothing definite about its operator sets; the words say what is missing."""
