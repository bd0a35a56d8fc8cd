"""Whose fault an attempt's end was, so that what cannot heal is not tried for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.engine.reports import Report
    from runners.queue.services.leases import Reason

# Findings of an `errored` report. A verdict about the model is `failed` instead, and never tried
# again; what no list names is our own trouble, which another worker or hour may not have.
CRASHES = frozenset({"sandbox-lost", "child-killed"})
TIMEOUTS = frozenset({"sandbox-timeout", "job-timeout"})


def reason_of(report: Report) -> Reason:
    """The class of failure of an `errored` report."""
    codes = {finding.code for finding in report.findings}
    if codes & CRASHES:
        return "crash"
    return "timeout" if codes & TIMEOUTS else "errored"
