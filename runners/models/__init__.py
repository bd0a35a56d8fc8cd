"""Jobs, the workers that do them, and what they measured."""

from __future__ import annotations

from runners.models.jobs import Exclusive, Job, JobState, Pool
from runners.models.workers import Worker

__all__ = ["Exclusive", "Job", "JobState", "Pool", "Worker"]
