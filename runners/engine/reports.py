"""The one shape in which every task answers, as data that crosses processes and databases.

A report is written by a process that has just read somebody's upload, so reading one back trusts
nothing (`hub.protocol.strict`): wrong types, unknown words and missing keys are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal, get_args

from hub.protocol import strict
from hub.protocol.stored import count, mapping, rows, text

Severity = Literal["error", "warning", "info"]
Outcome = Literal["passed", "failed", "errored"]


class StageStatus(StrEnum):
    """How a stage of a check ended, as reports have it."""

    OK = "ok"
    INVALID = "invalid"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    REFUSED = "refused"
    NOT_RUN = "not-run"

    @classmethod
    def stored(cls, value: object) -> StageStatus:
        """The status of this value; `NOT_RUN` for a value that is none."""
        return next((status for status in cls if status == value), cls.NOT_RUN)


_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SUBJECT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Offers:
    """What the environment of a fork server offers, as its greeting has it.

    ``runtimes`` have the version of each runtime that works, and ``profiles`` the highest opset and
    IR version that it loads. ``providers`` are those of ONNX Runtime that passed their test,
    ``failed`` has the reason of each other one, and ``compiled_in`` is what the library claims.
    """

    runtimes: dict[str, str] = field(default_factory=dict)
    profiles: dict[str, dict[str, int]] = field(default_factory=dict)
    providers: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    compiled_in: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class IsolationLevel:
    """Which layers were seen to hold on this machine, and why the others were not."""

    rlimits: bool = False
    namespaces: bool = False
    mounts: bool = False
    landlock: bool = False
    seccomp: bool = False
    details: dict[str, str] = field(default_factory=dict)

    @property
    def layers(self) -> frozenset[str]:
        """The names of the layers that hold."""
        return frozenset(
            member.name for member in fields(self) if getattr(self, member.name) is True
        )

    @property
    def name(self) -> Literal["full", "partial", "limits", "none"]:
        """Sum up in a word: `full` is all five, `partial` keeps files or calls apart."""
        if len(self.layers) == len(fields(self)) - 1:
            return "full"
        if self.rlimits and (self.landlock or self.seccomp):
            return "partial"
        return "limits" if self.rlimits else "none"


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a fork server says of itself when it is ready; ``broken`` says why it can do no job."""

    versions: dict[str, str]
    level: IsolationLevel
    broken: str = ""
    offers: Offers = field(default_factory=Offers)

    @classmethod
    def from_json(cls, data: object) -> Greeting:
        """Read what the server wrote; raises strict.UnreadableError."""
        return _READER.read(cls, data)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth telling: a stable kebab-case code (docs/findings.md) and words for people."""

    code: str
    severity: Severity
    message: str
    where: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def stored_findings(stored: object) -> tuple[Finding, ...]:
    """Findings as the database holds them, each once; what is none is left out."""
    findings = (
        Finding(
            str(row.get("code", "")),
            row["severity"] if row.get("severity") in get_args(Severity) else "info",
            str(row.get("message", "")),
            str(row.get("where", "")),
        )
        for row in rows(stored)
    )
    return tuple(dict.fromkeys(findings))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one stage of a check: a status and a message of at most 2,000 characters."""

    status: StageStatus = StageStatus.NOT_RUN
    message: str = ""
    seconds: float = 0.0

    def finding(self, stage: str) -> Finding:
        """The finding of a stage that ended without an answer."""
        return Finding(self.status, "error", f"{self.message}.", stage)

    def to_json(self) -> dict[str, Any]:
        return {"verdict": self.status, "message": self.message, "seconds": self.seconds}


