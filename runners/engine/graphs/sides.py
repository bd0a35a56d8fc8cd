"""The two models of a difference: nodes with their inputs, and weights in pairs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.numpy_helper

from runners.engine.graphs import skeleton
from runners.engine.onnx_files import nodes, text, wire

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stored = onnx.TensorProto | onnx.AttributeProto

_MARK = re.compile(r"@(\d+):(\d+)")
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a node: a node's output, a stored tensor, or an input of the graph.

    ``place`` distinguishes inputs of the graph: by index or by name.
    """

    name: str = ""
    type: str = ""
    maker: int | None = None
    output: int = 0
    stored: onnx.TensorProto | None = None
    place: str = ""

    @property
    def label(self) -> str:
        return f"{self.name} {self.type}".strip()


NOTHING = Input()


@dataclass(slots=True)
class Placed:
    """A node with its place in the graph."""

    index: int
    path: str
    proto: onnx.NodeProto
    inputs: list[Input]
    outputs: list[tuple[str, str]]

    @property
    def domain(self) -> str:
        return "" if self.proto.domain == "ai.onnx" else self.proto.domain

    @property
    def kind(self) -> str:
        """Its operator with its domain, if that is not the default one."""
        return f"{self.domain}.{self.proto.op_type}" if self.domain else self.proto.op_type


@dataclass(slots=True)
class Side:
    """One model: its marked skeleton, its nodes, its bytes, and the folder of its external data."""

    model: onnx.ModelProto
    inferred: bool
    buffer: wire.Buffer
    folder: Path
    nodes: list[Placed] = field(default_factory=list)


@contextlib.contextmanager
def opened(folder: Path, entry: str, *, infer: bool) -> Iterator[Side]:
    """A model under a folder as one side; raises what `skeleton.cut_out` and protobuf raise."""
    place = folder.joinpath(*entry.split("/"))
    with wire.mapped(place) as buffer:
        content, _ = skeleton.cut_out(buffer, marking=True)
        model, inferred = onnx.ModelProto.FromString(content), False
        if infer:
            model, inferred = nodes.with_shapes(model)
        side = Side(model, inferred, buffer, place.parent)
        side.nodes = list(_placed(model))
        yield side


def _placed(model: onnx.ModelProto) -> Iterator[Placed]:
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in stored]
    places = {name: f"#{place}" for place, name in enumerate(inputs)}
    for index, (path, node, scope) in enumerate(nodes.walk(model)):
        reads = [_input(name, scope, places) for name in node.input]
        outputs = [
            (text.clip(name, nodes.NAME_CHARACTERS), scope.types.get(name, ""))
            for name in node.output
        ]
        yield Placed(index, path, node, reads, outputs)
        for position, name in enumerate(node.output):
            if name:
                scope.producers[name] = (index, position)
                scope.stored.pop(name, None)


def _input(name: str, scope: nodes.Scope, places: dict[str, str]) -> Input:
    if not name:
        return NOTHING
    label, kind = text.clip(name, nodes.NAME_CHARACTERS), scope.types.get(name, "")
    if name in scope.producers:
        maker, output = scope.producers[name]
        return Input(label, kind, maker, output)
    if name in scope.stored:
        return Input(label, kind, stored=scope.stored[name])
    return Input(label, kind, place=places.get(name, name))


def stored_in(attribute: onnx.AttributeProto) -> Stored | None:
    """The weights of an attribute: its tensor, or the attribute itself if its values were cut."""
    if attribute.type == onnx.AttributeProto.TENSOR:
        return attribute.t
    return attribute if _MARK.fullmatch(attribute.doc_string) else None


def plain(attribute: onnx.AttributeProto) -> bytes:
    """An attribute's value as bytes; without graphs, since their nodes are compared."""
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    for name in ("g", "graphs", "doc_string"):
        copy.ClearField(name)
    return bytes(copy.SerializeToString(deterministic=True))


@dataclass(frozen=True, slots=True)
class Distance:
    """Relative distance of stored values: ||after - before|| / ||before||; None if undefined.

    ``squares`` are the sums of both squares; empty for sizes and indices, which would outweigh all
    weights.
    """

    equal: bool
    norm: float | None = None
    squares: tuple[float, float] = (0.0, 0.0)


