"""The checks of a version that was pushed: followed to their end, with what they refuse."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hub.client.progress import say
from hub.client.rest import answers
from hub.client.rest.shared import Check, JobSummary
from hub.protocol import problems, stored

WAIT_SECONDS = 3600.0
POLL_SECONDS = 0.5
LONGEST_POLL_SECONDS = 3.0

_ENDED = frozenset({"published", "yanked", "withdrawn"})
_REFUSING = frozenset({"failed", "errored"})


@dataclass(frozen=True, slots=True)
class Status:
    """How far the checks of a version are."""

    ref: str
    state: str
    checks: tuple[Check, ...] = ()
    jobs: tuple[JobSummary, ...] = ()

    @property
    def refused(self) -> list[Check]:
        """The checks that keep it from being published."""
        return [check for check in self.checks if check.required and check.outcome in _REFUSING]


def follow(
    version: dict[str, Any],
    read: Callable[[], dict[str, Any]],
    sleep: Callable[[float], None],
    *,
    publish: bool,
    progress: bool | None,
) -> dict[str, Any]:
    """Return a version when its checks have ended, and with `publish` when it is published.

    `read` gives it as it is now. Raise `ChecksFailed` with findings when the checks refuse, and
    `ChecksPending` after an hour.
    """
    reported: set[str] = set()
    pause, deadline = POLL_SECONDS, time.monotonic() + WAIT_SECONDS
    while True:
        status = answers.read(Status, version)
        for line in _news(status):
            if line not in reported:
                reported.add(line)
                say(f"{status.ref}: {line}", is_shown=progress)
        if _is_settled(status, publish=publish):
            return version
        if time.monotonic() > deadline:
            raise problems.ChecksPending(
                f"The checks of {status.ref} have not finished after {WAIT_SECONDS / 60:.0f} "
                f"minutes. Is a worker running? `hub info {status.ref}` shows the current state."
            )
        sleep(pause)
        pause = min(LONGEST_POLL_SECONDS, pause * 1.3)
        version = read()


def _news(status: Status) -> list[str]:
    jobs = [f"{job.kind} {job.state}" for job in status.jobs if job.state == "running"]
    checks = [
        f"check {check.kind} {check.outcome}"
        for check in status.checks
        if check.outcome != "pending"
    ]
    return [*jobs, *checks, *([status.state] if status.state in _ENDED else [])]


def _is_settled(status: Status, *, publish: bool) -> bool:
    if status.state in _ENDED:
        return True
    if status.state == "draft" or status.refused:
        raise _refusal(status)
    outcomes = [check.outcome for check in status.checks if check.required]
    return not publish and bool(outcomes) and "pending" not in outcomes


def _refusal(status: Status) -> problems.ChecksFailed:
    findings: list[dict[str, Any]] = []
    for check in status.refused:
        errors = [
            finding | {"check": check.kind}
            for finding in _findings(stored.mapping(check.report))
            if finding.get("severity") == "error"
        ]
        findings += errors or [{"check": check.kind, "code": check.outcome, "message": ""}]
    return problems.ChecksFailed(
        f"{status.ref} did not pass its checks and was not published. "
        "Fix the problems listed below and push again.",
        errors=[_finding_line(finding) for finding in findings],
        findings=findings,
    )


def _findings(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of a report and of each file it speaks of, with the file's path."""
    findings = stored.rows(report.get("findings"))
    for file in stored.rows(report.get("files")):
        for finding in stored.rows(file.get("findings")):
            where = ": ".join(filter(None, [file.get("path"), finding.get("where")]))
            findings.append({**finding, "where": where})
    return findings


def _finding_line(finding: dict[str, Any]) -> dict[str, str]:
    where = finding.get("where") or finding.get("check") or ""
    return {
        "pointer": f"{finding.get('code', '')} ({where})",
        "detail": str(finding.get("message") or "the check ended without a reason"),
    }
