"""The interface of a rule to the node that it rewrites."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from runners.engine.opsets.names import Names
from runners.engine.opsets.outcome import CannotConvertError
from runners.engine.opsets.scopes import Scope


class Case:
    """A node in its scope; `nodes` collects the nodes that replace it, in order."""

    def __init__(self, node: onnx.NodeProto, version: int, scope: Scope, names: Names) -> None:
        self.node = node
        self.version = version
        self.nodes: list[onnx.NodeProto] = []
        self._scope = scope
        self._names = names

    def input(self, index: int) -> str:
        """Name of an input, "" if it is omitted."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def output(self, index: int) -> str:
        """Name of an output, "" if it is omitted."""
        return self.node.output[index] if index < len(self.node.output) else ""

    def attribute(self, name: str, default: Any = None) -> Any:
        """Value of an attribute; text is decoded."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                return value.decode() if isinstance(value, bytes) else value
        return default

    def attributes(self, *left_out: str) -> dict[str, Any]:
        """All attributes except those named."""
        return {
            attribute.name: helper.get_attribute_value(attribute)
            for attribute in self.node.attribute
            if attribute.name not in left_out
        }

    def is_read(self, name: str) -> bool:
        """Whether anything reads this value."""
        return bool(name) and self._scope.is_read(name)

    def dtype(self, name: str) -> int:
        """Element type of a tensor; 0 if it is unknown."""
        kind = self._scope.type(name)
        return 0 if kind is None else int(kind.tensor_type.elem_type)

    def shape(self, name: str) -> list[int | None] | None:
        """Shape of a tensor with None for free dimensions; None if the rank is unknown."""
        kind = self._scope.type(name)
        if kind is None or not kind.tensor_type.HasField("shape"):
            return None
        dims = kind.tensor_type.shape.dim
        return [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]

    def rank(self, name: str) -> int:
        """Rank of a tensor; raises CannotConvertError if it is unknown."""
        shape = self.shape(name)
        if shape is None:
            raise CannotConvertError(f"the rank of {name!r} is not known")
        return len(shape)

    def constant(self, name: str) -> np.ndarray[Any, Any] | None:
        """Values of a small constant; None for other values."""
        tensor = self._scope.constant(name) if name else None
        return None if tensor is None else np.asarray(numpy_helper.to_array(tensor))

    def values(self, name: str) -> np.ndarray[Any, Any]:
        """Values of a constant; raises CannotConvertError for other values."""
        constant = self.constant(name)
        if constant is None:
            raise CannotConvertError(f"{name!r} is not a constant")
        return constant

    def add(self, op: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add a node with one output, with a new name by default; returns that name."""
        base = self.output(0) or self.node.op_type
        output = output or self._names.fresh(f"{base}_{op.lower()}")
        values = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, [output], **values))
        return output

    def put(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        """Add a node with these outputs."""
        values = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, outputs, **values))

    def fresh(self, word: str) -> str:
        """A new unused name."""
        return self._names.fresh(f"{self.output(0) or self.node.op_type}_{word}")

    def value(self, content: Any, dtype: int = onnx.TensorProto.INT64) -> str:
        """Add a constant; returns its name."""
        array = np.asarray(content, helper.tensor_dtype_to_np_dtype(dtype))
        return self.add("Constant", [], value=numpy_helper.from_array(array))

    def again(self, *left_out: str, inputs: list[str] | None = None, **changed: Any) -> None:
        """Add the same node with some attributes omitted or changed."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        remaining = [
            attribute for attribute in node.attribute if attribute.name not in {*left_out, *changed}
        ]
        del node.attribute[:]
        node.attribute.extend(remaining)
        node.attribute.extend(
            helper.make_attribute(name, value)
            for name, value in changed.items()
            if value is not None
        )
        if inputs is not None:
            while inputs and not inputs[-1]:
                inputs = inputs[:-1]
            del node.input[:]
            node.input.extend(inputs)
        self.nodes.append(node)
