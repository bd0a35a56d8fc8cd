"""Jobs, the workers that do them, and what they measured."""

from __future__ import annotations

from runners.models.jobs import Attempt, Bar, Exclusive, Job, JobState, Pool
from runners.models.results import ConformanceResult, Runtime, SuiteResult, SuiteRun
from runners.models.workers import Host, Worker

__all__ = [
    "Attempt",
    "Bar",
    "ConformanceResult",
    "Exclusive",
    "Host",
    "Job",
    "JobState",
    "Pool",
    "Runtime",
    "SuiteResult",
    "SuiteRun",
    "Worker",
]