class Weights:
    """Stored values of two sides, each pair compared once."""

    def __init__(self, old: Side, new: Side) -> None:
        self._old, self._new = old, new
        self._distances: dict[tuple[int, int], Distance] = {}
        # Compared objects stay alive, so that no id is reused.
        self._alive: list[Any] = []

    def distance(self, was: Stored, now: Stored) -> Distance:
        """The distance of two tensors, or of two attributes of many values."""
        key = id(was), id(now)
        if key not in self._distances:
            self._alive += [was, now]
            self._distances[key] = _distance(self._old, was, self._new, now)
        return self._distances[key]

    def summary(self) -> dict[str, Any]:
        """The number of pairs, and the norm of all changes relative to that of all weights."""
        distances = list(self._distances.values())
        change = sum(distance.squares[0] for distance in distances)
        whole = sum(distance.squares[1] for distance in distances)
        return {
            "compared": len(distances),
            "equal": sum(distance.equal for distance in distances),
            "norm": float(np.sqrt(change / whole)) if whole > 0 and np.isfinite(change) else None,
        }


def _distance(old: Side, was: Stored, new: Side, now: Stored) -> Distance:
    first, second = _values(old, was), _values(new, now)
    if first is None or second is None or first.shape != second.shape:
        return Distance(_message(old, was) == _message(new, now))
    if first.dtype == object or first.dtype.kind not in "biufc":
        same = bool(np.array_equal(first, second))
        return Distance(same, 0.0 if same else None)
    a, b = first.reshape(-1), second.reshape(-1)
    change = whole = 0.0
    equal = True
    for start in range(0, a.size, _AT_ONCE):
        left, other = a[start : start + _AT_ONCE], b[start : start + _AT_ONCE]
        equal = equal and bool(np.array_equal(left, other, equal_nan=left.dtype.kind in "fc"))
        wide = np.complex128 if left.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            moved = np.abs(other.astype(wide) - left.astype(wide))
            change += float(np.dot(moved, moved))
            size = np.abs(left.astype(wide))
            whole += float(np.dot(size, size))
    if first.dtype.kind == "b" or (first.dtype.kind in "iu" and first.dtype.itemsize > 2):
        return Distance(equal, 0.0 if equal else _ratio(change, whole))  # sizes and places
    if equal:
        return Distance(equal=True, norm=0.0, squares=(0.0, whole if np.isfinite(whole) else 0.0))
    norm = _ratio(change, whole)
    return Distance(False, norm, (change, whole) if norm is not None else (0.0, 0.0))


def _ratio(change: float, whole: float) -> float | None:
    """The relative norm from two sums of squares; None if it is not finite."""
    if not (np.isfinite(change) and np.isfinite(whole)) or whole <= 0:
        return None
    return float(np.sqrt(change / whole))


def _values(side: Side, stored: Stored) -> NDArray[Any] | None:
    """Stored values as an array, floats of any width as such; None if they are no array."""
    raw = _message(side, stored)
    if isinstance(stored, onnx.AttributeProto):
        whole = onnx.AttributeProto.FromString(raw)
        if whole.type == onnx.AttributeProto.TENSOR:
            return None
        for name, kind in (("floats", np.float32), ("ints", np.int64)):
            if len(getattr(whole, name)):
                return np.array(getattr(whole, name), kind)
        return None
    tensor = onnx.TensorProto.FromString(raw)
    try:
        values: NDArray[Any] = onnx.numpy_helper.to_array(tensor, str(side.folder))
    except (ValueError, TypeError, KeyError):
        return None
    # Types of other libraries, for widths that numpy does not support.
    return values if values.dtype.kind in "biufcO" else values.astype(np.float32)


def _message(side: Side, stored: Stored) -> bytes:
    mark = _MARK.fullmatch(stored.doc_string)
    if mark is None:
        return bytes(stored.SerializeToString(deterministic=True))
    return bytes(side.buffer[int(mark[1]) : int(mark[2])])
