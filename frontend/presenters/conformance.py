"""The conformance of a variant in words: its matrix, and what each verdict means.

A cell without a result says why: its job waits, runs or ended without a verdict, or there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from frontend.parts import formatting, labels
from frontend.presenters import parity_figures, version_head
from registry.models import Variant, Version
from runners.models import ConformanceResult, ConformanceVerdict
from runners.proofs import selectors, verdicts

# Check -> title, what it asks.
CHECKS = {
    "bundled": ("Bundled test data", "outputs equal those stored with the version"),
    "reference": ("Reference", "outputs equal the ONNX reference on generated inputs"),
    "optimisation": ("Optimised", "outputs equal those without optimisation"),
    "determinism": ("Determinism", "two runs are bit-identical"),
}
# Verdict, or state of a job -> how a cell says it, what it means.
OUTCOMES = {
    "passed": ("passes", "All outputs agree within the tolerance."),
    "failed": ("fails", "At least one output differs by more than the tolerance."),
    "does-not-run": (
        "does not run",
        "Not supported, or fails on its inputs. Counts as a failure if another runtime succeeds.",
    ),
    "optimiser-wrong": (
        "optimiser wrong",
        "The runtime's graph optimiser breaks the model, which is right without it.",
    ),
    "data-wrong": ("data wrong", "The stored test data is wrong. Does not count as a failure."),
    "reference-wrong": (
        "reference wrong",
        "The ONNX reference is wrong. Does not count as a failure.",
    ),
    "cant-tell": ("can't tell", "No reliable reference to decide. Does not count as a failure."),
    "does-not-apply": ("does not apply", "Nothing to compare."),
    "not-tested": ("not tested", "No test data available. Does not count as a failure."),
    "queued": ("queued", "A job is queued."),
    "running": ("running", "A job is running."),
    "errored": ("not completed", "The job finished without a verdict."),
    "not run": ("not run", "No job queued yet."),
}
_WAITING = ("running", "queued", "not completed", "not run")


def matrix(version: Version, of: selectors.Matrix) -> dict[str, Any]:
    """A matrix in words; every cell leads to its evidence or to the job that will give it."""
    results = [cell.result for cell in of.cells if cell.result is not None]
    awaited = [cell.word for cell in of.cells if cell.result is None]
    # The state of a matrix without results.
    waiting = next((word for word in ("running", "queued") if word in awaited), "not run")
    return {
        "variant": of.variant.name,
        "columns": tuple(_column(of, column) for column in of.columns),
        "rows": tuple(
            (*CHECKS.get(check, (check, "")), tuple(_cell(version, cell) for cell in cells))
            for check, cells in of.rows
        ),
        "sentence": _sentence(results, awaited),
        "summary": tally_text(results) if results else waiting,
        "at": max((result.at for result in results), default=None),
        "builds": tuple(
            f"{labels.runtime(column.runtime)} {column.version}"
            for column in of.columns
            if any(result.runtime == column.runtime and result.runs for result in results)
        ),
    }


def tally_text(results: Iterable[ConformanceResult]) -> str:
    """`3 of 3 pass, 1 not tested`: the share of what passed or failed, and the others apart."""
    tally = verdicts.tally(results)
    if not tally.judged and not tally.apart:
        return "not applicable"
    parts = [f"{tally.passed} of {tally.judged} pass"] if tally.judged else []
    if tally.failed:
        parts.append(f"{tally.failed} {'fails' if tally.failed == 1 else 'fail'}")
    for verdict, number in tally.apart:
        several = verdict == ConformanceVerdict.DOES_NOT_RUN and number > 1
        parts.append(f"{number} {'do not run' if several else verdict.label}")
    return ", ".join(parts)


def of_variant(
    version: Version, variant: Variant | None, matrices: Iterable[selectors.Matrix]
) -> dict[str, Any] | None:
    """The matrix of one variant in words; None for a draft, or where nothing has read the files."""
    for rows in () if version.state in ("draft", "submitted") else matrices:
        if variant is not None and rows.variant.pk == variant.pk:
            return matrix(version, rows)
    return None


def _cell(version: Version, cell: selectors.Cell) -> dict[str, Any]:
    if cell.result is None:
        word, _ = OUTCOMES.get(cell.word, OUTCOMES["not run"])
        return {
            "state": word,
            "spoken": "",
            "value": word,
            "tone": "",
            "url": reverse("job", args=[cell.job.pk]) if cell.job else "",
        }
    result = cell.result
    shape, word, _ = outcome(result)
    value = figure(result)
    tone = "fail" if shape == "failed" else "part" if result.outcome == "cantTell" else ""
    url = version_head.place(version, "conformance", result.pk)
    return {
        "state": shape,
        "spoken": "" if value == word else word,
        "value": value,
        "tone": tone,
        "url": url,
    }


def _column(of: selectors.Matrix, column: selectors.Column) -> dict[str, Any]:
    title = labels.runtime(column.runtime)
    cells = [cell for cell in of.cells if cell.runtime == column.runtime]
    job = next((cell.job for cell in cells if cell.job and not cell.job.is_ended), None)
    if job is None or all(cell.result is None for cell in cells):
        return {
            "title": title,
            "version": column.version,
        }
    return {
        "title": title,
        "version": column.version,
        "again": f"{job.state} again",
        "again_url": reverse("job", args=[job.pk]),
    }


def state(word: str) -> str:
    """The state that the glyph of an outcome shows."""
    return {"passes": "passed", "fails": "failed"}.get(word, word)


def outcome(result: ConformanceResult) -> tuple[str, str, str]:
    """State of the glyph, word and meaning of a result."""
    word, means = OUTCOMES[result.verdict]
    if result.blames == ConformanceResult.Blame.RUNTIME:
        means = f"{means} The runtime caused the failure."
    return "failed" if result.outcome == "failed" else state(word), word, means


def figure(result: ConformanceResult) -> str:
    """The one number or word of a result that a cell has room for."""
    _, word, _ = outcome(result)
    if result.verdict not in (ConformanceVerdict.PASSED, ConformanceVerdict.FAILED):
        return word
    if result.check_kind == "determinism" and result.outcome == "passed":
        return "bit-equal"
    worst = parity_figures.largest(result.figures)
    if worst is None:
        return "equal" if result.outcome == "passed" and result.figures else word
    return formatting.figure(worst)


def _sentence(results: list[ConformanceResult], awaited: list[str]) -> str:
    if not results and not awaited:
        return "Not run: no worker offers a runtime yet."
    words = Counter(OUTCOMES.get(word, OUTCOMES["not run"])[0] for word in awaited)
    parts = [_capital(tally_text(results))] if results else []
    parts += [f"{words[word]} {word}" for word in _WAITING if words[word]]
    return ", ".join(parts)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
