"""Takes single nodes from one operator set to the other, by rule, by adapter, or as they are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx

from runners.engine.onnx_files.bodies import bodies
from runners.engine.opsets import adapters, functions, rules, schemas
from runners.engine.opsets.adapters import Loose
from runners.engine.opsets.outcome import Blocking, CannotConvertError
from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.scopes import Scope, of_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runners.engine.opsets.names import Names

# More rounds than steps between operator sets mean that a rule feeds itself.
_ROUNDS = 100


@dataclass(slots=True)
class Piece:
    """A node at a version; `parts` replace it once it has been converted."""

    node: onnx.NodeProto
    version: int
    scope: Scope
    origin: onnx.NodeProto
    parts: list[Piece] | None = None
    unruled: tuple[str, ...] = ()

    def nodes(self) -> list[onnx.NodeProto]:
        """Give what stands in the node's place."""
        if self.parts is None:
            return [self.node]
        return [node for part in self.parts for node in part.nodes()]


@dataclass(slots=True)
class Conveyor:
    """Converts pieces round by round, so that one call of the converter serves many nodes."""

    source: int
    target: int
    names: Names
    used: set[str] = field(default_factory=set)
    blocking: list[Blocking] = field(default_factory=list)
    untouched: bool = True

    def convert(self, pieces: Iterable[Piece]) -> None:
        waiting = list(pieces)
        for _ in range(_ROUNDS):
            if not waiting:
                return
            waiting = self._round(waiting)
        raise RuntimeError("a conversion rule does not come to an end")

    def _round(self, waiting: Sequence[Piece]) -> list[Piece]:
        left: list[Piece] = []
        groups: dict[tuple[int, int], list[Piece]] = defaultdict(list)
        for piece in waiting:
            goal = self._next(piece, left)
            if goal is not None:
                groups[piece.version, goal].append(piece)
        for (version, goal), together in groups.items():
            left.extend(self._adapt(together, version, goal))
        return left

    def _next(self, piece: Piece, left: list[Piece]) -> int | None:
        """Finish a piece, rewrite it by a rule, or say to which version it is to be adapted."""
        op, version = piece.node.op_type, piece.version
        if version == self.target or piece.node.domain != "":
            return None
        if schemas.same(op, version, self.target) or _is_plain_constant(piece.node):
            return None
        self.untouched = False
        rule = rules.find(op, version, self.target)
        while rule is not None and rule.name in piece.unruled:
            rule = rules.find(op, rule.target, self.target)
        if rule is None:
            return self._without_rule(piece, left)
        if rule.takes(version):
            self._rewrite(piece, rule, left)
            return None
        return rule.source

    def _without_rule(self, piece: Piece, left: list[Piece]) -> int | None:
        op, version = piece.node.op_type, piece.version
        if not schemas.usable(op, version) and not schemas.usable(op, self.target):
            self._block(piece, "no operator set defines it")
            return None
        if not schemas.usable(op, self.target) and self._expand(piece, left):
            return None
        if schemas.widened(op, version, self.target):
            return None
        if bodies(piece.node):
            self._block(piece, "no adapter for a node that holds graphs")
            return None
        return self.target

    def _rewrite(self, piece: Piece, rule: rules.Rule, left: list[Piece]) -> None:
        case = Case(piece.node, piece.version, piece.scope, self.names)
        try:
            rule.rewrite(case)
        except CannotConvertError as error:
            self._block(piece, str(error))
            return
        except (IndexError, KeyError, TypeError, ValueError) as error:
            # No checker has seen the model yet: inputs and attributes may be missing or odd.
            self._block(piece, f"the node is not what its operator asks for: {error}")
            return
        if case.nodes:
            self.used.add(rule.name)
            self._replace(piece, case.nodes, rule.leads_to(piece.version), left)
        else:
            piece.unruled = (*piece.unruled, rule.name)
            left.append(piece)

    def _expand(self, piece: Piece, left: list[Piece]) -> bool:
        """Going down, write the node out as the function that it is; False when it is none."""
        if piece.version <= self.target:
            return False
        nodes = functions.expand(piece.node, piece.version, piece.scope, self.names)
        if nodes:
            self.used.add(functions.WRITTEN_OUT)
            self._replace(piece, nodes, piece.version, left)
        return bool(nodes)

    def _adapt(self, together: list[Piece], version: int, goal: int) -> list[Piece]:
        left: list[Piece] = []
        loose = [Loose(piece.node, piece.scope) for piece in together]
        adapters.adapt(loose, version, goal, self.names)
        for piece, one in zip(together, loose, strict=True):
            if one.error and not self._expand(piece, left):
                self._block(piece, one.error)
            elif one.error:
                continue
            else:
                self._replace(piece, one.nodes, goal, left)
        return left

    def _replace(
        self, piece: Piece, nodes: list[onnx.NodeProto], version: int, left: list[Piece]
    ) -> None:
        _inherit(piece.node, nodes)
        scope = piece.scope
        if version != self.target and len(nodes) > 1:
            scope = _scope_within(nodes, version, piece.scope)
        piece.parts = [
            Piece(node, version, scope, piece.origin, unruled=piece.unruled) for node in nodes
        ]
        left.extend(piece.parts)

    def _block(self, piece: Piece, reason: str) -> None:
        first = next((name for name in piece.origin.output if name), "")
        self.blocking.append(
            Blocking(
                piece.origin.name or first, piece.origin.op_type, piece.version, self.target, reason
            )
        )


def _is_plain_constant(node: onnx.NodeProto) -> bool:
    """A constant tensor means the same in every version; they differ in other ways to give one."""
    return node.op_type == "Constant" and [one.name for one in node.attribute] == ["value"]


def _inherit(node: onnx.NodeProto, nodes: list[onnx.NodeProto]) -> None:
    """The node that does the old one's work keeps its name, documentation and metadata."""
    last = set(node.output)
    heirs = [one for one in nodes if one.op_type == node.op_type]
    heirs += [one for one in nodes if last & set(one.output)]
    for one in nodes:
        one.name = ""
    if heirs:
        heir = heirs[0]
        heir.name = node.name
        heir.doc_string = node.doc_string
        del heir.metadata_props[:]
        heir.metadata_props.extend(node.metadata_props)


def _scope_within(nodes: list[onnx.NodeProto], version: int, around: Scope) -> Scope:
    """Learn the types of the values between new nodes, which the next step may ask for."""
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
    return of_graph(graph, around, fixed_inputs=False)
