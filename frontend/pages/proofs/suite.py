"""The operator suite in words: runs by runtime, what is not passed, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

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


@dataclass(frozen=True, slots=True)
class Row:
    """One run of the suite."""

    runtime: str
    version: str
    onnx: str
    url: str
    totals: Mapping[str, int]
    counts: tuple[str, ...]
    cases: str
    share: str
    state: str
    at: datetime
    parts: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A runtime version that workers offer and the suite has not seen."""

    title: str
    runtime: str
    version: str
    onnx: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How the cases of one operator or opset ended."""

    name: str
    url: str
    totals: Mapping[str, int]
    counts: tuple[tuple[str, str], ...]
    cases: int


def row(score: selectors.Score, *, newest: bool) -> Row:
    """A run as the board shows it; an older one names its version of onnx in its address."""
    run, cases = score.run, score.cases
    done = run.finished_at is not None
    return Row(
        runtime=labels.runtime(run.runtime),
        version=run.runtime_version,
        onnx=run.onnx_version,
        url=address(run, onnx="" if newest else run.onnx_version),
        totals=score.totals,
        counts=tuple(formatting.grouped(score.totals[word]) for word in OUTCOMES),
        cases=formatting.grouped(cases),
        share=formatting.share(score.totals["passed"] / cases) if cases else "",
        state="" if done else "running" if run.done else "queued",
        at=run.finished_at or run.started_at,
        parts=f"{len(run.done)} of {run.parts} parts",
    )


def board(found: Iterable[selectors.Score]) -> list[Row]:
    """Every run, each runtime's newest first."""
    seen: set[tuple[str, str]] = set()
    rows = []
    for score in found:
        named = (score.run.runtime, score.run.runtime_version)
        rows.append(row(score, newest=named not in seen))
        seen.add(named)
    return rows


def missing(
    found: Iterable[selectors.Score],
    current: Iterable[Runtime],
    offered: Mapping[tuple[str, str], str],
) -> list[Missing]:
    """The runtimes that are here and have not had the suite in the version that is offered."""
    had = {(one.run.runtime, one.run.runtime_version, one.run.onnx_version) for one in found}
    rows = []
    for runtime in current:
        onnx = offered.get((runtime.name, runtime.version), "")
        if (runtime.name, runtime.version, onnx) not in had:
            rows.append(Missing(labels.runtime(runtime.name), runtime.name, runtime.version, onnx))
    return rows


def tallies(
    run: SuiteRun, found: Iterable[tuple[object, Mapping[str, int]]], key: str, onnx: str
) -> list[Tally]:
    """A table by operator or by opset, each row with the way to its cases."""
    return [
        Tally(
            name=str(name) if name not in (None, "") else "unnamed",
            url=address(run, onnx=onnx, **{key: str(name)}) if name and key == "operator" else "",
            totals=totals,
            counts=tuple((word, formatting.grouped(totals[word])) for word in OUTCOMES),
            cases=sum(totals.values()),
        )
        for name, totals in found
    ]


def split(found: Iterable[Tally]) -> tuple[list[Tally], list[Tally]]:
    """Those with a case that did not pass, most of them first, and those that pass whole."""
    rows = list(found)
    whole = [one for one in rows if one.totals["passed"] == one.cases]
    rest = [one for one in rows if one.totals["passed"] != one.cases]
    return sorted(rest, key=lambda one: one.totals["passed"] - one.cases), whole


def address(run: SuiteRun, **chosen: str) -> str:
    """The address of a run, with what is chosen on its page."""
    written = urlencode([(name, value) for name, value in chosen.items() if value])
    place = reverse("score", args=[run.runtime, run.runtime_version])
    return f"{place}?{written}" if written else place
