"""The package of a version over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol.packages import Component, Layout, PackageFinding
from registry.api.operations import VersionView, operation
from registry.api.outputs import Column, Columns, Output, answers_of
from runners.packages import selectors
from runners.packages.selectors import CheckedPackage


class ComponentOutput(Output[Component]):
    """A part of a package."""

    columns = Columns(
        Column("name", help_text="unique in the package"),
        "role",
        Column("model", help_text="path of its ONNX file; empty if it has none"),
    )

    files = serializers.ListField(child=serializers.CharField(), help_text="paths of all its files")


class PackageFindingOutput(Output[PackageFinding]):
    """A contradiction between the files of a package."""

    columns = Columns(
        "code",
        "severity",
        "file",
        Column("field", help_text="key in the file; empty if the finding is about the whole file"),
        "message",
        Column("cure", help_text="what to do about it"),
    )


class VersionPackageOutput(Output[CheckedPackage]):
    """The files of a version as one package, and what contradicts among them."""

    columns = Columns("state", "checked_at")

    layout = serializers.ChoiceField(
        [("", "not checked"), *((layout.value, layout.label) for layout in Layout)],
        source="package.layout",
        default="",
        help_text="empty if the package is not checked",
    )
    title = serializers.CharField(
        source="package.layout.label", default="", help_text="name of the layout for people"
    )
    components = serializers.SerializerMethodField()
    findings = serializers.SerializerMethodField()

    @extend_schema_field(ComponentOutput(many=True))
    def get_components(self, row: CheckedPackage) -> Any:
        return answers_of(ComponentOutput, row.package.components if row.package else ())

    @extend_schema_field(PackageFindingOutput(many=True))
    def get_findings(self, row: CheckedPackage) -> Any:
        return answers_of(PackageFindingOutput, row.package.findings if row.package else ())


class VersionPackages(VersionView):
    """The package of a version that the caller sees."""

    @operation("package_read", VersionPackageOutput)
    def read(self) -> CheckedPackage:
        """Read the layout of a version's files, its components, and the findings among them."""
        return selectors.of(self.version)
