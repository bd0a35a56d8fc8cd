"""What a check of conformance found, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runners.engine.trials import shown
from runners.reports import Finding

if TYPE_CHECKING:
    from runners.engine.bench import Attempt, Comparison


@dataclass(frozen=True, slots=True)
class _Kind:
    """A finding's code, and how its message begins."""

    code: str
    words: str


_BLAMED = {
    "data": _Kind("conformance-wrong-data", "The test data beside the model are wrong"),
    "reference": _Kind("conformance-reference-differs", "The ONNX reference differs"),
    "runtime": _Kind("conformance-mismatch", "The runtime is at fault"),
    "": _Kind("conformance-not-run", "The runtime does not run the model"),
}


@dataclass(slots=True)
class Verdict:
    """What one check found; becomes one measure of the report."""

    outcome: str
    reason: str = ""
    blames: str = ""
    profile: str = ""
    sets: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    node: dict[str, Any] | None = None
    evidence: str = ""


def finding(measure: dict[str, Any]) -> Finding:
    """Say of a failed check what its blame means for the person who reads it."""
    kind = _BLAMED[measure["blames"]]
    return Finding(kind.code, "error", f"{kind.words}: {measure['reason']}", measure["check"])


def differs(found: Comparison, whom: str = "the bundled data") -> str:
    """Say where the first difference lies, or nothing."""
    bad = [row for row in found.rows if not row["agrees"]]
    if not bad:
        return ""
    first = bad[0]
    return f"differs from {whom} in {first['dataset']}: {first['reason']}"


def refusal(attempt: Attempt | None) -> str:
    """Say which data set a run refused and why, or why there was no run."""
    if attempt is None or not attempt.refused:
        return attempt.reason if attempt is not None else ""
    name, why = next(iter(attempt.refused.items()))
    return f"refuses {shown(name)}: {why}"
