"""Workers of other people whose signed records this hub trusts, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.inputs import Input, parse
from registry.api.parameters import asks
from runners.api.measurements import EnrolledWorkerOutput
from runners.benchmarks import enrolment

if TYPE_CHECKING:
    from rest_framework.request import Request


class EnrolmentInput(Input):
    """A new enrolled worker."""

    name = serializers.CharField(max_length=64)
    owner = serializers.CharField(
        max_length=150, help_text="user who contributes the records it signs"
    )
    public_key = serializers.CharField(max_length=43, help_text="Ed25519, base64url")


class EnrolledWorkerList(APIView):
    """The enrolled workers."""

    @extend_schema(
        operation_id="enrolled_workers_list", responses=pagination.paged(EnrolledWorkerOutput)
    )
    @asks()
    def get(self, request: Request) -> Response:
        """List the enrolled workers, revoked ones included; for administrators."""
        rows = list(enrolment.every(request.user))
        return pagination.respond(request, EnrolledWorkerOutput, rows, None)

    @extend_schema(
        operation_id="enrolled_workers_enrol",
        request=EnrolmentInput,
        responses={201: EnrolledWorkerOutput},
    )
    def post(self, request: Request) -> Response:
        """Enrol a machine by its public key; for administrators.

        Records that it signs are trusted.
        """
        fields = parse(EnrolmentInput, request.data)
        worker = enrolment.enrol(request.user, **fields)
        return Response(EnrolledWorkerOutput(worker).data, status=201)


class EnrolledWorkerDetail(APIView):
    """One enrolled worker."""

    @extend_schema(operation_id="enrolled_workers_revoke", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Revoke a worker; for administrators. Its earlier signatures become invalid."""
        enrolment.revoke(request.user, name=name)
        return Response(status=204)
