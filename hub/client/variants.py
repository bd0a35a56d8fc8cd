"""Having the hub make a variant: another opset, or another precision, with its price in figures."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub.client import checks, local_files
from hub.client.cache import Cache, Resolved
from hub.client.progress import Bar, say
from hub.client.rest import answers
from hub.client.transport import Transport
from hub.client.upload import Upload
from hub.protocol import problems, stored

WAIT_SECONDS = 3600.0
_ENDED = frozenset({"succeeded", "failed", "cancelled"})


def send_sample(
    transport: Transport, cache: Cache, path: str | os.PathLike[str], *, progress: bool | None
) -> str:
    """Send a calibration sample and return its digest, `sha256:<hex>`."""
    source = Path(path)
    [file] = local_files.measure({source.name: local_files.select(source)}, progress=progress)
    with Bar(source.name, file.size, is_shown=progress) as bar:
        return Upload(transport, cache, file, bar.advance).run()


@dataclass(frozen=True, slots=True)
class Job:
    """A job of the hub, as far as those who wait for it read it."""

    uuid: str
    kind: str
    state: str
    entry: str
    url: str
    waiting_for: str = ""
    phase: str = ""
    progress: int = 0
    error_detail: str = ""
    report: Any = None


def follow(transport: Transport, document: object, *, progress: bool | None) -> Job:
    """Follow a job to its end and return it; raise `JobFailed` with its findings.

    Raise `ChecksPending` when it has not ended after an hour.
    """
    last, pause = "", checks.POLL_SECONDS
    deadline = time.monotonic() + WAIT_SECONDS
    job = answers.read(Job, document)
    while job.state not in _ENDED:
        line = job.waiting_for or job.phase or job.state
        if line != last:
            last = line
            say(f"{job.kind}: {line} ({job.progress} %)", is_shown=progress)
        if time.monotonic() > deadline:
            raise problems.ChecksPending(
                f"The job {job.url} has not ended after {WAIT_SECONDS / 60:.0f} minutes. "
                "See its page for the current state."
            )
        transport.sleep(pause)
        pause = min(checks.LONGEST_POLL_SECONDS, pause * 1.3)
        job = answers.read(Job, transport.get(f"/api/v1/jobs/{job.uuid}"))
    if job.state != "succeeded":
        raise _failure(job)
    return job


def made_by(transport: Transport, resolved: Resolved, job: Job) -> dict[str, Any]:
    """Return the variant that an ended job made, or the one it was made for where none was due.

    Of several, it is the one that every runtime loads.
    """
    ref = resolved.ref
    address = f"/api/v1/models/{ref.name}/versions/{resolved.number}/variants"
    outputs = stored.mapping(job.report).get("outputs")
    deadline = time.monotonic() + checks.LONGEST_POLL_SECONDS
    while True:
        items: list[dict[str, Any]] = transport.get(address)["items"]
        matches = [
            variant
            for variant in items
            if (variant.get("job") == job.uuid if outputs else variant["entry"] == job.entry)
        ]
        if matches:
            return max(matches, key=lambda row: (row.get("portable") is True, row["opset"] or 0))
        # The job's end and the variant are two steps of the hub, moments apart.
        if time.monotonic() > deadline:
            raise problems.VariantMissing(
                f"The job {job.url} ended, but {ref} shows no variant of it. See its page for "
                "details."
            )
        transport.sleep(checks.POLL_SECONDS)


def _failure(job: Job) -> problems.JobFailed:
    rows = stored.rows(stored.mapping(job.report).get("findings"))
    findings = [finding for finding in rows if finding.get("severity") == "error"]
    messages = "; ".join(str(finding.get("message", "")) for finding in findings)
    return problems.JobFailed(
        f"The job {job.url} {job.state}: {messages or job.error_detail or 'no reason given'}",
        findings=findings,
    )
