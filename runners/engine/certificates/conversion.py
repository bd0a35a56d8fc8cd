"""The conversion of a node alone, and the content key of a certificate of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import onnx

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import opsets, runtimes
from runners.engine.certificates.keys import NodeKey, have_same_operators
from runners.engine.opsets import schemas
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
    lower = schemas.since(key.op, key.target) or key.target
    if key.source < lower < key.target:
        nearer = opsets.convert(model, lower)
        # The converter goes from opset to opset, so nothing would follow.
        if nearer.model is not None and have_same_operators(nearer.model, key.target, lower):
            return ConvertedNode(replace(key, target=lower), model, nearer)
    return ConvertedNode(key, model, opsets.convert(model, key.target))


def _complete(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its outputs, which the runtime needs."""
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - the runtime may know them all the same
        return model
