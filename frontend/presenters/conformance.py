"""The conformance of a variant in words: its matrix, one cell's evidence, and what EARL words mean.

A cell that nothing has filled says why: its job waits, runs or ended without a verdict, or there is
none.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.urls import reverse

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.presenters import figures, version_head
from runners.models import ConformanceResult, ConformanceVerdict
from runners.proofs import verdicts
from runners.queue import aliases

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from frontend.presenters.figures import Line
    from registry.models import Variant, Version
    from runners.proofs import selectors

# Check -> title, what it asks.
CHECKS = {
    "bundled": ("Bundled test data", "outputs equal those stored with the version"),
    "reference": ("Reference", "outputs equal the ONNX reference on generated inputs"),
    "optimisation": ("Optimised", "outputs equal those without optimisation"),
    "determinism": ("Determinism", "two runs are bit-identical"),
}
# Verdict, or state of a job -> how a glyph names it, how a cell says it, what it means.
OUTCOMES = {
    "passed": ("passed", "passes", "All outputs agree within the tolerance."),
    "failed": ("failed", "fails", "At least one output differs by more than the tolerance."),
    "does-not-run": (
        "does not run",
        "does not run",
        "Not supported, or fails on its inputs. Counts as a failure if another runtime succeeds.",
    ),
    "data-wrong": (
        "data wrong",
        "data wrong",
        "The stored test data is wrong. Does not count as a failure.",
    ),
    "reference-wrong": (
        "reference wrong",
        "reference wrong",
        "The ONNX reference is wrong. Does not count as a failure.",
    ),
    "cant-tell": (
        "can't tell",
        "can't tell",
        "No reliable reference to decide. Does not count as a failure.",
    ),
    "does-not-apply": ("does not apply", "does not apply", "Nothing to compare."),
    "not-tested": (
        "not tested",
        "not tested",
        "No test data available. Does not count as a failure.",
    ),
    "queued": ("queued", "queued", "A job is queued."),
    "running": ("running", "running", "A job is running."),
    "errored": ("not completed", "not completed", "The job finished without a verdict."),
    "not run": ("not run", "not run", "No job queued yet."),
}
# As runners.engine.runs.agreement has them, which pages cannot import; a test compares the two.
PROFILES = {
    "fp32": "relative 0.001, absolute 0.000 01",
    "fp16": "relative 0.01, absolute 0.001",
    "quantised": "cosine 0.99 or one quantisation step; else relative 0.001, absolute 0.000 01",
    "exact": "none: must be bit-identical",
}
_WAITING = ("running", "queued", "not completed", "not run")
SETS_SHOWN, FILES_SHOWN, FLAGS_SHOWN = 8, 8, 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One check on one runtime: a glyph, a word that is spoken, and what is read."""

    state: str
    spoken: str
    value: str
    tone: str
    url: str


@dataclass(frozen=True, slots=True)
class Column:
    """A runtime; ``again`` says that its checks are under way once more."""

    title: str
    version: str
    again: str = ""
    again_url: str = ""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What each runtime says of a variant, at a glance: a state for each, and all in words."""

    states: tuple[str, ...]
    spoken: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Checks by runtimes, as a page shows them."""

    variant: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]
    sentence: str
    summary: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Node:
    """The first node whose output diverged; ``inside`` says in which body, from the inside out."""

    name: str
    operator: str
    index: int | None
    inside: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Set:
    """One data set that was run, with the files of the version that hold it: name and address."""

    name: str
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Older:
    """A result of the same check, newest or not."""

    url: str
    state: str
    word: str
    value: str
    version: str
    at: datetime
    job: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """One result with everything behind it."""

    check: str
    asks: str
    runtime: str
    runtime_name: str
    runtime_version: str
    variant: str
    state: str
    word: str
    means: str
    reason: str
    profile: str
    tolerance: str
    datasets: int
    sets: tuple[Set, ...]
    took: str
    at: datetime
    job: str
    worker: str
    versions: tuple[tuple[str, str], ...]
    around: tuple[str, ...]
    command: str
    lines: tuple[Line, ...]
    more: int
    node: Node | None
    download: str
    download_name: str
    history: tuple[Older, ...]
    newest_url: str
    outdated: bool


def matrix(version: Version, found: selectors.Matrix) -> Matrix:
    """A matrix in words; every cell leads to its evidence or to the job that will give it."""
    rows = tuple(
        (*CHECKS.get(check, (check, "")), tuple(_cell(version, cell) for cell in cells))
        for check, cells in found.rows
    )
    results = [cell.result for cell in found.cells if cell.result is not None]
    awaited = [cell.word for cell in found.cells if cell.result is None]
    return Matrix(
        variant=found.variant.name,
        columns=tuple(_column(found, row) for row in found.columns),
        rows=rows,
        sentence=_sentence(results, awaited),
        summary=tally_text(results) if results else _state(awaited),
        at=max((result.at for result in results), default=None),
    )


