"""Attempts of an upgrade to reach one opset each, and what a report says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from hub.protocol.proofs import Proof, Strength
from runners.engine.reports import Finding
from runners.engine.upgrades.answers import Blocking, Difference
from runners.engine.upgrades.goals import Goal
from runners.engine.upgrades.results import TargetStatus

_SHOWN_BLOCKING = 5


@dataclass(slots=True)
class TargetAttempt:
    """The attempt to reach one target opset.

    `untouched` tells that no operator of the model changed between the two opsets; `changed` are
    the operators that did. `checks` are messages of checker and strict inference, empty for none.
    `twin` is the proof of a candidate with the same graph, whose operators mean the same.
    """

    target: int
    result: TargetStatus = TargetStatus.UNTRIED
    reason: str = ""
    blocking: list[Blocking] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    node: Difference | None = None
    checks: dict[str, str] = field(default_factory=dict)
    untouched: bool = False
    changed: list[str] = field(default_factory=list)
    twin: Proof | None = None

    def to_json(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in ("target", "result", "reason")}
        node = {"node": asdict(self.node)} if self.node else {}
        return row | {"blocking": list(map(asdict, self.blocking))} | node


def stepped_down(attempts: list[TargetAttempt]) -> Iterable[Finding]:
    last = attempts[-1]
    if last.result == TargetStatus.UNCHANGED_OPERATORS:
        yield Finding(
            "parity-by-registry",
            "warning",
            f"No run could be compared ({last.reason}). The variant is kept because no operator "
            "of this model changed between the two operator sets.",
        )
    if last.target != attempts[0].target:
        yield Finding(
            "upgrade-stepped-down",
            "info",
            f"Operator set {attempts[0].target} was not reached ({attempts[0].reason}); "
            f"{last.target} is the highest that passed.",
        )


def not_portable(goal: Goal, last: TargetAttempt) -> Finding:
    return Finding(
        "upgrade-not-portable",
        "info",
        f"No operator set up to {goal.targets[0]} was reached ({last.reason}), so runtimes that "
        "load no higher one cannot run this model.",
    )


def gaps(proof: Proof) -> Iterable[Finding]:
    """Finding about what the proof of a new variant leaves open."""
    if proof.strength != Strength.PARTIAL:
        return
    yield Finding(
        "parity-partial",
        "warning",
        f"The new model was {proof.sentence}. It is kept and can be loaded by name, but is not "
        "the default for its operator set. Add test data that cover what is missing, or declare "
        "`inputs:` "
        "on the card.",
    )


def reasons(attempts: list[TargetAttempt]) -> Iterable[Finding]:
    """Findings on failure: the blocking nodes of the first target, then each other reason once."""
    for blocking in attempts[0].blocking[:_SHOWN_BLOCKING]:
        words = f"Blocked: {blocking.sentence}. Export the model again with a newer operator set."
        yield Finding("upgrade-blocked", "error", words, blocking.node)
    distinct = {(attempt.result, attempt.reason): attempt for attempt in reversed(attempts)}
    for attempt in attempts:
        if (
            attempt.result != TargetStatus.BLOCKED
            and distinct[attempt.result, attempt.reason] is attempt
        ):
            yield _reason(attempt)


def _reason(attempt: TargetAttempt) -> Finding:
    target, reason = attempt.target, attempt.reason
    match attempt.result:
        case TargetStatus.PARITY_LOST:
            words = f"At operator set {target} the model returns different values: {reason}."
            where = "" if attempt.node is None else attempt.node.name
            return Finding("parity-lost", "error", words, where)
        case TargetStatus.NOT_PROVABLE:
            words = (
                f"The new model could not be proven equal, so there is no variant: {reason}. "
                "Upload test data (test_data_set_0/input_0.pb, output_0.pb) beside the model, "
                "declare `inputs:` on its card, or upload a model without randomness."
            )
            return Finding("parity-not-proven", "error", words)
        case TargetStatus.CRASHED:
            return Finding("converter-crashed", "error", f"Operator set {target}: {reason}.")
    words = f"Operator set {target} was not reached ({attempt.result}): {reason}"
    return Finding("upgrade-failed", "error", words)
