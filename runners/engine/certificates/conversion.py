"""The conversion of a node alone, and the content key of a certificate of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import onnx

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import opsets, runtimes
from runners.engine.opsets import schemas

if TYPE_CHECKING:
    from runners.engine.certificates.keys import NodeKey
    from runners.engine.opsets.outcome import Conversion

# Rises with every change of what is searched or how outputs are compared.
METHOD = 1


@dataclass(frozen=True, slots=True)
class ConvertedNode:
    """A node alone in a model, and what it is converted to.

    `digest` is the SHA-256 (hexadecimal) of the key, of the new nodes, of the method of search and
    of the runtime's version: a certificate of this digest says what a search would say.
    """

    key: NodeKey
    original: onnx.ModelProto
    conversion: Conversion

    @property
    def digest(self) -> str:
        new = self.conversion.model
        content = b"" if new is None else new.graph.SerializeToString(deterministic=True)
        parts = (self.key.digest, content, METHOD, runtimes.of(ONNXRUNTIME).version())
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def converted(key: NodeKey) -> ConvertedNode:
    """Convert the node of a key, to the first opset that means the same as its target.

    For children only, since the libraries may crash.
    """
    model = _complete(key.model())
    conversion = opsets.convert(model, key.target)
    lower = schemas.since(key.op, key.target) or key.target
    if conversion.model is not None and key.source < lower < key.target:
        nearer = opsets.convert(model, lower)
        if nearer.model is not None and _is_same(nearer.model, conversion.model, key.target, lower):
            return ConvertedNode(replace(key, target=lower), model, nearer)
    return ConvertedNode(key, model, conversion)


def _is_same(left: onnx.ModelProto, right: onnx.ModelProto, *opset_pair: int) -> bool:
    """Whether both have the same graph, of operators that mean the same in two opsets."""
    operators = {node.op_type for node in left.graph.node}
    return left.graph == right.graph and all(
        schemas.same(op, *opset_pair) or schemas.widened(op, *opset_pair) for op in operators
    )


def _complete(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its outputs, which the runtime needs."""
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - the runtime may know them all the same
        return model
