"""Jobs and workers that a user may see: a job is as visible as its version.

Jobs without a version belong to the hub and are visible to everyone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from hub.protocol import problems
from registry.core.permissions import require_admin
from registry.core.prepared_queries import Prepared
from registry.models import RegisteredModel, Version
from runners import pools
from runners.models import Bar, Host, Job, PoolHold, Worker
from runners.queue import aliases, order
from runners.queue.services import budgets, sharing

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from registry.core.permissions import Actor


def jobs(actor: Actor) -> QuerySet[Job]:
    """Visible jobs, newest first: those of versions that the actor may see, and those of the hub.

    Annotations: ``may_have_files`` tells whether the actor may read the files of the model, and
    ``sees_source`` whether the actor may see the version whose job did the work.
    """
    visible = Version.objects.visible_to(actor)
    visible_jobs = Q(version__in=visible) | Q(version=None)
    if not (actor.is_authenticated and actor.is_admin):
        # Reports on contributions contain data of single devices.
        visible_jobs &= ~Q(kind__in=Job.PRIVATE)
    # What somebody ran a model on is theirs alone.
    own = Q(kind__in=Job.PERSONAL, input__asked_by=_key(actor))
    if actor.is_authenticated and actor.reach:
        own &= actor.reach.rows(namespace="version__model__namespace", model="version__model")
    visible_jobs &= ~Q(kind__in=Job.PERSONAL) | own
    readable = RegisteredModel.objects.filter(pk=OuterRef("version__model")).readable_by(actor)
    rows = Job.objects.filter(visible_jobs).select_related(
        "version__model__namespace", "shared_from__version__model__namespace"
    )
    return rows.annotate(
        may_have_files=Exists(readable),
        sees_source=Exists(visible.filter(pk=OuterRef("shared_from__version"))),
    )


def job(actor: Actor, uuid: UUID) -> Job:
    """The job with this id; raises NotFound."""
    return problems.expect(
        jobs(actor).filter(pk=uuid).first(),
        problems.NotFound(
            "There is no job of this id that you can see. `hub jobs list` lists those that you can."
        ),
    )


def source_of(job: Job) -> Job | None:
    """The job whose result a job shares, if the reader may see that job."""
    return job.shared_from if getattr(job, "sees_source", False) else None


def live_workers(queue: str = "") -> list[Worker]:
    """Workers with a recent heartbeat, of one queue or all."""
    rows = Worker.objects.filter(seen_at__gt=timezone.now() - order.WORKER_LOST)
    return [row for row in rows if not queue or queue in row.queues]


class PoolState(StrEnum):
    """What a pool does: `drained` is `draining` without a running job."""

    OPEN = "open"
    PAUSED = "paused"
    DRAINING = "draining"
    DRAINED = "drained"


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """A pool with its jobs and live workers; since when and why it hands out no job, if so."""

    name: str
    state: PoolState
    queued: int
    running: int
    workers: int
    reason: str = ""
    since: datetime | None = None


def pools_of_hub(actor: Actor) -> list[PoolStatus]:
    """Every pool with workers, jobs or a hold, and those of every hub; for administrators."""
    require_admin(actor)
    counts = Job.objects.filter(state__in=Job.LIVE).order_by().values_list("pool", "state")
    jobs_of = {(pool, state): n for pool, state, n in counts.annotate(n=Count("pk"))}
    workers: dict[str, int] = {}
    for worker in live_workers():
        # The queues of one pool are `cpu`, `cpu.urgent` and `cpu.openvino`.
        for name in {queue.partition(".")[0] for queue in worker.queues}:
            workers[name] = workers.get(name, 0) + 1
    holds = holds_of_pools()
    names = {*Job.Pool.values, *workers, *holds, *(pool for pool, _ in jobs_of)}
    return [
        PoolStatus(
            name=name,
            state=_pool_state(holds.get(name), running=jobs_of.get((name, Job.State.RUNNING), 0)),
            queued=jobs_of.get((name, Job.State.QUEUED), 0),
            running=jobs_of.get((name, Job.State.RUNNING), 0),
            workers=workers.get(name, 0),
            reason=holds[name].reason if name in holds else "",
            since=holds[name].held_at if name in holds else None,
        )
        for name in sorted(names)
    ]


def pool(actor: Actor, name: str) -> PoolStatus:
    """A pool of the hub, for administrators; raises NotFound."""
    rows = {row.name: row for row in pools_of_hub(actor)}
    if name not in rows:
        raise problems.NotFound(f"There is no pool {name}. There are: {', '.join(rows)}.")
    return rows[name]


def held_pools() -> dict[str, tuple[PoolHold, PoolState]]:
    """The pools that hand out no job, by name, with their state."""
    running = Job.objects.filter(state=Job.State.RUNNING).order_by().values_list("pool", flat=True)
    busy = set(running.distinct())
    return {
        name: (row, _pool_state(row, running=name in busy))
        for name, row in holds_of_pools().items()
    }


def _pool_state(hold: PoolHold | None, *, running: int) -> PoolState:
    if hold is None:
        return PoolState.OPEN
    if hold.state == PoolHold.State.DRAINING and not running:
        return PoolState.DRAINED
    return PoolState(hold.state)


def waiting_since() -> dict[str, datetime]:
    """Since when the oldest job of each queue waits that may run."""
    rows = Job.objects.filter(state=Job.State.QUEUED, not_before__lte=timezone.now())
    since = (
        rows.order_by().values_list("queue").annotate(at=Min(Greatest("queued_at", "not_before")))
    )
    return dict(since)


def holds_of_pools() -> dict[str, PoolHold]:
    """The holds of the pools that hand out no job, by the pool's name."""
    return {row.pool: row for row in PoolHold.objects.all()}


