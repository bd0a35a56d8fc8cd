"""Jobs, the workers that do them, and what they measured."""

from __future__ import annotations

from runners.models.contributions import ContributedRecord, ContributionState
from runners.models.evaluations import Evaluation
from runners.models.jobs import Attempt, Bar, Exclusive, Job, JobState, Pool
from runners.models.measurements import Comparison, Environment, Measurement
from runners.models.predictions import LatencyFit, VariantWork
from runners.models.results import (
    ConformanceResult,
    ConformanceVerdict,
    MethodSet,
    Runtime,
    SuiteResult,
    SuiteRun,
)
from runners.models.trust import Challenge, EnrolledWorker
from runners.models.workers import HoldState, Host, PoolHold, Worker

__all__ = [
    "Attempt",
    "Bar",
    "Challenge",
    "Comparison",
    "ConformanceResult",
    "ConformanceVerdict",
    "ContributedRecord",
    "ContributionState",
    "EnrolledWorker",
    "Environment",
    "Evaluation",
    "Exclusive",
    "HoldState",
    "Host",
    "Job",
    "JobState",
    "LatencyFit",
    "Measurement",
    "MethodSet",
    "Pool",
    "PoolHold",
    "Runtime",
    "SuiteResult",
    "SuiteRun",
    "VariantWork",
    "Worker",
]
