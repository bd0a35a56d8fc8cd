"""Verdicts of conformance checks, and the findings and messages made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from runners.engine.reports import Finding, Severity
from runners.engine.runs.answers import Comparison, Node, Row, ShapeDifference
from runners.engine.runs.child_runs import title_of

if TYPE_CHECKING:
    from runners.engine.runs.attempts import Attempt


class CheckOutcome(StrEnum):
    """Outcome of a conformance check: a term of the W3C vocabulary EARL 1.0."""

    PASSED = "passed"
    FAILED = "failed"
    CANNOT_TELL = "cantTell"
    INAPPLICABLE = "inapplicable"
    UNTESTED = "untested"


class Blame(StrEnum):
    """What is wrong where outputs differ: the test data, the reference, or the runtime.

    A fault that is gone without graph optimisation is the optimiser's.
    """

    NONE = ""
    DATA = "data"
    REFERENCE = "reference"
    RUNTIME = "runtime"
    OPTIMISER = "optimiser"


# Findings of the checks; the reason is appended to the message.
_NOT_RUN = Finding("conformance-not-run", "error", "The model does not run")
_OVERFLOWS = Finding("half-overflow", "warning", "The model overflows in half precision")
_BLAMED = {
    Blame.DATA: Finding(
        "conformance-wrong-data", "error", "The test data beside the model are wrong"
    ),
    Blame.REFERENCE: Finding(
        "conformance-reference-differs", "error", "The ONNX reference differs"
    ),
    Blame.RUNTIME: Finding("conformance-mismatch", "error", "The runtime is at fault"),
    Blame.OPTIMISER: Finding(
        "conformance-wrong-optimisation", "error", "The runtime's graph optimiser is at fault"
    ),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one check; becomes one measure of the report.

    The outcome is `FAILED` if the runtime or the model is at fault. If the test data or the
    reference are wrong, it is `CANNOT_TELL` and ``blames`` names them. ``profile`` is the name of
    the tolerance, ``datasets`` the number of data sets compared. ``runs`` tells whether the runtime
    ran on at least one input; None if that was not tried. ``graph_pass`` names the passes of the
    optimiser that are at fault, joined by commas. ``overflows`` tells that a half-precision model
    gives infinite values or NaN in half precision, and not in what the runtime computes in.
    """

    outcome: CheckOutcome
    reason: str = ""
    blames: Blame = Blame.NONE
    profile: str = ""
    datasets: int = 0
    outputs: list[Row] = field(default_factory=list)
    node: Node | None = None
    evidence: str = ""
    runs: bool | None = None
    graph_pass: str = ""
    overflows: bool = False

    @property
    def is_failure(self) -> bool:
        """Whether the runtime or the model failed the check."""
        return self.outcome == CheckOutcome.FAILED

    @property
    def fails_the_job(self) -> bool:
        """Whether the job fails: on a failed check, or if a supported model runs on no input."""
        runs_on_nothing = self.outcome == CheckOutcome.CANNOT_TELL and self.runs is False
        return self.is_failure or runs_on_nothing


def findings(verdicts: Iterable[tuple[str, Verdict]]) -> Iterator[Finding]:
    """Findings of the report, given pairs of check and verdict.

    The finding that a model does not run is given once for each reason, not once for each check.
    """
    reasons = set()
    for check, verdict in verdicts:
        runs_unoptimised = verdict.blames == Blame.OPTIMISER
        is_stuck = verdict.runs is False and not runs_unoptimised
        kind = _NOT_RUN if is_stuck else _BLAMED.get(verdict.blames)
        kind = _OVERFLOWS if verdict.overflows else kind
        if kind is None or (verdict.runs is False and verdict.reason in reasons):
            continue
        reasons.add(verdict.reason)
        severity: Severity = "error" if verdict.is_failure else "warning"
        yield Finding(kind.code, severity, f"{kind.message}: {verdict.reason}", check)


def shape_findings(runtime: str, differences: Iterable[ShapeDifference]) -> Iterator[Finding]:
    """A finding for each output whose declared shape the outputs of a runtime contradict."""
    for row in differences:
        words = (
            f"The model declares the output {row.name!r} as {row.declared}, and {runtime} gives "
            f"{row.observed} on {title_of(row.dataset)}. Declare the shape that the outputs have."
        )
        yield Finding("conformance-output-shape", "warning", words, row.name)


def differs(comparison: Comparison, whom: str = "the bundled data") -> str:
    """Message about the first output that differs; empty if none does."""
    first = next((row for row in comparison.rows if not row["agrees"]), None)
    if first is None:
        return ""
    return f"differs from {whom} in {first['dataset']}: {first['reason']}"


def refusal(attempt: Attempt) -> str:
    """Message about the first data set on which a run failed, or about why there was no run."""
    if not attempt.refused:
        return attempt.reason
    name, why = next(iter(attempt.refused.items()))
    return f"refuses {title_of(name)}: {why}"


def place_of(node: Node) -> str:
    """Location of a node: `node 2, Mul, in iteration 3 of the body of node 4, Loop`."""
    words = f"node {node.index}, {node.op}"
    for step in reversed(node.path):
        run = "" if step.iteration is None else f"iteration {step.iteration} of "
        words += f", in {run}the {step.body} of node {step.index}, {step.op}"
    return words
