"""Walks graphs, nodes and attributes, counting and checking as it goes; keeps none of the nodes.

Subgraphs are walked where their node stands, so the order of operators is the order of execution.
"""

from __future__ import annotations

from typing import Any

from runners.engine.onnx_files import tensors, text, values, walk, wire
from runners.engine.onnx_files.vocabulary import (
    ATTRIBUTE_TYPES,
    CATEGORY_OF,
    DEFAULT_DOMAIN,
    OTHER,
    RUNS,
    STANDARD_DOMAINS,
    TEXT_DOMAINS,
    TREE_ENSEMBLES,
    WEIGHT_ATTRIBUTES,
)
from runners.engine.onnx_files.walk import Attribute, NodeUse, Scope, Tensor, Walk

_SINGLE_MESSAGES = frozenset({5, 6, 14, 22})
_TRAINING = "training"
# Operators whose numbers say something about precision or about attention.
_TELLING = frozenset(
    {
        b"GroupQueryAttention",
        b"QuantizeLinear",
        b"DequantizeLinear",
        b"DynamicQuantizeLinear",
        b"MatMulNBits",
        b"GatherBlockQuantized",
        b"MatMulBnb4",
        b"Quant",
        b"BipolarQuant",
    }
)
# Fields of AttributeProto, and FLOAT of TensorProto.DataType.
_ONE_FLOAT, _FLOATS, _FLOAT = 2, 7, 1
_FLOAT_BYTES = 4
# A longer text in an operator that ONNX does not define may be a whole engine with its weights.
_MAX_SETTING_BYTES = 4096
_ENGINE = "EPContext"
_SETTINGS = frozenset({b"activation_params", b"activation_alpha", b"activation_beta", b"scales"})


def read_graph(state: Walk, start: int, end: int, scope: Scope) -> dict[str, Any]:
    """Walk one graph and everything in it; gives its name, documentation, inputs and outputs."""
    state.spend("levels of nested graphs", scope.depth, walk.MAX_DEPTH)
    return _Graph(state, scope).read(start, end)


class _Graph:
    def __init__(self, state: Walk, scope: Scope) -> None:
        self._walk = state
        self._scope = scope
        self._count = 0
        self._stored: set[bytes] = set()
        self._inputs: list[tuple[bytes, dict[str, Any]]] = []
        self._outputs: list[tuple[bytes, dict[str, Any]]] = []
        self._name = self._doc = ""

    def read(self, start: int, end: int) -> dict[str, Any]:
        state = self._walk
        for number, kind, first, second in wire.fields(state.buffer, start, end):
            if number == 1:
                if kind != wire.BYTES:
                    raise wire.MalformedError("a graph's nodes are not messages")
                state.trail.append(self._count)
                self._count += 1
                read_node(state, first, second, self._scope)
                state.trail.pop()
            elif kind == wire.BYTES:
                self._take(number, first, second)
        self._refuse_repeated_names()
        if self._scope.kind != _TRAINING:
            state.outputs[self._scope.sees] = [name for name, _ in self._outputs]
            state.ports.update((self._scope.number, name) for name, _ in self._inputs)
        # Up to IR 3 every initializer had to stand among the inputs: those are not inputs.
        inputs = [value for name, value in self._inputs if name not in self._stored]
        return {
            "name": self._name,
            "doc": self._doc,
            "inputs": inputs,
            "outputs": [value for _, value in self._outputs],
        }

    def _take(self, number: int, first: int, second: int) -> None:
        state = self._walk
        if number == 5:
            self._store(tensors.read_tensor(state, first, second))
        elif number == 15:
            state.sparse += 1
            self._store(tensors.read_sparse(state, first, second))
        elif number == 11:
            self._inputs.append(values.read_value(state, first, second))
        elif number == 12:
            self._outputs.append(values.read_value(state, first, second))
        elif number == 13:
            state.values += 1
            state.spend("graph values", state.values, walk.MAX_VALUES)
        elif number == 2:
            self._name = state.words(first, second, text.NAME_LIMIT)
        elif number == 10:
            self._doc = state.document(first, second, text.DOCUMENT_LIMIT, "doc_string")
        elif number == 16:
            tensors.look_at_metadata(state, first, second)
        elif number != 14:
            state.unknown_fields += 1

    def _store(self, tensor: Tensor) -> None:
        if tensor.name in self._stored:
            self._repeated("initializer", tensor.name)
        self._stored.add(tensor.name)
        if self._scope.kind != _TRAINING:
            self._walk.initializers.append(tensor)
            self._walk.weights[self._scope.number, tensor.name] = tensor

    def _refuse_repeated_names(self) -> None:
        for what, named in (("input", self._inputs), ("output", self._outputs)):
            earlier: set[bytes] = set()
            for name, _ in named:
                if name in earlier:
                    self._repeated(what, name)
                earlier.add(name)

    def _repeated(self, what: str, name: bytes) -> None:
        word = text.decode(name, text.NAME_LIMIT)
        self._walk.refuse("name-repeated", f"Two {what}s of one graph are named {word!r}.")


