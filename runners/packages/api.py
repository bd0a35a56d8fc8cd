"""The package of a version over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol.generation import Generation, GenerationCheck, Sample, Speed
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


class GenerationCheckOutput(Output[GenerationCheck]):
    """A comparison of passes of a decoder."""

    columns = Columns(
        Column("check", "kind"),
        "title",
        "outcome",
        "message",
        Column("position", help_text="first token that differs, from 0"),
        Column("difference", help_text="largest absolute difference of its scores"),
    )


class GenerationSampleOutput(Output[Sample]):
    """What one process measured."""

    columns = Columns(
        Column("first_seconds", help_text="from the prompt to its first token"),
        Column("step_seconds", help_text="of each further token"),
        Column("memory_bytes", help_text="beyond what the process had before it loaded the model"),
    )


class GenerationSpeedOutput(Output[Speed]):
    """Generation after a prompt, on one core."""

    columns = Columns(
        Column("context", help_text="tokens of the prompt"),
        Column("first_token_ms", "first_token.value"),
        Column("first_token_status", "first_token.status"),
        Column("tokens_per_second", "tokens_per_second.value"),
        Column("tokens_per_second_status", "tokens_per_second.status"),
        Column("memory_bytes", "memory.value"),
        Column("cache_bytes", help_text="of keys and values of prompt and steps"),
    )

    samples = GenerationSampleOutput(many=True, help_text="raw samples, by process")


class GenerationOutput(Output[Generation]):
    """How the decoder of a package generates."""

    columns = Columns(
        Column("model", help_text="path of the ONNX file"),
        Column("context_length", help_text="tokens that its config states"),
        Column("reason", help_text="why nothing was measured"),
    )

    versions = serializers.DictField(
        child=serializers.CharField(), allow_null=True, help_text="of the runtimes, by name"
    )
    checks = GenerationCheckOutput(many=True)
    speeds = GenerationSpeedOutput(many=True)


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

    generation = GenerationOutput(
        default=None,
        allow_null=True,
        help_text="null if the package has no decoder or it is not measured yet",
    )

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
