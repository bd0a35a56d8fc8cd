"""Jobs and workers over HTTP."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api import pagination
from registry.api.operations import View, command, detail, listing, operation, resource
from registry.api.parameters import PAGED, asks
from runners.api.serializers import JobDetailOutput, JobOutput, WorkerOutput
from runners.models import Job, Worker
from runners.queue import selectors, services


def unknown_job(_: HttpRequest, text: str) -> HttpResponse:
    """Answers for what cannot be the id of a job."""
    raise problems.NotFound(
        f"{text[:80]!r} is not the id of a job, which has 32 hexadecimal digits and four hyphens. "
        "`hub jobs list` lists the jobs that you can see."
    )


class Jobs(View):
    """Jobs of the versions that the caller may see, and the workers."""

    targets = ("job",)
    job = resource(selectors.job, "uuid")

    @extend_schema(
        operation_id="jobs_list",
        responses=pagination.paged(JobOutput),
    )
    @asks(OpenApiParameter("state", enum=Job.State.values), OpenApiParameter("pool", str), *PAGED)
    def index(self, request: Request) -> Response:
        """List jobs, newest first; filter with `state` and `pool`."""
        rows = selectors.jobs(request.user)
        state = request.query_params.get("state", "")
        if state and state not in Job.State.values:
            states = ", ".join(Job.State.values)
            raise problems.InvalidRequest.at("/state", f"state must be one of {states}.")
        for name in ("state", "pool"):
            if value := request.query_params.get(name):
                rows = rows.filter(**{name: value})
        page, cursor = pagination.by_time(request, rows, "queued_at", pagination.limit_of(request))
        return pagination.respond(request, JobOutput, page, cursor)

    read = detail(
        "jobs_read",
        JobDetailOutput,
        "Read a job. With If-None-Match, an unchanged job returns 304.",
        tagged=True,
    )
    cancel = command(
        "jobs_cancel",
        services.cancel,
        "Cancel a job. A queued job stops at once, a running one within seconds.",
        JobOutput,
    )

    @operation("jobs_lift", JobDetailOutput)
    def lift(self) -> Job:
        """Release the file of this job from quarantine; for administrators.

        Jobs can then run on it again.
        """
        services.lift(self.request.user, job=self.job)
        return self.job

    @listing("workers_list", WorkerOutput, targets=())
    def workers(self) -> list[Worker]:
        """List active workers with their queues, runtimes and execution providers."""
        return selectors.live_workers()
