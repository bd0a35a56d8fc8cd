"""Budgets of requested runs: how many one ordinary user may have queued, and how many at work."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Count, QuerySet

from hub.protocol import problems
from registry.models import User
from runners.models import Job


def expect(requester: User) -> None:
    """Raise Throttled unless the user may queue one run more; locks the row of the user.

    Administrators have no budget. Call it in the transaction that queues the run.
    """
    if requester.is_superuser:
        return
    User.objects.select_for_update().get(pk=requester.pk)
    most = settings.HUB_LIMITS_RUNS_QUEUED
    queued = Job.objects.filter(requester=requester, state=Job.State.QUEUED).count()
    if queued >= most:
        raise problems.Throttled(
            f"{queued} runs that you requested wait in the queue, and one user may have {most}. "
            "Request this one when some have started, or cancel some."
        )


def within(rows: QuerySet[Job]) -> QuerySet[Job]:
    """Queued jobs without those of users who have as many requested runs at work as they may."""
    at_work = Job.objects.filter(state=Job.State.RUNNING, requester__is_superuser=False)
    counts = at_work.order_by().values("requester").annotate(n=Count("pk"))
    full = counts.filter(n__gte=settings.HUB_LIMITS_RUNS_AT_WORK).values_list(
        "requester", flat=True
    )
    users = list(full)
    return rows.exclude(requester__in=users) if users else rows


def is_spent(waiting: Job) -> bool:
    """Whether a queued run waits for other runs of its requester."""
    return not within(Job.objects.filter(pk=waiting.pk)).exists()
