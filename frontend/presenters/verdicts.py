"""What the checks of a version say, each verdict apart.

The wire scan and the checker decide whether a version may be published; strict inference and the
runtime inform. A verdict that was not reached is "not run", never a blank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runners.engine import reports
from runners.engine.reports import FileCheck, Finding, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from registry.models import Check

# Stage of the engine -> title, what it asks, what "ok" means.
STAGES = {
    "scan": (
        "Wire scan",
        "Is the file complete and self-contained?",
        "Well-formed; all referenced files are present.",
    ),
    "checker": (
        "Checker",
        "Does it follow the ONNX specification?",
        "Valid for its opset.",
    ),
    "inference": (
        "Strict inference",
        "Are all types and shapes consistent?",
        "All inferred shapes are consistent.",
    ),
    "load": (
        "Runtime load",
        "Does ONNX Runtime load it?",
        "ONNX Runtime created a CPU session.",
    ),
}
_WORDS = {
    "pending": "Waiting for the job.",
    "not run": "Not run: an earlier stage failed.",
    "invalid": "Failed.",
    "unsupported": "Valid, but not supported by this runtime.",
    "crashed": "The process crashed while opening the file.",
    "timed out": "The check took too long.",
    "out of memory": "The check exceeded its memory limit.",
    "refused": "Rejected before the file was opened.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One stage and what it said."""

    title: str
    asks: str
    outcome: str
    words: str


@dataclass(frozen=True, slots=True)
class Checked:
    """One ONNX file of a version: its verdicts and the findings behind them."""

    path: str
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """The check of a whole version."""

    sentence: str
    outcome: str
    files: tuple[Checked, ...]
    checked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CardChecked:
    """The check of a version's card: one verdict, and what is wrong."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    checked_at: datetime | None = None


def overall(checks: Iterable[Check]) -> str:
    """The outcome of all required checks together; "not run" where there is none."""
    outcomes = {check.outcome for check in checks if check.required}
    worst = ("failed", "errored", "pending", "passed")
    return next((outcome for outcome in worst if outcome in outcomes), "not run")


def card(checks: Iterable[Check], *, published: bool) -> CardChecked:
    """The verdict of a version's ``card`` check; what is older than the check never had one."""
    check = next((check for check in checks if check.kind == "card"), None)
    if check is None:
        late = "Not run: published before card checks existed."
        early = "Runs when you submit the draft."
        return CardChecked(_card_verdict("not run", late if published else early))
    if check.outcome == "pending":
        return CardChecked(_card_verdict("pending", "Queued."))
    findings = tuple(
        finding for file in FileCheck.stored(check.report) for finding in file.findings
    )
    words = {
        "passed": "The metadata graph is valid.",
        "failed": "Fix the fields below, then submit again.",
        "errored": "Could not be completed because of an error on the hub.",
    }
    verdict = _card_verdict(check.outcome, words.get(check.outcome, ""))
    return CardChecked(verdict, findings, check.updated_at)


def _card_verdict(outcome: str, words: str) -> Verdict:
    return Verdict("Card", "Is the metadata graph valid?", outcome, words)


def read(checks: Iterable[Check]) -> Checks:
    """The verdicts of a version's ``onnx`` check; all "not run" where there is none yet."""
    check = next((check for check in checks if check.kind == "onnx"), None)
    if check is None:
        return Checks(
            "The checks run when you submit the draft.",
            "not run",
            (_unread("not run", "Not run."),),
        )
    if check.outcome == "pending":
        sentence = "The checks are queued or running."
        return Checks(sentence, "pending", (_unread("pending", _WORDS["pending"]),))
    files = tuple(map(_checked, FileCheck.stored(check.report)))
    return Checks(_sentence(check.outcome, files), check.outcome, files, check.updated_at)


def need_attention(checks: Checks, card_check: CardChecked) -> bool:
    """Whether a reader should see the verdicts: one of them is neither good nor still to come."""
    outcomes = {verdict.outcome for file in checks.files for verdict in file.verdicts}
    return bool((outcomes | {card_check.verdict.outcome}) - {"ok", "passed", "pending", "not run"})


def stages(report: Report) -> tuple[Verdict, ...]:
    """The verdicts of one job's report."""
    return _verdicts(reports.stored_verdicts(report.facts.get("verdicts")))


def _unread(outcome: str, words: str) -> Checked:
    return Checked(
        "", tuple(Verdict(title, asks, outcome, words) for title, asks, _ in STAGES.values())
    )


def _checked(file: FileCheck) -> Checked:
    """The verdicts on one file; where reading the facts refused it, that was the wire scan."""
    verdicts = _verdicts(file.verdicts or {})
    errors = [finding.message for finding in file.findings if finding.severity == "error"]
    if verdicts[0].outcome == "not run" and errors:
        verdicts = (replace(verdicts[0], outcome="refused", words=errors[0]), *verdicts[1:])
    return Checked(file.path, verdicts, file.findings)


def _verdicts(by_stage: Mapping[str, reports.Verdict]) -> tuple[Verdict, ...]:
    return tuple(_verdict(stage, by_stage.get(stage, reports.Verdict())) for stage in STAGES)


def _verdict(stage: str, of: reports.Verdict) -> Verdict:
    title, asks, good = STAGES[stage]
    outcome = of.status.replace("-", " ")
    words = good if outcome == "ok" else of.message
    return Verdict(title, asks, outcome, words or _WORDS.get(outcome, ""))


def _sentence(outcome: str, files: tuple[Checked, ...]) -> str:
    if outcome == "errored":
        return "The checks could not be completed because of an error on the hub."
    verdicts = [verdict for file in files for verdict in file.verdicts]
    good = sum(verdict.outcome == "ok" for verdict in verdicts)
    if outcome == "passed" and good == len(verdicts):
        return "All checks pass."
    return f"{good} of {len(verdicts)} pass." + (
        " Failed checks do not mean that the model is unsafe." if outcome == "passed" else ""
    )
