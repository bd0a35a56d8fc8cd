"""The commands of the queue: jobs and workers."""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import TYPE_CHECKING

from hub.cli.control import output
from hub.cli.control.verbs import Noun, Task, Verb
from hub.client import api
from hub.client.progress import say
from hub.terminal import DONE, PROBLEM

if TYPE_CHECKING:
    from hub.client.rest.jobs import JobDetail

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 5.0
_PUBLIC_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
_ENDED = frozenset({"succeeded", "failed", "cancelled"})


def _watch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("uuid", help="id of the job")
    parser.add_argument("--quiet", action="store_true", help="hide progress output")


def _watch(options: argparse.Namespace) -> int:
    """Follow a job to its end; 0 where it succeeded, else 1. An interrupt leaves the job."""
    jobs = api.default_hub().jobs
    pause, last = FIRST_PAUSE_SECONDS, ""
    try:
        while (job := jobs.read(options.uuid)).state not in _ENDED:
            line = _status(job)
            if line != last:
                say(line, is_shown=not options.quiet)
                last = line
            time.sleep(pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 1.3)
    except KeyboardInterrupt as error:
        error.add_note(
            f"The job continues. Follow it again with: hub jobs watch {options.uuid}\n"
            f"Cancel it with: hub jobs cancel {options.uuid}"
        )
        raise
    if options.json:
        output.as_json(job)
    else:
        print(output.text(f"{job.kind} {job.state}"))
        for line in _causes(job):
            print(output.text(line))
    return DONE if job.state == "succeeded" else PROBLEM


def _status(job: JobDetail) -> str:
    """What a job does now, or what it waits for: its place in the queue and the expected time."""
    if job.state == "queued":
        return output.text(f"{job.kind}: queued, {job.waiting_for}".rstrip(", "))
    phase = f", {job.phase}" if job.phase else ""
    return output.text(f"{job.kind}: {job.state}{phase} ({job.progress} %)")


def _causes(job: JobDetail) -> list[str]:
    """Why a job failed: the errors of its report, or the reason of its end."""
    if job.state == "succeeded":
        return []
    lines = []
    with contextlib.suppress(AttributeError, TypeError):  # the report is JSON of any shape
        lines = [
            f"{finding['code']}: {finding['message']}"
            for finding in job.report.get("findings", ())
            if finding.get("severity") == "error"
        ]
    return lines or [line for line in (job.error_detail or job.message,) if line]


JOBS = Noun(
    "jobs",
    "list, show, watch and cancel jobs",
    (
        Verb(
            "list",
            "jobs.list",
            "list jobs, newest first",
            ("hub jobs list --state running", "hub jobs list --pool cpu --json"),
            columns=(
                "uuid",
                "kind",
                "state",
                "progress=%",
                "model",
                "number=version",
                "queue",
                "queued_at=queued",
            ),
            texts={"state": "only jobs in this state", "pool": "only jobs of this pool"},
        ),
        Verb(
            "show",
            "jobs.read",
            "show a job with its attempts and what it waits for",
            ("hub jobs show 0a1b2c3d-0000-4000-8000-000000000001",),
        ),
        Task(
            "watch",
            "follow a job to its end; exits with 0 if it succeeds, else with 1",
            ("hub jobs watch 0a1b2c3d-0000-4000-8000-000000000001",),
            arguments=_watch_arguments,
            run=_watch,
        ),
        Verb(
            "cancel",
            "jobs.cancel",
            "cancel a job, queued or running",
            ("hub jobs cancel 0a1b2c3d-0000-4000-8000-000000000001",),
            show=lambda job: print(f"{job.uuid} {job.state}"),
        ),
        Verb(
            "lift",
            "jobs.lift",
            "release the quarantined file of a job; for administrators",
            ("hub jobs lift 0a1b2c3d-0000-4000-8000-000000000001 --yes",),
            question="Release the quarantined file of job {uuid}? It crashed its sandbox before, "
            "and workers will open it again.",
        ),
    ),
)

WORKERS = Noun(
    "workers",
    "list workers; enrol and revoke machines that contribute results",
    (
        Verb(
            "list",
            "workers.list",
            "list the workers of the hub",
            ("hub workers list",),
            columns=("name", "host", "queues", "slots", "isolation", "seen_at=seen"),
        ),
        Verb(
            "enrolled",
            "enrolled_workers.list",
            "list the enrolled machines; for administrators",
            ("hub workers enrolled",),
            columns=("name", "owner", "enrolled_at=enrolled", "revoked_at=revoked"),
        ),
        Verb(
            "enrol",
            "enrolled_workers.enrol",
            "enrol a machine by its public key; for administrators",
            (f"hub workers enrol lab-1 --owner ada --public-key {_PUBLIC_KEY}",),
            positional=("name",),
            texts={"name": "name of the machine"},
        ),
        Verb(
            "revoke",
            "enrolled_workers.revoke",
            "revoke an enrolled machine; for administrators",
            ("hub workers revoke lab-1 --yes",),
            texts={"name": "name of the machine"},
            question="Revoke {name}? Results that it signed before are no longer trusted either.",
            message="Revoked {name}",
        ),
    ),
)


def _drain_arguments(parser: argparse.ArgumentParser) -> None:
    _DRAIN.add_arguments(parser)
    parser.add_argument("--no-wait", action="store_true", help="return while jobs run still")


def _drain(options: argparse.Namespace) -> int:
    """Drain a pool, and wait until its running jobs have ended. An interrupt leaves it draining."""
    hub = api.default_hub()
    pool = hub.pools.drain(**_DRAIN.values(hub, options))
    pause, last = FIRST_PAUSE_SECONDS, 0
    while pool.state == "draining" and not options.no_wait:
        if pool.running != last:
            say(f"{pool.name}: {pool.running} running", is_shown=True)
            last = pool.running
        time.sleep(pause)
        pause = min(LONGEST_PAUSE_SECONDS, pause * 1.3)
        pool = next(row for row in hub.pools.list() if row.name == pool.name)
    if options.json:
        output.as_json(pool)
    else:
        print(output.text(f"{pool.name} {pool.state}"))
    return DONE if options.no_wait or pool.state == "drained" else PROBLEM


_DRAIN = Verb(
    "drain",
    "pools.drain",
    "hand out no job, and wait until the running jobs have ended; for administrators",
    ("hub pools drain gpu-a100 --reason 'New driver'", "hub pools drain cpu --no-wait"),
    texts={"name": "name of the pool", "reason": "reason, shown with the jobs that wait"},
)

POOLS = Noun(
    "pools",
    "list, pause, drain and resume pools; for administrators",
    (
        Verb(
            "list",
            "pools.list",
            "list pools with their state; for administrators",
            ("hub pools list",),
            columns=("name", "state", "queued", "running", "workers", "since", "reason"),
        ),
        Verb(
            "pause",
            "pools.pause",
            "hand out no job until the pool is resumed; for administrators",
            ("hub pools pause bench-cpu --reason 'The disk is replaced'",),
            columns=("name", "state", "queued", "running"),
            texts=_DRAIN.texts,
        ),
        Task(_DRAIN.name, _DRAIN.help, _DRAIN.examples, arguments=_drain_arguments, run=_drain),
        Verb(
            "resume",
            "pools.resume",
            "hand out jobs again; for administrators",
            ("hub pools resume bench-cpu",),
            columns=("name", "state", "queued", "running"),
            texts={"name": "name of the pool"},
        ),
    ),
)
