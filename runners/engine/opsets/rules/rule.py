"""Rules: an operator, a step between two opsets, and a name for reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from runners.engine.opsets import schemas
from runners.engine.opsets.rules.case import Case

RULES: dict[str, list[Rule]] = defaultdict(list)
# Source of rules for operators that no opset defines; they apply at every opset.
ANYWHERE = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """Converts an operator from opset `source` to `target`; also nodes since opset `accepts`.

    `rewrite` fills `case.nodes` with nodes that are valid at `target`. It leaves them empty if the
    C++ converter can convert the node, and raises CannotConvertError if nothing can.
    """

    op: str
    source: int
    target: int
    name: str
    rewrite: Callable[[Case], None]
    accepts: int

    def lies_between(self, version: int, goal: int) -> bool:
        """Whether a conversion from `version` to `goal` needs this step."""
        if self.source == ANYWHERE:
            return max(version, goal) >= self.target
        if self.target > self.source:
            return version <= self.source and self.target <= goal
        return version >= self.source and self.target >= goal

    def takes(self, version: int) -> bool:
        """Whether a node of this version can be rewritten without other steps before."""
        if self.source == ANYWHERE or schemas.same(self.op, version, self.source):
            return True
        return self.accepts <= version if self.target > self.source else version <= self.accepts

    def leads_to(self, version: int) -> int:
        """The opset of the nodes that the rule writes for a node of this version."""
        return max(version, self.target) if self.source == ANYWHERE else self.target


def rule(
    name: str, *ops: str, source: int, target: int, accepts: int | None = None
) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Register a rewriting for these operators."""

    def register(rewrite: Callable[[Case], None]) -> Callable[[Case], None]:
        for op in ops:
            RULES[op].append(
                Rule(op, source, target, name, rewrite, source if accepts is None else accepts)
            )
        return rewrite

    return register


def find(op: str, version: int, goal: int) -> Rule | None:
    """The first rule between a version and the goal."""
    on_the_way = [rule for rule in RULES.get(op, ()) if rule.lies_between(version, goal)]
    if not on_the_way:
        return None
    return min(on_the_way, key=lambda rule: abs(rule.source - version))
