"""What the checks of a version say, each verdict apart.

The wire scan and the checker decide whether a version may be published; strict inference and the
runtime inform. A verdict that was not reached is "not run", never a blank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from registry.models import Check
from runners.engine import reports
from runners.engine.reports import FileCheck, Finding, Report

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
_CARD_WORDS = {
    "not run": "Runs when you submit the draft.",
    "missing": "Not run: published before card checks existed.",
    "pending": "Queued.",
    "passed": "The metadata graph is valid.",
    "failed": "Fix the fields below, then submit again.",
    "errored": "Could not be completed because of an error on the hub.",
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


class Verdict(NamedTuple):
    """One stage of a check: its title, what it asks, its outcome, and words on that."""

    title: str
    asks: str
    outcome: str
    words: str


class CardCheck(NamedTuple):
    """The verdict on a card; without a time where it is still to come."""

    verdict: Verdict
    findings: Sequence[Finding] = ()
    checked_at: datetime | None = None


class FileVerdicts(NamedTuple):
    """The verdicts on one file, in the order of STAGES."""

    path: str
    verdicts: Sequence[Verdict]
    findings: Sequence[Finding] = ()


class Verdicts(NamedTuple):
    """The verdicts on every file of a version, and all in a sentence."""

    sentence: str
    outcome: str
    files: Sequence[FileVerdicts]
    checked_at: datetime | None = None


def overall(checks: Iterable[Check]) -> str:
    """The outcome of all required checks together; "not run" where there is none."""
    outcomes = {check.outcome for check in checks if check.required}
    worst = ("failed", "errored", "pending", "passed")
    return next((outcome for outcome in worst if outcome in outcomes), "not run")


def card(checks: Iterable[Check], *, published: bool) -> CardCheck:
    """The verdict of a version's ``card`` check; what is older than the check never had one."""
    check = next((check for check in checks if check.kind == "card"), None)
    if check is None:
        return CardCheck(_card_verdict("not run", "missing" if published else "not run"))
    verdict = _card_verdict(check.outcome, check.outcome)
    if check.outcome == "pending":
        return CardCheck(verdict)
    findings = [row for file in FileCheck.stored(check.report) for row in file.findings]
    return CardCheck(verdict, findings, check.updated_at)


def _card_verdict(outcome: str, key: str) -> Verdict:
    return Verdict("Card", "Is the metadata graph valid?", outcome, _CARD_WORDS.get(key, ""))


def read(checks: Iterable[Check]) -> Verdicts:
    """The verdicts of a version's ``onnx`` check; all "not run" where there is none yet."""
    check = next((check for check in checks if check.kind == "onnx"), None)
    if check is None:
        sentence = "The checks run when you submit the draft."
        return Verdicts(sentence, "not run", (_unread("not run", "Not run."),))
    if check.outcome == "pending":
        unread = _unread("pending", _WORDS["pending"])
        return Verdicts("The checks are queued or running.", "pending", (unread,))
    files = list(map(_checked, FileCheck.stored(check.report)))
    return Verdicts(_sentence(check.outcome, files), check.outcome, files, check.updated_at)


def need_attention(checks: Verdicts, card_check: CardCheck) -> bool:
    """Whether a reader should see the verdicts: one of them is neither good nor still to come."""
    outcomes = {verdict.outcome for file in checks.files for verdict in file.verdicts}
    outcomes.add(card_check.verdict.outcome)
    return bool(outcomes - {"ok", "passed", "pending", "not run"})


def stages(report: Report) -> list[Verdict]:
    """The verdicts of one job's report."""
    return _verdicts(reports.stored_verdicts(report.facts.get("verdicts")))


def _unread(outcome: str, words: str) -> FileVerdicts:
    return FileVerdicts(
        "", [Verdict(title, asks, outcome, words) for title, asks, _ in STAGES.values()]
    )


def _checked(file: FileCheck) -> FileVerdicts:
    """The verdicts on one file; where reading the facts refused it, that was the wire scan."""
    verdicts = _verdicts(file.verdicts or {})
    errors = [finding.message for finding in file.findings if finding.severity == "error"]
    if verdicts[0].outcome == "not run" and errors:
        verdicts[0] = verdicts[0]._replace(outcome="refused", words=errors[0])
    return FileVerdicts(file.path, verdicts, file.findings)


def _verdicts(by_stage: Mapping[str, reports.Verdict]) -> list[Verdict]:
    return [_verdict(stage, by_stage.get(stage, reports.Verdict())) for stage in STAGES]


def _verdict(stage: str, of: reports.Verdict) -> Verdict:
    title, asks, good = STAGES[stage]
    outcome = of.status.replace("-", " ")
    words = good if outcome == "ok" else of.message
    return Verdict(title, asks, outcome, words or _WORDS.get(outcome, ""))


def _sentence(outcome: str, files: Sequence[FileVerdicts]) -> str:
    if outcome == "errored":
        return "The checks could not be completed because of an error on the hub."
    verdicts = [verdict for file in files for verdict in file.verdicts]
    good = sum(verdict.outcome == "ok" for verdict in verdicts)
    if outcome == "passed" and good == len(verdicts):
        return "All checks pass."
    return f"{good} of {len(verdicts)} pass." + (
        " Failed checks do not mean that the model is unsafe." if outcome == "passed" else ""
    )
