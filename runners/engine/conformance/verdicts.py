"""What a check of conformance found, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runners.engine.reports import Finding, Severity
from runners.engine.runs.child_runs import title_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runners.engine.runs.answers import Comparison, Node, Row
    from runners.engine.runs.shared_runs import Attempt


# The findings of checks, to whose messages the reason is added.
_NOT_RUN = Finding("conformance-not-run", "error", "The model does not run")
_BLAMED = {
    "data": Finding("conformance-wrong-data", "error", "The test data beside the model are wrong"),
    "reference": Finding("conformance-reference-differs", "error", "The ONNX reference differs"),
    "runtime": Finding("conformance-mismatch", "error", "The runtime is at fault"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found; becomes one measure of the report.

    ``failed`` is a failure of the runtime or of the model. Where the data or the reference are
    wrong the outcome is ``cantTell`` and ``blames`` names them: they fail nobody. ``runs`` is
    whether the runtime ran some input to its end; None where that was not tried.
    """

    outcome: str
    reason: str = ""
    blames: str = ""
    profile: str = ""
    datasets: int = 0
    outputs: list[Row] = field(default_factory=list)
    node: Node | None = None
    evidence: str = ""
    runs: bool | None = None

    @property
    def is_failure(self) -> bool:
        """Whether the runtime or the model failed the check."""
        return self.outcome == "failed"

    @property
    def fails_the_job(self) -> bool:
        """Whether the task is not done: a failure, or a supported model that runs on no input."""
        return self.is_failure or (self.outcome == "cantTell" and self.runs is False)


def findings(verdicts: Iterable[tuple[str, Verdict]]) -> Iterator[Finding]:
    """What checks, each with its verdict, mean for the person who reads them.

    That a model does not run is said once for each reason, not once for each check.
    """
    reasons = set()
    for check, verdict in verdicts:
        kind = _NOT_RUN if verdict.runs is False else _BLAMED.get(verdict.blames)
        if kind is None or (kind is _NOT_RUN and verdict.reason in reasons):
            continue
        reasons.add(verdict.reason)
        severity: Severity = "error" if verdict.is_failure else "warning"
        yield Finding(kind.code, severity, f"{kind.message}: {verdict.reason}", check)


def differs(comparison: Comparison, whom: str = "the bundled data") -> str:
    """Say where the first difference lies, or nothing."""
    bad = [row for row in comparison.rows if not row["agrees"]]
    if not bad:
        return ""
    first = bad[0]
    return f"differs from {whom} in {first['dataset']}: {first['reason']}"


def refusal(attempt: Attempt | None) -> str:
    """Say which data set a run refused and why, or why there was no run."""
    if attempt is None or not attempt.refused:
        return attempt.reason if attempt is not None else ""
    name, why = next(iter(attempt.refused.items()))
    return f"refuses {title_of(name)}: {why}"


def place_of(node: Node) -> str:
    """Say where a node is: `node 2, Mul, in iteration 3 of the body of node 4, Loop`."""
    words = f"node {node.index}, {node.op}"
    for step in reversed(node.path):
        run = "" if step.iteration is None else f"iteration {step.iteration} of "
        words += f", in {run}the {step.body} of node {step.index}, {step.op}"
    return words
