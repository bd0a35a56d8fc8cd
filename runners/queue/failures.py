"""Causes of errored attempts, which decide how often a job is tried again."""

from __future__ import annotations

from enum import StrEnum

from runners.engine.reports import Report


class FailureCause(StrEnum):
    """Why an attempt ended without a verdict, as `Job.error_class` has it."""

    ERRORED = "errored"
    CRASH = "crash"
    TIMEOUT = "timeout"


# Codes of findings of an `errored` report. Anything else is a fault of the hub that another worker
# or a later attempt may not have. A failed check of a model is `failed` and is not tried again.
CRASHES = frozenset({"sandbox-lost", "child-killed"})
TIMEOUTS = frozenset({"sandbox-timeout", "job-timeout"})


def reason_of(report: Report) -> FailureCause:
    """The cause of an `errored` report."""
    codes = {finding.code for finding in report.findings}
    if codes & CRASHES:
        return FailureCause.CRASH
    return FailureCause.TIMEOUT if codes & TIMEOUTS else FailureCause.ERRORED
