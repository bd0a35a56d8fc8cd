"""Jobs and workers over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import etags, pagination
from registry.api.parameters import PAGED, asks
from runners.api.serializers import JobDetailOutput, JobOutput, WorkerOutput
from runners.models import Job
from runners.queue import selectors, services

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request


class JobList(APIView):
    """Jobs of the versions that the caller may see."""

    @extend_schema(
        operation_id="jobs_list",
        responses=pagination.paged(JobOutput),
    )
    @asks(OpenApiParameter("state", enum=Job.State.values), OpenApiParameter("pool", str), *PAGED)
    def get(self, request: Request) -> Response:
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


class JobDetail(APIView):
    """One job."""

    @extend_schema(operation_id="jobs_read", responses=JobDetailOutput)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Read a job. With If-None-Match, an unchanged job returns 304."""
        job = selectors.job(request.user, uuid)
        output = JobDetailOutput(job, context={"request": request})
        return etags.respond(request, dict(output.data))


class JobCancel(APIView):
    """Ends a job early."""

    @extend_schema(operation_id="jobs_cancel", request=None, responses=JobOutput)
    def post(self, request: Request, uuid: UUID) -> Response:
        """Cancel a job. A queued job stops at once, a running one within seconds."""
        job = services.cancel(request.user, job=selectors.job(request.user, uuid))
        return Response(JobOutput(job, context={"request": request}).data)


class JobLift(APIView):
    """Lets work on a file begin again that used to end its children."""

    @extend_schema(operation_id="jobs_lift", request=None, responses=JobDetailOutput)
    def post(self, request: Request, uuid: UUID) -> Response:
        """Release the file of this job from quarantine; for administrators.

        Jobs can then run on it again.
        """
        job = selectors.job(request.user, uuid)
        services.lift(request.user, job=job)
        return Response(JobDetailOutput(job, context={"request": request}).data)


class WorkerList(APIView):
    """The workers of this hub."""

    @extend_schema(operation_id="workers_list", responses=pagination.paged(WorkerOutput))
    @asks()
    def get(self, request: Request) -> Response:
        """List active workers with their queues, runtimes and execution providers."""
        return pagination.respond(request, WorkerOutput, selectors.live_workers(), None)