def tally_text(results: Iterable[ConformanceResult]) -> str:
    """`3 of 3 pass, 1 not tested`: the share of what passed or failed, and the others apart."""
    tally = verdicts.tally(results)
    if not tally.judged and not tally.apart:
        return "not applicable"
    parts = [f"{tally.passed} of {tally.judged} pass"] if tally.judged else []
    if tally.failed:
        parts.append(f"{tally.failed} {'fails' if tally.failed == 1 else 'fail'}")
    return ", ".join([*parts, *(_many(verdict, number) for verdict, number in tally.apart)])


def _many(verdict: ConformanceVerdict, number: int) -> str:
    if verdict == ConformanceVerdict.DOES_NOT_RUN and number > 1:
        return f"{number} do not run"
    return f"{number} {verdict.label}"


def glyphs(results: Iterable[ConformanceResult], variant: Variant | None) -> Glyphs | None:
    """A glyph for each runtime that ran a variant, by name; None where none did."""
    found: dict[str, list[ConformanceResult]] = {}
    for result in results:
        if variant is not None and result.variant_id == variant.pk:
            found.setdefault(result.runtime, []).append(result)
    if not found:
        return None
    told = {name: verdicts.together(found[name]) for name in sorted(found)}
    said = [f"{words.runtime(name)}: {verdict.label}" for name, verdict in told.items()]
    return Glyphs(
        states=tuple(str(verdict.label) for verdict in told.values()),
        spoken=", ".join(said),
        sentence=_runtimes(list(told.values())),
    )


def _runtimes(told: list[ConformanceVerdict]) -> str:
    """On how many of the runtimes that passed or failed it passes, and the others apart."""
    passing = told.count(ConformanceVerdict.PASSED)
    judged = passing + told.count(ConformanceVerdict.FAILED)
    said = []
    if judged:
        many = formatting.plural(judged, "runtime")
        said.append(f"{passing} of {many} {'passes' if passing == 1 else 'pass'}")
    for verdict, number in Counter(told).items():
        if verdict not in (ConformanceVerdict.PASSED, ConformanceVerdict.FAILED):
            said.append(f"{verdict.label} on {number}")
    return _capital(", ".join(said))


def chosen(version: Version, variant: Variant | None, found: Iterable[selectors.Matrix]) -> Any:
    """The matrix of one variant in words; None for a draft, or where nothing has read the files."""
    for one in () if version.state in ("draft", "submitted") else found:
        if variant is not None and one.variant.pk == variant.pk:
            return matrix(version, one)
    return None


def evidence(
    version: Version, result: ConformanceResult, history: Iterable[ConformanceResult]
) -> Evidence:
    """A result's page; ``history`` is every result of the same check, newest first."""
    told = list(history)
    state, word, means = _outcome(result)
    all_lines = figures.lines(result.figures)
    title, asks = CHECKS.get(result.check_kind, (result.check_kind, ""))
    report = result.job.typed_report
    kept = result.evidence if version.state != "withdrawn" else None
    newest = told[0] if told else result
    return Evidence(
        check=title,
        asks=asks,
        runtime=words.runtime(result.runtime),
        runtime_name=result.runtime,
        runtime_version=result.runtime_version,
        variant=result.variant.name,
        state=state,
        word=word,
        means=means,
        reason=result.reason,
        profile=result.profile,
        tolerance=PROFILES.get(result.profile, ""),
        datasets=result.datasets,
        sets=_sets(version, result),
        took=formatting.duration(max(result.seconds, 1e-6)) if result.seconds else "",
        at=result.at,
        job=str(result.job_id),
        worker=aliases.worker(result.job.worker),
        around=_around(report.facts),
        command=_command(version, result),
        versions=tuple(report.versions.items()),
        lines=tuple(all_lines[: figures.SHOWN]),
        more=max(0, len(all_lines) - figures.SHOWN),
        node=_node(result.node),
        download=version_head.place(version, "version-file", kept.path) if kept else "",
        download_name=kept.path.rpartition("/")[2] if kept else "",
        history=tuple(_older(version, row, result) for row in told),
        newest_url=""
        if newest.pk == result.pk
        else version_head.place(version, "conformance", newest.pk),
        outdated=result.entry_sha256 != result.variant.entry.blob_id,
    )


def _sets(version: Version, result: ConformanceResult) -> tuple[Set, ...]:
    """The data sets of a result by name; those that the version holds are links to their files."""
    rows = result.figures if isinstance(result.figures, list) else []
    told = (str(row.get("dataset") or "") for row in rows if isinstance(row, dict))
    names = [name for name in dict.fromkeys(told) if name]
    home = result.variant.entry.path.rpartition("/")[0]
    files = version.files.all() if version.state != "withdrawn" else ()
    found = []
    for name in names[:SETS_SHOWN]:
        folder = f"{home}/{name}/" if home else f"{name}/"
        inside = [file.path for file in files if file.path.startswith(folder)][:FILES_SHOWN]
        links = tuple(
            (path[len(folder) :], version_head.place(version, "version-file", path))
            for path in inside
        )
        found.append(Set(name, links))
    return tuple(found)


