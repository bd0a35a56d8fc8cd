"""Jobs and workers as somebody may see them: a job is as visible as its version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count
from django.utils import timezone

from hub.protocol import problems
from registry.models import Version
from runners.models import Job, Worker
from runners.services import WORKER_LOST

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

    from registry.permissions import Actor


def jobs(actor: Actor) -> QuerySet[Job]:
    """Jobs of versions that the actor may see, newest first."""
    return Job.objects.filter(version__in=Version.objects.visible_to(actor)).select_related(
        "version__model__namespace"
    )


def job(actor: Actor, uuid: UUID) -> Job:
    """One job; raises NotFound."""
    found = jobs(actor).filter(pk=uuid).first()
    if found is None:
        raise problems.NotFound("There is no job of this id that you can see.")
    return found


def ahead_of(waiting: Job) -> int:
    """How many jobs of its pool are taken before this one."""
    rows = Job.objects.filter(state=Job.State.QUEUED, pool=waiting.pool)
    earlier = rows.filter(priority__lt=waiting.priority) | rows.filter(
        priority=waiting.priority, queued_at__lt=waiting.queued_at
    )
    return earlier.count()


def live_workers(pool: str = "") -> list[Worker]:
    """Workers seen of late, of one pool or all."""
    rows = Worker.objects.filter(seen_at__gt=timezone.now() - WORKER_LOST)
    return [row for row in rows if not pool or pool in row.pool.split(",")]


def queue_lengths(actor: Actor) -> dict[str, int]:
    """How many of the jobs that the actor may see are in each state that is not over."""
    live = jobs(actor).filter(state__in=Job.LIVE).select_related(None)
    return dict(live.values_list("state").annotate(n=Count("pk")).order_by())


def of_version(actor: Actor, version: Version) -> list[Job]:
    """The jobs of one version, newest first."""
    return list(jobs(actor).filter(version=version)[:50])


def page_of_jobs(
    actor: Actor, *, state: str = "", before: datetime | None = None, limit: int = 50
) -> list[Job]:
    """One page of the jobs that the actor may see, newest first."""
    rows = jobs(actor)
    if state:
        rows = rows.filter(state=state)
    if before is not None:
        rows = rows.filter(queued_at__lt=before)
    return list(rows[:limit])
