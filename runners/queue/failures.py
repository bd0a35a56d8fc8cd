"""Causes of errored attempts, which decide how often a job is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.engine.reports import Report
    from runners.queue.services.leases import Reason

# Codes of findings of an `errored` report. Anything else is a fault of the hub that another worker
# or a later attempt may not have. A failed check of a model is `failed` and is not tried again.
CRASHES = frozenset({"sandbox-lost", "child-killed"})
TIMEOUTS = frozenset({"sandbox-timeout", "job-timeout"})


def reason_of(report: Report) -> Reason:
    """The cause of an `errored` report."""
    codes = {finding.code for finding in report.findings}
    if codes & CRASHES:
        return "crash"
    return "timeout" if codes & TIMEOUTS else "errored"
