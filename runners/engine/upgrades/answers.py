"""What the children of an upgrade answer; `runners.engine.runs.answers` reads it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hub.protocol import proofs
from hub.protocol.input_ranges import InputRanges
from runners.engine.runs.answers import Message, Name, Row


@dataclass(frozen=True, slots=True)
class Survey:
    """Opset and IR version of a model, and the highest ones that the runtime loads.

    `source` is 0 for a model without operators of the default domain.
    """

    source: int
    ir_version: int
    highest: int
    highest_ir: int


@dataclass(frozen=True, slots=True)
class Blocking:
    """A node that cannot be converted between two opsets, and why.

    `op` is empty where no node is the reason, `source` is 0 where the opset of the model is not.
    """

    node: Name
    op: Name
    source: int
    target: int
    reason: Message

    @property
    def sentence(self) -> str:
        place = f"node {self.node!r} ({self.op}) " if self.op else ""
        source = f"from operator set {self.source} to {self.target}"
        sets = source if self.source else f"to operator set {self.target}"
        return f"{place}cannot go {sets}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Converted:
    """Result of a conversion: the rules used, and whether anything changed.

    `operators_changed` are those whose meaning differs between the two opsets, or that a rule
    rewrites; `untouched` tells that the operator schemas list no change. `is_twin`: the graph is
    that of the candidate for another opset, and its operators mean the same in both.
    """

    rules: list[str]
    changed: bool
    untouched: bool
    operators_changed: list[str]
    blocking: list[Blocking]
    is_twin: bool = False


@dataclass(frozen=True, slots=True)
class OutputState:
    """The state of an output over all runs, and the operators that lead to it."""

    name: Name
    state: proofs.State
    operators: list[str]
    unseen: proofs.UnseenElements | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A graph inside a node; as `proofs.Branch`, with its operators."""

    node: Name
    op: Name
    name: Name
    nodes: int
    taken: bool
    zero: bool | None
    operators: list[str]
    reachable: bool

    def proof(self, changed: frozenset[str]) -> proofs.Branch:
        """The evidence, given the operators that a conversion changes."""
        return proofs.Branch(
            node=self.node,
            op=self.op,
            name=self.name,
            nodes=self.nodes,
            taken=self.taken,
            zero=self.zero,
            unchanged=changed.isdisjoint(self.operators),
            reachable=self.reachable,
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """Number of nodes, number of nodes that ran, and which inner graphs were entered."""

    nodes: int
    ran: int
    branches: list[Branch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first node of a new model whose value differs from the original's."""

    name: Name
    op: Name
    figures: Row


@dataclass(frozen=True, slots=True)
class Observations:
    """What runs of the original show: the states of its outputs, and the ranges of its inputs."""

    states: list[OutputState]
    ranges: InputRanges


@dataclass(frozen=True, slots=True)
class ReferenceRuns:
    """Whether the reference finds original and new model equal, and why not if that is of note."""

    agrees: bool
    note: Message


@dataclass(frozen=True, slots=True)
class Inside:
    """Number of compared intermediate values, the first node that differs, and their magnitude.

    `is_complete` is False if some values of bodies were not compared, for want of time or since a
    body does not load alone. `largest` is the greatest absolute value of inputs and intermediate
    values; None if one is not finite.
    """

    compared: int
    node: proofs.HiddenDifference | None
    is_complete: bool
    largest: float | None
