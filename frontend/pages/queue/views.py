"""The queue, and one job as it goes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST, require_safe

from frontend.parts import live, streams
from frontend.presenters import job_outcomes, job_progress
from hub.protocol import problems
from registry.api import throttles
from registry.api.parameters import accepts
from registry.core.permissions import can, has_scope
from runners.models import Job
from runners.queue import aliases, selectors, services

PAGE = 50


@accepts("state", "before")
@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    state = _state(request)
    try:
        before = parse_datetime(request.GET.get("before", ""))
    except ValueError:
        before = None
    rows = selectors.page_of_jobs(request.user, state=state, before=before, limit=PAGE + 1)
    workers = len(selectors.live_workers())
    more = f"&before={rows[PAGE - 1].queued_at:%Y-%m-%dT%H:%M:%S.%fZ}" if len(rows) > PAGE else ""
    return render(
        request,
        "jobs/list.html",
        {
            "rows": [(job, job_progress.title(job)) for job in rows[:PAGE]],
            "watch": None if before else _watch(rows[:PAGE], state, workers),
            "state": state,
            "states": Job.State.values,
            "workers": workers,
            "first": f"{request.path}?state={state}" if before else "",
            "next": f"{request.path}?state={state}{more}" if more else "",
        },
    )


@accepts("state")
@require_safe
def live_mark(request: HttpRequest) -> HttpResponseBase:
    """The mark of the newest jobs that the reader sees, which the queue's page follows."""
    state = _state(request)
    rows = selectors.page_of_jobs(request.user, state=state, limit=PAGE)
    return live.answer(request, _watch(rows, state, len(selectors.live_workers())))


def _state(request: HttpRequest) -> str:
    state = request.GET.get("state", "")
    if state and state not in Job.State.values:
        names = ", ".join(Job.State.values)
        raise problems.InvalidRequest.at("/state", f"state must be one of {names}.")
    return state


def _watch(rows: list[Job], state: str, workers: int) -> live.Watch:
    """What the queue's page follows; it is never over, as jobs may come at any time."""
    states = [(row.pk, row.state, row.attempt, row.progress // 10, row.phase) for row in rows]
    url = reverse("jobs-live") + (f"?state={state}" if state else "")
    return live.Watch(url, live.mark(states, workers), is_over=False)


@require_safe
def job(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """One job; with ``part`` only the region that changes, which its module asks for."""
    template = "jobs/part.html" if "part" in request.GET else "jobs/job.html"
    return render(request, template, {**_context(request, uuid), "now": timezone.now()})


@require_GET
def events(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """The region that changes, sent whenever it does, as long as its reader may see the job."""
    selectors.job(request.user, uuid)

    def look() -> tuple[str, bool]:
        context = _context(request, uuid)
        return render_to_string("jobs/part.html", context), context["job"].is_ended

    return streams.answer(look, _reader(request))


def _reader(request: HttpRequest) -> str:
    if request.user.is_authenticated:
        return f"user {request.user.pk}"
    return f"from {throttles.address_of(request)}"


def _context(request: HttpRequest, uuid: UUID) -> dict[str, Any]:
    job = selectors.job(request.user, uuid)
    progress = job_progress.read(
        job,
        waits=selectors.why_waiting(job),
        barred=selectors.is_barred(job),
        may_cancel=_may_cancel(request, job),
        sees_names=aliases.sees_names(request.user),
        outputs=job_outcomes.of(job) if job.is_ended else (),
        source=selectors.source_of(job),
    )
    return {"job": job, "progress": progress}


def _may_cancel(request: HttpRequest, job: Job) -> bool:
    """Whether the reader may end a job: as its service decides, asked for the page alone."""
    if job.version is not None:
        return can(request.user, "job.cancel", job.version.model)
    user = request.user
    return user.is_authenticated and user.is_admin and has_scope(user, "admin")


@require_POST
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponse:
    services.cancel(request.user, job=selectors.job(request.user, uuid))
    return HttpResponseRedirect(reverse("job", args=[uuid]))


@require_POST
def lift(request: HttpRequest, uuid: UUID) -> HttpResponse:
    services.lift(request.user, job=selectors.job(request.user, uuid))
    return HttpResponseRedirect(reverse("job", args=[uuid]))