def stored_verdicts(value: object) -> dict[str, Verdict]:
    """Stored verdicts of a check by stage; an unknown status is read as `NOT_RUN`."""
    return {
        stage: Verdict(
            StageStatus.stored(row.get("verdict")),
            text(row.get("message")),
            row.get("seconds", 0.0),
        )
        for stage, entry in mapping(value).items()
        if (row := mapping(entry))
    }


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What the check of a version reports of one file; a card has no stages, so no verdicts."""

    path: str
    findings: tuple[Finding, ...] = ()
    verdicts: Mapping[str, Verdict] | None = None

    @classmethod
    def stored(cls, report: object) -> tuple[FileCheck, ...]:
        """Read the report of a check; whatever is absent or malformed is empty."""
        return tuple(
            cls(
                text(row.get("path")),
                stored_findings(row.get("findings")),
                stored_verdicts(row["verdicts"]) if "verdicts" in row else None,
            )
            for row in rows(mapping(report).get("files"))
        )

    def to_json(self) -> dict[str, Any]:
        row = {"path": self.path, "findings": [finding.to_json() for finding in self.findings]}
        if self.verdicts is None:
            return row
        return row | {
            "verdicts": {stage: verdict.to_json() for stage, verdict in self.verdicts.items()}
        }


@dataclass(frozen=True, slots=True)
class Scan:
    """What a walk over a model's bytes gives; ``external`` are the other files that it names."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    external: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether the findings forbid everything else."""
        return any(finding.severity == "error" for finding in self.findings)

    @classmethod
    def from_json(cls, data: object) -> Scan:
        """Read what a child answers; raises strict.UnreadableError."""
        return _READER.read(cls, data)


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that a task made; digest and size are those of what the worker stored."""

    name: str
    sha256: str = ""
    size: int = 0

    @classmethod
    def read(cls, row: dict[str, Any]) -> OutputFile:
        """Read an output of a report; what is malformed is empty."""
        return cls(text(row.get("name")), text(row.get("sha256")), count(row.get("size")))


@dataclass(frozen=True, slots=True)
class Report:
    """What a task found.

    `failed` means that the model, or the runtime with it, does not do what the task asks; `errored`
    that we are at fault.
    """

    task: str
    versions: dict[str, str]
    subject: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    measures: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[OutputFile] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file that the task made, by its name."""
        return {
            output.name: output.sha256 for output in self.outputs if output.name and output.sha256
        }

    def to_json(self) -> dict[str, Any]:
        """Give plain data: only what `json.dumps` writes and `from_json` reads."""
        values = {member.name: getattr(self, member.name) for member in fields(self)}
        return values | {
            "findings": [finding.to_json() for finding in self.findings],
            "outputs": [asdict(output) for output in self.outputs],
        }

    @classmethod
    def from_json(cls, data: object) -> Report:
        """Read a report; raises strict.UnreadableError. The caller caps the size beforehand."""
        report = _READER.read(cls, data)
        if not _SUBJECT.fullmatch(report.subject):
            raise strict.UnreadableError("subject is no 64 lower-case hexadecimal digits")
        return report

    @classmethod
    def stored(cls, data: object) -> Report:
        """Read what the database holds of a job; whatever is absent or malformed is empty."""
        row = mapping(data)
        return cls(
            task=str(row.get("task", "")),
            versions={
                str(name): str(version) for name, version in mapping(row.get("versions")).items()
            },
            subject=str(row.get("subject", "")),
            outcome=row["outcome"] if row.get("outcome") in get_args(Outcome) else "errored",
            findings=stored_findings(row.get("findings")),
            facts=mapping(row.get("facts")),
            measures=rows(row.get("measures")),
            outputs=list(map(OutputFile.read, rows(row.get("outputs")))),
        )


def _finding(value: object, place: str) -> Finding:
    finding = strict.Reader(is_complete=True).read(Finding, value, place)
    if not _CODE.fullmatch(finding.code):
        raise strict.UnreadableError(f"{place}.code {finding.code!r} is not kebab-case")
    return finding


def _seconds(value: object, place: str) -> float:
    seconds = strict.number(value, place)
    if seconds < 0:
        raise strict.UnreadableError(f"{place} is below 0")
    return seconds


_READER = strict.Reader({Finding: _finding, float: _seconds, int: strict.count}, is_complete=True)
