"""What the hub does for each kind of job, before it runs and when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.protocol.ports import Port

if TYPE_CHECKING:
    from registry.models import Version
    from runners.models import Job


class GoneError(Exception):
    """What the job was about has ended, or its bytes are not there; ``code`` is the finding's."""

    code = "input-gone"


@dataclass(slots=True)
class Staged:
    """What a job is given: files by the paths under which it sees them, and its options."""

    path_of: Callable[[str], Path]
    files: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def add(self, path: str, sha256: str | None) -> str:
        """Give a blob under a path; raises GoneError where it is no longer kept."""
        if not sha256:
            raise GoneError(f"The content of {path} is no longer stored.")
        self.files[path] = str(self.path_of(sha256))
        return path


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job: what takes its result, and what gives it files that no version has.

    ``take`` gets jobs that succeeded, and with ``takes_failures`` those that failed or were
    cancelled. ``fetch`` stores bytes that come from outside before a job is staged: it is given
    the job, what takes its progress in percent with a word, and whether to stop; it may take
    minutes. ``stage`` is given a job that begins, and what finds the file of a blob by its digest.
    Both raise GoneError. ``method`` is the version of the method of jobs whose results may
    be shared, if ``is_conclusive`` by the facts of their report; it may depend on the job.
    ``reads_all`` says that it reads all files of a version, not only those that its entry loads.
    ``schedule_missing`` queues what a released version lacks, and takes a priority. Several kinds
    may share it; where the method of one of them rises, it is called for older versions too, with
    ``covers_older`` also for those that never had such a job.
    ``forget`` deletes results of a withdrawn version.
    """

    name: str
    take: Callable[[Job], object] | None = None
    takes_failures: bool = False
    fetch: Callable[[Job, Callable[[int, str], None], Callable[[], bool]], None] | None = None
    stage: Callable[[Job, Callable[[str], Path]], Staged] | None = None
    method: str | Callable[[Job], str] | None = None
    is_conclusive: Callable[[dict[str, Any]], bool] = lambda _: True
    reads_all: bool = False
    schedule_missing: Callable[..., int] | None = None
    covers_older: bool = False
    forget: Callable[[Version], object] | None = None

    def method_of(self, job: Job) -> str:
        """The version of the method of a job; empty where its result is not shared."""
        return self.method(job) if callable(self.method) else self.method or ""


job_kinds = Port(JobKind)


def of(job: Job) -> JobKind | None:
    """What is registered for the kind of a job."""
    return next((kind for kind in job_kinds if kind.name == job.kind), None)
