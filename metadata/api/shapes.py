"""The report of a profile's shapes over HTTP."""

from __future__ import annotations

from typing import Any

from hub.protocol import problems
from metadata.models import ShapeReport
from metadata.validation import reports
from registry.api.operations import VersionView, operation
from registry.api.outputs import Column, Columns, Digest, Output, Shape


class ShapeFinding(Shape[Any]):
    """One kind of violation of a shape."""

    columns = Columns(
        "code",
        "severity",
        "message",
        Column("path", help_text="the property, as an IRI"),
        Column("field", help_text="field of the card that provides it, if any"),
        Column("times", kind=int),
        Column("where", kind=list[str], help_text="some of the resources concerned"),
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
        Column("findings", field=ShapeFinding, many=True),
        "at",
    )


class ShapeReports(VersionView):
    """The report of MLDCAT-AP's shapes on a version."""

    @operation("shape_report_read", ShapeReportOutput)
    def read(self) -> ShapeReport:
        """Read the validation of a published version's graph against the MLDCAT-AP shapes."""
        return problems.expect(
            reports.of_version(self.version),
            problems.NotFound(
                f"There is no report on {self.version.ref}: reports are created in the background "
                "after a version of a public model is published."
            ),
        )
