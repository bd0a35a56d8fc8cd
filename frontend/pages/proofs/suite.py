"""Display data of the operator suite: runs by runtime, cases that did not pass, and changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.urls import reverse

from frontend.parts import addresses, formatting, labels
from runners.models import Runtime, SuiteRun
from runners.proofs import selectors

# Outcome -> how a column names it, what it means.
OUTCOMES = {
    "passed": ("Passed", "output matches the specification within the tolerance of the suite"),
    "failed": ("Failed", "output differs from the specification"),
    "unsupported": ("Unsupported", "operator or type not supported by the runtime"),
    "crashed": ("Crashed", "the process of the case crashed"),
    "timed-out": ("Timed out", "no result within the time limit"),
}
ROWS = 80
CASES = 50
REASON = 300


def row(score: selectors.Score, *, newest: bool) -> dict[str, Any]:
    """A run as the board shows it; an older one names its version of onnx in its address."""
    run, cases = score.run, score.cases
    done = run.finished_at is not None
    return {
        "run": run,
        "url": address(run, onnx="" if newest else run.onnx_version),
        "totals": score.totals,
        "counts": tuple(formatting.grouped(score.totals[word]) for word in OUTCOMES),
        "cases": formatting.grouped(cases),
        "share": formatting.share(score.totals["passed"] / cases) if cases else "",
        "state": "" if done else "running" if run.done else "queued",
        "parts": f"{len(run.done)} of {run.parts} parts",
    }


def board(scores: Iterable[selectors.Score]) -> list[dict[str, Any]]:
    """Every run, each runtime's newest first."""
    newest: dict[tuple[str, str], selectors.Score] = {}
    return [
        row(
            score,
            newest=newest.setdefault((score.run.runtime, score.run.runtime_version), score)
            is score,
        )
        for score in scores
    ]


def missing(
    scores: Iterable[selectors.Score],
    current: Iterable[Runtime],
    offered: Mapping[tuple[str, str], str],
) -> list[dict[str, Any]]:
    """The runtimes that are here and have not had the suite in the version that is offered."""
    had = {
        (score.run.runtime, score.run.runtime_version, score.run.onnx_version) for score in scores
    }
    rows = []
    for runtime in current:
        onnx = offered.get((runtime.name, runtime.version), "")
        if (runtime.name, runtime.version, onnx) not in had:
            rows.append(
                {
                    "title": labels.runtime(runtime.name),
                    "runtime": runtime.name,
                    "version": runtime.version,
                    "onnx": onnx,
                }
            )
    return rows


def tallies(
    run: SuiteRun, counts: Iterable[tuple[object, Mapping[str, int]]], key: str, onnx: str
) -> list[dict[str, Any]]:
    """A table by operator or by opset, each row with the way to its cases."""
    return [
        {
            "name": str(name) if name not in (None, "") else "unnamed",
            "url": address(run, onnx=onnx, **{key: str(name)})
            if name and key == "operator"
            else "",
            "totals": totals,
            "counts": tuple((word, formatting.grouped(totals[word])) for word in OUTCOMES),
            "cases": sum(totals.values()),
        }
        for name, totals in counts
    ]


def split(of: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those with a case that did not pass, most of them first, and those that pass whole."""
    rows = list(of)
    whole = [row for row in rows if row["totals"]["passed"] == row["cases"]]
    rest = [row for row in rows if row["totals"]["passed"] != row["cases"]]
    return sorted(rest, key=lambda row: row["totals"]["passed"] - row["cases"]), whole


def address(run: SuiteRun, **choices: str) -> str:
    """The address of a run, with what is chosen on its page."""
    return addresses.join(reverse("score", args=[run.runtime, run.runtime_version]), choices)