def read_node(state: Walk, start: int, end: int, scope: Scope) -> None:
    """Walk one node: count its operator, note what it uses, look into its attributes."""
    buffer = state.buffer
    inputs: list[bytes] = []
    outputs: list[bytes] = []
    operator = domain = b""
    inside: list[tuple[int, int]] = []
    named = {1: inputs, 2: outputs}
    before = state.local_paths
    for number, kind, first, second in wire.fields(buffer, start, end):
        if kind != wire.BYTES:
            raise wire.MalformedError(f"node field {number} uses the wire type {kind}")
        if number in named:
            named[number].append(state.name(first, second))
        elif number == 5:
            inside.append((first, second))
        elif number == 4:
            operator = state.name(first, second)
        elif number == 7:
            domain = state.name(first, second)
        elif number in {6, 9}:
            _look_at_words(state, first, second, metadata=number == 9)
    state.local_path_nodes += state.local_paths > before
    _count_node(state, scope, domain, operator)
    attributes = [_read_attribute(state, *place, scope) for place in inside]
    if scope.kind == _TRAINING:
        return
    _keep(state, scope, operator, outputs, attributes)
    integers = {}
    if operator in _TELLING:
        integers = {attribute.name: attribute.integer for attribute in attributes}
    state.flow.append(
        NodeUse(
            scope.sees,
            _word(state, domain) or DEFAULT_DOMAIN,
            _word(state, operator),
            tuple(inputs),
            tuple(outputs),
            tuple(body for attribute in attributes for body in attribute.bodies),
            integers,
        )
    )
    _count_weights(state, domain, operator, attributes)


def _word(state: Walk, name: bytes) -> str:
    """A name of operators or domains as text, the same object for the same name."""
    return state.words_of.setdefault(name, name.decode("ascii", "replace"))


def _look_at_words(state: Walk, start: int, end: int, *, metadata: bool) -> None:
    """Look for paths of the author's machine in a metadata entry or a doc_string."""
    if metadata:
        tensors.look_at_metadata(state, start, end)
    else:
        state.look_for_local_paths(start, end, "doc_string")


def _count_node(state: Walk, scope: Scope, domain: bytes, operator: bytes) -> None:
    state.nodes[scope.kind] += 1
    state.spend("nodes", state.nodes.total(), walk.MAX_NODES)
    if scope.kind == _TRAINING:
        return
    state.operators[domain, operator] += 1
    if scope.kind != "function":
        family = CATEGORY_OF.get(operator.decode("ascii", "replace"), OTHER)
        state.sequence.append(family)


def _keep(
    state: Walk,
    scope: Scope,
    operator: bytes,
    outputs: list[bytes],
    attributes: list[Attribute],
) -> None:
    if operator == b"Constant" and outputs:
        for attribute in attributes:
            if attribute.name == b"value_floats":
                numbers = attribute.floats
                attribute.tensors.append(
                    Tensor(b"", _FLOAT, (numbers,), numbers, _FLOAT_BYTES * numbers)
                )
            for tensor in attribute.tensors:
                state.weights[scope.number, outputs[0]] = tensor
    elif operator.startswith(b"TreeEnsemble"):
        state.tree_nodes += sum(
            attribute.strings for attribute in attributes if attribute.name == b"nodes_modes"
        )


def _count_weights(
    state: Walk, domain: bytes, operator: bytes, attributes: list[Attribute]
) -> None:
    """Count the weights that a node keeps in its attributes, by the number of their data type."""
    name = operator.decode("ascii", "replace")
    place = domain.decode("ascii", "replace") or DEFAULT_DOMAIN
    if place not in STANDARD_DOMAINS:
        longest = None if place in TEXT_DOMAINS else _MAX_SETTING_BYTES
        if name == _ENGINE or any(
            _may_hold_weights(attribute, longest) for attribute in attributes
        ):
            state.uncounted[domain, operator] += 1
        return
    weight_names = WEIGHT_ATTRIBUTES.get((place, name), frozenset())
    for attribute in attributes:
        word = attribute.name.decode("ascii", "replace")
        if word in weight_names:
            state.attribute_weights[_FLOAT] += attribute.floats
            for tensor in attribute.tensors:
                state.attribute_weights[tensor.data_type] += tensor.elements
        elif word == "nodes_modes" and name in TREE_ENSEMBLES:
            # A leaf has a place for a threshold, too, and nothing in it.
            state.attribute_weights[_FLOAT] += attribute.strings - attribute.leaves


