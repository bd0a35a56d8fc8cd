"""The REST API over versions of data sets: their files and splits, which everyone may read."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from hub.protocol import splits
from hub.protocol.inputs import POLARITIES
from registry.api import downloads
from registry.api.addresses import api_url
from registry.api.inputs import FilesParser, Input
from registry.api.operations import (
    Stored,
    View,
    command,
    detail,
    listing,
    operation,
    resource,
)
from registry.api.outputs import Column, Columns, Digest, Output, answers_of
from registry.datasets import preflight, selectors, services
from registry.models import DatasetFile, DatasetVersion
from registry.storage.bundles import Preflight


class SplitInputOutput(Output[splits.SplitInput]):
    """The input that a model gets from a row."""

    columns = Columns(
        Column("name", help_text="name of a model's input"),
        "columns",
        Column(
            "polarity",
            choices=POLARITIES,
            required=False,
            help_text="polarity of pictures, if stated",
        ),
    )


class TargetOutput(Output[splits.Target]):
    """The expected output of a model."""

    columns = Columns(
        Column("column", allow_blank=True),
        Column("labels", help_text="class names in the order of their numbers"),
        Column(
            "positive",
            required=False,
            help_text="class that a single score speaks for, if stated",
        ),
        Column(
            "columns",
            required=False,
            help_text="columns of 0 and 1, one for each label, with several labels for each row",
        ),
    )


class SplitOutput(Output[splits.Split]):
    """A part of a data set, and how its rows are read; see docs/datasets.md."""

    columns = Columns(
        "name",
        "task",
        "reader",
        "files",
        Column("inputs", field=SplitInputOutput, many=True),
        Column("target", field=TargetOutput),
    )


class DatasetFileOutput(Output[DatasetFile]):
    """A file of a version of a data set."""

    columns = Columns(
        "path",
        Column("size", "blob.size"),
        Column("sha256", "blob_id", field=Digest),
        "url",
    )

    def get_url(self, file: DatasetFile) -> str:
        return f"{version_url(file.version)}/files/{quote(file.path)}"


class DatasetVersionSummaryOutput(Output[DatasetVersion]):
    """A version of a data set, as shown in lists."""

    columns = Columns(
        "number",
        Column(
            "sha256",
            field=Digest,
            help_text="digest of its manifest: files and splits as canonical JSON",
        ),
        "message",
        "file_count",
        "size_bytes",
        Column("created_by", "created_by.username"),
        "created_at",
        "url",
    )

    file_count = serializers.IntegerField()
    size_bytes = serializers.IntegerField()

    def get_url(self, version: DatasetVersion) -> str:
        return version_url(version)


class DatasetVersionOutput(DatasetVersionSummaryOutput):
    """A version of a data set with its files and splits."""

    columns = Columns("files", "splits")

    @extend_schema_field(DatasetFileOutput(many=True))
    def get_files(self, version: DatasetVersion) -> Any:
        files = list(version.files.all())
        for file in files:
            file.version = version
        return answers_of(DatasetFileOutput, files)

    @extend_schema_field(SplitOutput(many=True))
    def get_splits(self, version: DatasetVersion) -> list[dict[str, Any]]:
        return [split.document() for split in version.typed_splits]


@extend_schema_field(SplitOutput(many=True))
class SplitsField(serializers.JSONField):
    """Splits as they are sent; the service parses them."""


class DatasetVersionInput(Input):
    """A new version of a data set."""

    columns = Columns(
        Column(
            "namespace",
            kind=str,
            max_length=96,
            allow_blank=True,
            default="",
            help_text="namespace in which a missing data set is made together with its first "
            "version",
        ),
        Column(
            "files",
            field=serializers.DictField,
            child=serializers.CharField(max_length=71),
            help_text="path of each file -> `sha256:<hex>` of its bytes, uploaded before",
        ),
        Column("splits", field=SplitsField, default=None),
        "message",
        Column(
            "sizes",
            field=serializers.DictField,
            child=serializers.IntegerField(min_value=0, max_value=2**63 - 1),
            allow_null=True,
            default=None,
            help_text="path of each file -> its size in bytes: quotas are checked before files are "
            "uploaded",
        ),
        of=DatasetVersion,
    )


def version_url(version: DatasetVersion) -> str:
    """The address of a version in the API."""
    return api_url("datasets", version.dataset.slug, "versions", str(version.number))


class DatasetPreflightOutput(Output[Preflight]):
    """The effects of publishing a version."""

    columns = Columns(
        Column("creates", help_text="whether the data set does not exist yet"),
        Column("missing", help_text="paths whose content the hub needs"),
        Column("missing_bytes", help_text="size of that content; equal files once"),
        Column(
            "identical_to", help_text="number of the version that has the same files and splits"
        ),
    )


class DatasetVersions(View):
    """The versions of a data set."""

    parser_classes = [FilesParser]
    dataset = resource(selectors.dataset, "slug", needs_actor=False)
    version = resource(selectors.version, "dataset", "number", needs_actor=False)

    @listing("dataset_versions_list", DatasetVersionSummaryOutput, by="number")
    def index(self) -> QuerySet[DatasetVersion]:
        """List versions, newest first."""
        return selectors.versions(self.dataset)

    @operation(
        "dataset_versions_create",
        DatasetVersionOutput,
        reads=DatasetVersionInput,
        tagged=True,
        location=version_url,
        responses={200: DatasetVersionOutput, 201: DatasetVersionOutput},
    )
    def create(self, **content: Any) -> Stored:
        """Publish a version from uploaded files. Returns 200 if an equal version exists."""
        version, is_new = services.publish(self.request.user, slug=self.kwargs["slug"], **content)
        return Stored(selectors.version(version.dataset, version.number), is_new=is_new)

    check = command(
        "datasets_preflight",
        preflight.check,
        "Check names, permissions, files, splits and quota of a version. Nothing is stored.\n\n"
        "A refusal is the first problem; its `errors` are those of all problems.",
        DatasetPreflightOutput,
        targets=("slug",),
        reads=DatasetVersionInput,
        headers={"Cache-Control": "no-store"},
    )
    read = detail(
        "dataset_versions_read",
        DatasetVersionOutput,
        "Read a version with its files and splits.",
        targets=("version",),
        tagged=True,
    )

    @extend_schema(
        operation_id="dataset_files_read", responses={(200, "application/octet-stream"): bytes}
    )
    def download(self, request: Request, path: str, **_: Any) -> HttpResponseBase:
        """The content of the file; supports ranges and conditional requests."""
        blob = selectors.file(self.dataset, self.kwargs["number"], path).blob
        return downloads.send(request._request, blob, path, immutable=True)  # noqa: SLF001
