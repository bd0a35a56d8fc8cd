"""Registration of workers: heartbeats, features, removal."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from registry.core import periodic, usage
from registry.datasets import previews
from registry.storage import collector
from registry.storage.services import uploads
from registry.versions.services import deletions, versions
from runners.models import Challenge, Host, Job, Worker
from runners.worker_features import WorkerFeatures

RUNS_KEPT = timedelta(hours=1)


def see(
    worker: str,
    *,
    host: str,
    pool: str,
    features: dict[str, Any],
    slots: int = 1,
) -> None:
    """Record a heartbeat of a worker, and what it offers."""
    Worker.objects.update_or_create(
        name=worker,
        defaults={
            "host": host,
            "pool": pool,
            "slots": slots,
            "features": features,
            "seen_at": timezone.now(),
        },
    )


def offered_by(worker: str) -> tuple[list[str], WorkerFeatures]:
    """The queues and features of a registered worker; empty if it has registered none."""
    row = Worker.objects.filter(name=worker).first()
    return (row.queues, row.typed_features) if row else ([], WorkerFeatures())


def leave(worker: str) -> None:
    """Remove a worker that ends regularly."""
    Worker.objects.filter(name=worker).delete()


def forget_runs() -> int:
    """Delete runs on users' own inputs that ended more than an hour ago; returns their number."""
    over = Job.objects.filter(kind__in=Job.PERSONAL, finished_at__lt=timezone.now() - RUNS_KEPT)
    return int(over.delete()[1].get("runners.Job", 0))


def tidy() -> None:
    """Hourly clean-up: expired uploads and challenges, unneeded bytes, lost workers."""
    forget_runs()
    with periodic.run("expired-uploads") as run:
        run.done = uploads.expire()
    versions.forget_keys()
    usage.forget_weeks()
    previews.write_missing()
    with periodic.run("deleted-models") as run:
        run.done = deletions.erase_expired()
    periodic.run_hourly()
    with periodic.run("unused-files") as run:
        collector.collect(freed=run.add)
    with periodic.run("orphaned-files") as run:
        run.done = collector.collect_orphans()
    Challenge.objects.filter(expires_at__lt=timezone.now()).delete()
    Worker.objects.filter(seen_at__lt=timezone.now() - timedelta(days=1)).delete()
    running = Job.objects.filter(state=Job.State.RUNNING)
    Host.objects.exclude(name__in=Worker.objects.values("host")).exclude(
        name__in=running.values("host")
    ).delete()
