"""The checks of a version that was pushed: followed to their end, with what they refuse."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hub.client.progress import say
from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_SECONDS = 3600.0
POLL_SECONDS = 0.5
LONGEST_POLL_SECONDS = 3.0

_ENDED = frozenset({"published", "yanked", "withdrawn"})


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
        for line in _news(version):
            if line not in reported:
                reported.add(line)
                say(f"{version.get('ref', 'The version')}: {line}", is_shown=progress)
        if _is_settled(version, publish=publish):
            return version
        if time.monotonic() > deadline:
            raise problems.ChecksPending(
                f"The checks of {version.get('ref')} have not finished after "
                f"{WAIT_SECONDS / 60:.0f} minutes. Is a worker running? `hub info "
                f"{version.get('ref')}` shows the current state."
            )
        sleep(pause)
        pause = min(LONGEST_POLL_SECONDS, pause * 1.3)
        version = read()


def _news(version: dict[str, Any]) -> list[str]:
    checks = [
        f"check {check.get('kind')} {check.get('outcome')}"
        for check in version.get("checks", [])
        if check.get("outcome") != "pending"
    ]
    jobs = [
        f"{job.get('kind')} {job.get('state')}"
        for job in version.get("jobs", [])
        if job.get("state") == "running"
    ]
    ended = [str(version["state"])] if version.get("state") in _ENDED else []
    return jobs + checks + ended


def _is_settled(version: dict[str, Any], *, publish: bool) -> bool:
    state = version.get("state")
    if state in _ENDED:
        return True
    required = [check for check in version.get("checks", []) if check.get("required")]
    outcomes = {check.get("outcome") for check in required}
    if state == "draft" or outcomes & {"failed", "errored"}:
        raise _refusal(version)
    return not publish and bool(required) and "pending" not in outcomes


def _refusal(version: dict[str, Any]) -> problems.ChecksFailed:
    findings: list[dict[str, Any]] = []
    for check in version.get("checks", []):
        if check.get("required") and check.get("outcome") in {"failed", "errored"}:
            errors = [
                finding | {"check": check.get("kind")}
                for finding in _findings(check.get("report") or {})
                if finding.get("severity") == "error"
            ]
            empty = {"check": check.get("kind"), "code": check.get("outcome"), "message": ""}
            findings += errors or [empty]
    return problems.ChecksFailed(
        f"{version.get('ref')} did not pass its checks and was not published. "
        "Fix the problems listed below and push again.",
        errors=[_finding_line(finding) for finding in findings],
        findings=findings,
    )


def _findings(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of a report and of each file it speaks of, with the file's path."""
    findings = [dict(finding) for finding in report.get("findings", [])]
    for file in report.get("files", []):
        for finding in file.get("findings", []):
            where = ": ".join(filter(None, [file.get("path"), finding.get("where")]))
            findings.append({**finding, "where": where})
    return findings


def _finding_line(finding: dict[str, Any]) -> dict[str, str]:
    where = finding.get("where") or finding.get("check") or ""
    return {
        "pointer": f"{finding.get('code', '')} ({where})",
        "detail": str(finding.get("message") or "the check ended without a reason"),
    }