def _may_hold_weights(attribute: Attribute, longest: int | None) -> bool:
    """Whether an attribute that ONNX does not define may hold weights; ``longest`` bounds text."""
    if attribute.name in _SETTINGS:
        return False
    is_long = longest is not None and attribute.text_bytes > longest
    return attribute.floats > 1 or bool(attribute.tensors) or is_long


def _read_attribute(state: Walk, start: int, end: int, scope: Scope) -> Attribute:
    state.attributes += 1
    state.spend("attributes", state.attributes, walk.MAX_ATTRIBUTES)
    attribute = Attribute()
    once: set[int] = set()
    for number, kind, first, second in wire.fields(state.buffer, start, end, RUNS["attribute"]):
        if number in _SINGLE_MESSAGES:
            if number in once:
                state.refuse("field-repeated", "An attribute has two values.")
            once.add(number)
        if kind == wire.BYTES:
            _read_content(state, attribute, scope, number, first, second)
        elif number == _FLOATS and kind == wire.RUN:
            attribute.floats += first
        elif number == _ONE_FLOAT:
            attribute.floats += 1
        elif number == 20 and first not in ATTRIBUTE_TYPES:
            state.refuse("attribute-type-unknown", f"ONNX has no attribute type {first}.")
        elif number == 3:
            attribute.integer = wire.signed(first)
    return attribute


def _read_content(
    state: Walk, attribute: Attribute, scope: Scope, number: int, first: int, second: int
) -> None:
    if number == 1:
        attribute.name = state.name(first, second)
    elif number == _FLOATS:
        attribute.floats += (second - first) // 4
    elif number in {4, 9}:
        attribute.strings += number == 9
        attribute.leaves += second - first == 4 and state.buffer[first:second] == b"LEAF"
        attribute.text_bytes += second - first
    elif number in {5, 10}:
        attribute.tensors.append(tensors.read_tensor(state, first, second))
    elif number in {6, 11}:
        state.trail.append(text.decode(attribute.name, 60) or "graph")
        inner = state.inner(scope)
        attribute.bodies.append(inner.sees)
        read_graph(state, first, second, inner)
        state.trail.pop()
    elif number in {22, 23}:
        attribute.tensors.append(tensors.read_sparse(state, first, second))
    elif number == 21 and second > first and scope.kind != "function":
        state.refuse(
            "attribute-reference-outside-function",
            "An attribute refers to a function's parameter, but stands outside any function.",
        )


def read_function(state: Walk, start: int, end: int) -> dict[str, Any]:
    """Walk one local function; gives its domain, name, overload, operator sets and node count."""
    scope = state.function()
    function: dict[str, Any] = {"domain": "", "name": "", "overload": "", "nodes": 0, "opsets": []}
    names = {1: "name", 10: "domain", 13: "overload"}
    state.outputs[scope.sees] = []
    bodies: list[tuple[int, int]] = []
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if kind != wire.BYTES:
            continue
        if number in names:
            function[names[number]] = text.decode(state.name(first, second), text.NAME_LIMIT)
        elif number == 7:
            bodies.append((first, second))
            state.spend("nodes", len(bodies), walk.MAX_NODES)
        else:
            _read_signature(state, scope, number, first, second)
        if number == 9:
            function["opsets"].append(read_opset(state, first, second))
    state.trail.append(f"function {function['name']}")
    for place, (first, second) in enumerate(bodies):
        state.trail.append(place)
        read_node(state, first, second, scope)
        state.trail.pop()
    state.trail.pop()
    function["nodes"] = len(bodies)
    return function


def _read_signature(state: Walk, scope: Scope, number: int, first: int, second: int) -> None:
    """Read an input, an output, an attribute's default or documentation of a function."""
    if number == 4:
        state.ports.add((scope.number, state.name(first, second)))
    elif number == 5:
        state.outputs[scope.sees].append(state.name(first, second))
    elif number in {8, 14}:
        _look_at_words(state, first, second, metadata=number == 14)
    elif number == 11:
        _read_attribute(state, first, second, scope)


def read_opset(state: Walk, start: int, end: int) -> tuple[str, int]:
    """Read one operator-set import; the default domain is always spelled `ai.onnx`."""
    domain, version = "", 0
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if number == 1 and kind == wire.BYTES:
            domain = text.decode(state.name(first, second), text.NAME_LIMIT)
        elif number == 2 and kind == wire.VARINT:
            version = wire.signed(first)
    return domain or "ai.onnx", version
