"""Consequences of a noisy scheduled benchmark: others wait, and it is repeated."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from runners.benchmarks.timing_jobs import BENCHMARK, IDLE, REQUESTED
from runners.models import Job, Measurement
from runners.queue import order, services

# Delays after which a noisy first benchmark is repeated: a hub that was busy with the first
# evidence of new versions is quieter soon, a host that others use is quieter at some hour of the
# day.
_QUIETER = tuple(timedelta(minutes=minutes) for minutes in (10, 60, 6 * 60, 24 * 60))
# This many noisy benchmarks in a row show a host that other programs use. First benchmarks are then
# due this much later: after first proofs, but before deep evidence.
_NOISY_IN_A_ROW = 3
_GIVES_WAY = 1.5 * order.STEP


def repeat_later(job: Job) -> Job | None:
    """Queue a version's noisy first benchmark again, each time later.

    None for any other benchmark, and after the last repetition.
    """
    tries = Job.objects.filter(
        kind=BENCHMARK, version=job.version, entry=job.entry, pool=job.pool, input=job.input
    )
    repeated = tries.filter(priority=IDLE, again=True).count()
    is_first = tries.filter(priority=order.FIRST).exists()
    if job.priority == REQUESTED or not is_first or repeated == len(_QUIETER):
        return None
    return services.enqueue(
        kind=BENCHMARK,
        version=job.version,
        entry=job.entry,
        job_input={name: value for name, value in job.input.items() if name != "manifest_sha256"},
        requires=job.requires,
        pool=job.pool,
        exclusive=job.exclusive,
        priority=IDLE,
        not_before=timezone.now() + _QUIETER[repeated],
        again=True,
    )


def give_way(job: Job) -> int:
    """Delay the first benchmarks of versions if a host's last benchmarks all ended noisy.

    Each keeps all other work of that host waiting, most likely for another noisy result. Returns
    how many were delayed.
    """
    ended = Job.objects.filter(
        kind=BENCHMARK, host=job.host, state=Job.State.SUCCEEDED, shared_from=None
    ).order_by("-finished_at")[:_NOISY_IN_A_ROW]
    jobs = [job.pk for job in ended.only("pk")]
    quiet = Measurement.objects.filter(job__in=jobs).exclude(status=Measurement.Status.NOISY)
    if len(jobs) < _NOISY_IN_A_ROW or quiet.exists():
        return 0
    waiting = Job.objects.filter(
        kind=BENCHMARK, pool=job.pool, state=Job.State.QUEUED, priority=order.FIRST
    )
    return waiting.update(due_at=F("queued_at") + order.FIRST * order.STEP + _GIVES_WAY)