def _around(facts: dict[str, Any]) -> tuple[str, ...]:
    """What a report tells of the process that ran: its threads and its processor's features."""
    threads, flags = facts.get("threads"), facts.get("processor_flags")
    said = [formatting.plural(threads, "thread")] if isinstance(threads, int) else []
    if isinstance(flags, list) and flags:
        said.append(f"processor with {', '.join(str(flag)[:32] for flag in flags[:FLAGS_SHOWN])}")
    return tuple(said)


def _command(version: Version, result: ConformanceResult) -> str:
    """What has the hub run this again: checks run in its own sandbox, so it is asked by its API."""
    wanted = json.dumps({"variant": result.variant.name, "runtime": result.runtime})
    place = f"/api/v1/models/{version.model.ref}/versions/{version.number}/conformance"
    return (
        'curl -fsS -H "Authorization: Bearer $HUB_TOKEN" -H "Content-Type: application/json" '
        f"-d {shlex.quote(wanted)} {settings.HUB_PUBLIC_URL}{place}"
    )


def _cell(version: Version, cell: selectors.Cell) -> Cell:
    if cell.result is None:
        state, said, _ = OUTCOMES.get(cell.word, OUTCOMES["not run"])
        url = reverse("job", args=[cell.job.pk]) if cell.job else ""
        return Cell(state, "", said, "", url)
    result = cell.result
    state, word, _ = _outcome(result)
    value = _value(result)
    tone = "fail" if state == "failed" else "part" if result.outcome == "cantTell" else ""
    url = version_head.place(version, "conformance", result.pk)
    return Cell(state, "" if value == word else word, value, tone, url)


def _column(found: selectors.Matrix, column: selectors.Column) -> Column:
    """A runtime's heading; where it has results and a live job, it is being run again."""
    cells = [cell for cell in found.cells if cell.runtime == column.runtime]
    told = any(cell.result is not None for cell in cells)
    job = next((cell.job for cell in cells if cell.job and not cell.job.is_ended), None)
    if job is None or not told:
        return Column(words.runtime(column.runtime), column.version)
    url = reverse("job", args=[job.pk])
    return Column(words.runtime(column.runtime), column.version, f"{job.state} again", url)


def _outcome(result: ConformanceResult) -> tuple[str, str, str]:
    """Glyph, word and meaning of a result."""
    state, word, means = OUTCOMES[result.verdict]
    if result.blames == ConformanceResult.Blame.RUNTIME:
        means = f"{means} The runtime caused the failure."
    return "failed" if result.outcome == "failed" else state, word, means


def _value(result: ConformanceResult) -> str:
    """The one number or word of a result that a cell has room for."""
    _, word, _ = _outcome(result)
    if result.verdict not in (ConformanceVerdict.PASSED, ConformanceVerdict.FAILED):
        return word
    if result.check_kind == "determinism" and result.outcome == "passed":
        return "bit-equal"
    worst = figures.largest(result.figures)
    if worst is None:
        return "equal" if result.outcome == "passed" and result.figures else word
    return formatting.figure(worst)


def _sentence(results: list[ConformanceResult], awaited: list[str]) -> str:
    if not results and not awaited:
        return "Not run: no worker offers a runtime yet."
    states = [OUTCOMES.get(word, OUTCOMES["not run"])[0] for word in awaited]
    said = [_capital(tally_text(results))] if results else []
    said += [f"{states.count(word)} {word}" for word in _WAITING if word in states]
    return ", ".join(said)


def _state(awaited: list[str]) -> str:
    """The state of a matrix that nothing has filled yet."""
    return next((word for word in ("running", "queued") if word in awaited), "not run")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _older(version: Version, row: ConformanceResult, shown: ConformanceResult) -> Older:
    state, word, _ = _outcome(row)
    return Older(
        url=version_head.place(version, "conformance", row.pk),
        state=state,
        word=word,
        value=_value(row),
        version=row.runtime_version,
        at=row.at,
        job=str(row.job_id),
        shown=row.pk == shown.pk,
    )


def _node(told: Any) -> Node | None:
    if not isinstance(told, dict):
        return None
    rows = told.get("figures")
    index = told.get("index")
    return Node(
        name=str(told.get("name") or ""),
        operator=str(told.get("op") or ""),
        index=index if isinstance(index, int) else None,
        inside=tuple(_step(step) for step in reversed(told.get("path") or [])),
        lines=tuple(figures.lines(rows if isinstance(rows, list) else [rows])),
    )


def _step(told: dict[str, Any]) -> str:
    """One body around a node: `iteration 2 (from 0) of the body of Loop, node 4`."""
    iteration = told.get("iteration")
    run = "" if iteration is None else f"iteration {iteration} (from 0) of "
    name = f" {told['name']}" if told.get("name") else ""
    return f"{run}the {told.get('body')} of {told.get('op')}{name}, node {told.get('index')}"