def why_waiting(
    waiting: Job,
    workers: Sequence[Worker] | None = None,
    holds: Mapping[str, PoolHold] | None = None,
) -> str:
    """Why a job has not started: no worker offers what it needs, it is not due, or jobs are ahead.

    ``workers`` are the live ones and ``holds`` those of the pools, if they have been read before.
    """
    if waiting.state != Job.State.QUEUED:
        return ""
    reason = (
        _held(waiting, holds)
        or _nobody_offers(waiting, workers)
        or _same_work(waiting)
        or _spent_budget(waiting)
    )
    if reason:
        return reason
    now = timezone.now()
    if waiting.not_before > now:
        again = "another attempt " if waiting.attempt else ""
        return f"{again}not before {waiting.not_before:%Y-%m-%d %H:%M:%S} UTC"
    ahead = order.ahead_of(waiting).count()
    if ahead:
        wait = order.expected_wait(waiting)
        about = f", {_minutes(wait)}" if wait is not None else ""
        return f"{ahead} {'job' if ahead == 1 else 'jobs'} ahead in {waiting.queue}{about}"
    host = Host.objects.filter(reserved_for=waiting, reserved_until__gt=now).first()
    if host is not None:
        machine = aliases.host(host.name)
        return f"the other jobs on {machine} must end first, as it needs the machine alone"
    return f"next in line for a worker of {waiting.queue}"


def is_barred(ended: Job) -> bool:
    """Whether this job's file is quarantined for its kind of work."""
    return Bar.objects.standing_on(ended).exists()


def standing_bars(*, limit: int = 50) -> list[Bar]:
    """The quarantined files, newest first; for administrators only."""
    return list(Bar.objects.filter(lifted_at=None).select_related("namespace")[:limit])


def queue_lengths(actor: Actor) -> dict[str, int]:
    """Number of visible jobs in each state of live jobs."""
    live = jobs(actor).filter(state__in=Job.LIVE).select_related(None)
    return dict(live.values_list("state").annotate(n=Count("pk")).order_by())


def of_version(actor: Actor, version: Version, *, kinds: Collection[str] = ()) -> list[Job]:
    """The newest 50 jobs of a version, of all kinds or some."""
    if not actor.is_authenticated:
        return _guests_jobs(tuple(sorted(kinds))).instances(version.pk)
    return list(_of_version(actor, version.pk, kinds))


OF_VERSION = 50


def _of_version(actor: Actor, version_id: int, kinds: Collection[str]) -> QuerySet[Job]:
    rows = jobs(actor).filter(version=version_id)
    return (rows.filter(kind__in=kinds) if kinds else rows)[:OF_VERSION]


@cache
def _guests_jobs(kinds: tuple[str, ...]) -> Prepared:
    """Most readers of a version's pages are guests."""
    return Prepared(lambda version_id: _of_version(AnonymousUser(), version_id, kinds))


def live_kinds(version: Version) -> frozenset[str]:
    """The kinds of the queued and running jobs of a version, without private jobs and try-outs."""
    return frozenset(kind for (kind,) in _live_kinds.rows(version.pk))


@Prepared
def _live_kinds(version_id: int) -> QuerySet[Job, Any]:
    live = Job.objects.filter(version=version_id, state__in=Job.LIVE)
    public = live.exclude(kind__in=Job.PRIVATE | Job.PERSONAL)
    return public.order_by().values_list("kind").distinct()


def page_of_jobs(
    actor: Actor, *, state: str = "", before: datetime | None = None, limit: int = 50
) -> list[Job]:
    """A page of the visible jobs, newest first."""
    rows = jobs(actor)
    if state:
        rows = rows.filter(state=state)
    if before is not None:
        rows = rows.filter(queued_at__lt=before)
    return list(rows[:limit])


def _minutes(wait: timedelta) -> str:
    minutes = round(wait.total_seconds() / 60)
    return f"about {minutes} min" if minutes else "less than a minute"


def _key(actor: Actor) -> int:
    """The primary key of the actor; 0 for a guest."""
    return getattr(actor, "pk", None) or 0


def _held(waiting: Job, holds: Mapping[str, PoolHold] | None) -> str:
    """Why the pool of a job hands out none; empty if it does."""
    row = (holds_of_pools() if holds is None else holds).get(waiting.pool)
    if row is None:
        return ""
    because = f": {row.reason}" if row.reason else ""
    return f"the pool {row.pool} is {row.get_state_display().lower()}{because}"


def _same_work(waiting: Job) -> str:
    """Why a job waits for a running job with the same content; empty for other jobs."""
    twin = sharing.public_twin(waiting)
    if twin is None or twin.version is None:
        return ""
    return f"the same work is running for {twin.version.ref}; its result will be shared"


def _spent_budget(waiting: Job) -> str:
    """Why a requested run waits for others of its requester; empty for other jobs."""
    if not budgets.is_spent(waiting):
        return ""
    most = settings.HUB_LIMITS_RUNS_AT_WORK
    return f"its requester has {most} runs at work, which is the most at once"


def _nobody_offers(waiting: Job, workers: Sequence[Worker] | None) -> str:
    """The need of a job that no worker meets; empty if a worker meets all."""
    live = live_workers() if workers is None else workers
    here = [worker for worker in live if waiting.queue in worker.queues]
    lacks = [pools.unmet(waiting.requires, worker.typed_features) for worker in here]
    if not all(lacks):
        return ""
    if lacks:
        return f"no worker offers {lacks[0]}"
    if waiting.runtime:
        return f"no worker offers {waiting.runtime}"
    return f"no worker takes jobs of the pool {waiting.pool}"
