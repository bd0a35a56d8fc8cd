"""Conversion of single nodes between opsets: by a rule, by the C++ converter, or unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import onnx

from runners.engine.onnx_files.bodies import bodies
from runners.engine.opsets import adapters, functions, rules, schemas
from runners.engine.opsets.adapters import LooseNode
from runners.engine.opsets.names import Names
from runners.engine.opsets.outcome import Blocking, CannotConvertError
from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.scopes import Scope, of_graph

# More rounds than there are opsets mean that a rule does not terminate.
_ROUNDS = 100


@dataclass(slots=True)
class NodeConversion:
    """A node at an opset; after conversion, `parts` replace it."""

    node: onnx.NodeProto
    version: int
    scope: Scope
    origin: onnx.NodeProto
    parts: list[NodeConversion] | None = None
    unruled: tuple[str, ...] = ()

    def nodes(self) -> list[onnx.NodeProto]:
        """The nodes that replace the node."""
        if self.parts is None:
            return [self.node]
        return [node for part in self.parts for node in part.nodes()]


@dataclass(slots=True)
class NodeConverter:
    """Converts nodes in rounds, so that one call of the C++ converter serves many nodes."""

    source: int
    target: int
    names: Names
    used: set[str] = field(default_factory=set)
    blocking: list[Blocking] = field(default_factory=list)
    untouched: bool = True

    def convert(self, conversions: Iterable[NodeConversion]) -> None:
        waiting = list(conversions)
        for _ in range(_ROUNDS):
            if not waiting:
                return
            waiting = self._round(waiting)
        raise RuntimeError("a conversion rule does not come to an end")

    def _round(self, waiting: Sequence[NodeConversion]) -> list[NodeConversion]:
        left: list[NodeConversion] = []
        groups: dict[tuple[int, int], list[NodeConversion]] = defaultdict(list)
        for conversion in waiting:
            goal = self._next(conversion, left)
            if goal is not None:
                groups[conversion.version, goal].append(conversion)
        for (version, goal), together in groups.items():
            left.extend(self._adapt(together, version, goal))
        return left

    def _next(self, conversion: NodeConversion, left: list[NodeConversion]) -> int | None:
        """Finish a node or rewrite it by a rule.

        Else the opset to which the C++ converter takes it.
        """
        op, version = conversion.node.op_type, conversion.version
        if version == self.target or conversion.node.domain != "":
            return None
        if schemas.same(op, version, self.target) or _is_plain_constant(conversion.node):
            return None
        self.untouched = False
        rule = rules.find(op, version, self.target)
        while rule is not None and rule.name in conversion.unruled:
            rule = rules.find(op, rule.target, self.target)
        if rule is None:
            return self._without_rule(conversion, left)
        if rule.takes(version):
            self._rewrite(conversion, rule, left)
            return None
        return rule.source

    def _without_rule(self, conversion: NodeConversion, left: list[NodeConversion]) -> int | None:
        op, version = conversion.node.op_type, conversion.version
        if not schemas.usable(op, version) and not schemas.usable(op, self.target):
            self._block(conversion, "no operator set defines it")
            return None
        if not schemas.usable(op, self.target) and self._expand(conversion, left):
            return None
        if schemas.widened(op, version, self.target):
            return None
        if bodies(conversion.node):
            self._block(conversion, "no adapter for a node that holds graphs")
            return None
        return self.target

    def _rewrite(
        self, conversion: NodeConversion, rule: rules.Rule, left: list[NodeConversion]
    ) -> None:
        case = Case(conversion.node, conversion.version, conversion.scope, self.names)
        try:
            rule.rewrite(case)
        except CannotConvertError as error:
            self._block(conversion, str(error))
            return
        except (IndexError, KeyError, TypeError, ValueError) as error:
            # The model has not been checked yet, so inputs and attributes may be missing or
            # invalid.
            self._block(conversion, f"the node is not what its operator asks for: {error}")
            return
        if case.nodes:
            self.used.add(rule.name)
            self._replace(conversion, case.nodes, rule.leads_to(conversion.version), left)
        else:
            conversion.unruled = (*conversion.unruled, rule.name)
            left.append(conversion)

    def _expand(self, conversion: NodeConversion, left: list[NodeConversion]) -> bool:
        """When converting to an older opset, replace the node by its function.

        False without one.
        """
        if conversion.version <= self.target:
            return False
        nodes = functions.expand(conversion.node, conversion.version, conversion.scope, self.names)
        if nodes:
            self.used.add(functions.WRITTEN_OUT)
            self._replace(conversion, nodes, conversion.version, left)
        return bool(nodes)

    def _adapt(
        self, together: list[NodeConversion], version: int, goal: int
    ) -> list[NodeConversion]:
        left: list[NodeConversion] = []
        loose_nodes = [LooseNode(conversion.node, conversion.scope) for conversion in together]
        adapters.adapt(loose_nodes, version, goal, self.names)
        for conversion, loose_node in zip(together, loose_nodes, strict=True):
            if loose_node.error and not self._expand(conversion, left):
                self._block(conversion, loose_node.error)
            elif loose_node.error:
                continue
            else:
                self._replace(conversion, loose_node.nodes, goal, left)
        return left

    def _replace(
        self,
        conversion: NodeConversion,
        nodes: list[onnx.NodeProto],
        version: int,
        left: list[NodeConversion],
    ) -> None:
        _inherit(conversion.node, nodes)
        scope = conversion.scope
        if version != self.target and len(nodes) > 1:
            scope = _scope_within(nodes, version, conversion.scope)
        conversion.parts = [
            NodeConversion(node, version, scope, conversion.origin, unruled=conversion.unruled)
            for node in nodes
        ]
        left.extend(conversion.parts)

    def _block(self, conversion: NodeConversion, reason: str) -> None:
        first = next((name for name in conversion.origin.output if name), "")
        self.blocking.append(
            Blocking(
                conversion.origin.name or first,
                conversion.origin.op_type,
                conversion.version,
                self.target,
                reason,
            )
        )


def _is_plain_constant(node: onnx.NodeProto) -> bool:
    """Whether it is a constant with a tensor, which means the same in every opset."""
    return node.op_type == "Constant" and [attribute.name for attribute in node.attribute] == [
        "value"
    ]


def _inherit(node: onnx.NodeProto, nodes: list[onnx.NodeProto]) -> None:
    """Give name, documentation and metadata of the old node to the new node that replaces it."""
    last = set(node.output)
    heirs = [new for new in nodes if new.op_type == node.op_type]
    heirs += [new for new in nodes if last & set(new.output)]
    for new in nodes:
        new.name = ""
    if heirs:
        heir = heirs[0]
        heir.name = node.name
        heir.doc_string = node.doc_string
        del heir.metadata_props[:]
        heir.metadata_props.extend(node.metadata_props)


def _scope_within(nodes: list[onnx.NodeProto], version: int, around: Scope) -> Scope:
    """Infer the types of values between new nodes, which the next step may need."""
    graph = onnx.GraphProto(name="fragment")
    inside = {name for node in nodes for name in node.output}
    for name in sorted({name for node in nodes for name in node.input if name} - inside):
        constant, kind = around.constant(name), around.type(name)
        if constant is not None:
            graph.initializer.append(constant)
            graph.initializer[-1].name = name
        elif kind is not None:
            graph.input.append(onnx.ValueInfoProto(name=name, type=kind))
    graph.node.extend(nodes)
    model = onnx.helper.make_model(
        graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", version)]
    )
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # noqa: BLE001 - types are a help, not a condition
        graph = model.graph
    scope = of_graph(graph, around, fixed_inputs=False)
    # The fragment does not know who reads its results.
    scope.names_read = None
    return scope
