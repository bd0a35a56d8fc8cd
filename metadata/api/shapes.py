"""The report of a profile's shapes over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from metadata.models import ShapeReport
from metadata.validation import reports
from registry.api.outputs import Column, Columns, Output
from registry.api.serializers import Digest
from registry.versions import selectors

if TYPE_CHECKING:
    from rest_framework.request import Request


class ShapeFinding(serializers.Serializer[object]):
    """One kind of violation of a shape."""

    code = serializers.CharField()
    severity = serializers.CharField()
    message = serializers.CharField()
    path = serializers.CharField(help_text="the property, as an IRI")
    field = serializers.CharField(help_text="field of the card that provides it, if any")
    times = serializers.IntegerField()
    where = serializers.ListField(
        child=serializers.CharField(), help_text="some of the resources concerned"
    )


class ShapeReportOutput(Output[ShapeReport]):
    """The findings of a profile's shapes on a version's graph; never a reason not to publish it."""

    columns = Columns(
        "profile",
        Column("shapes", "shapes_title", help_text="name of the shapes"),
        Column("shapes_sha256", field=Digest),
        Column("official", help_text="whether these are the profile's official shapes"),
        Column(
            "graph_sha256",
            field=Digest,
            help_text="the graph, together with the graphs of its model and of the hub",
        ),
        "conforms",
        "count",
        "findings",
        "at",
    )

    findings = ShapeFinding(many=True)


class ShapeReportDetail(APIView):
    """The report of MLDCAT-AP's shapes on a version."""

    @extend_schema(operation_id="shape_report_read", responses=ShapeReportOutput)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Read the validation of a published version's graph against the MLDCAT-AP shapes."""
        version = selectors.version(request.user, namespace, name, number)
        report = reports.of_version(version)
        if report is None:
            raise problems.NotFound(
                f"There is no report on {version.ref}: reports are created in the background "
                "after a version of a public model is published."
            )
        return Response(ShapeReportOutput(report).data)
