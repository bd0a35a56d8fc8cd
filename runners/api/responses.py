"""Answers to requests that queue jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from registry.api import pagination
from runners.api.serializers import JobOutput

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from runners.models import Job


def jobs_response(request: Request, jobs: list[Job]) -> Response:
    """The answer 202 with the jobs of a request."""
    response = pagination.respond(request, JobOutput, jobs, None)
    response.status_code = 202
    return response
