"""A variant's file with the hub's metadata in it: whether there is one, and having it made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from hub.protocol import problems
from metadata.exports import annotated_files
from registry.api.addresses import api_url
from registry.api.operations import VersionView
from registry.api.outputs import Digest
from registry.versions import selectors
from runners.api.serializers import JobOutput, job_url

if TYPE_CHECKING:
    from rest_framework.request import Request

    from runners.graphs.annotated_files import Copy


class CopyOutput(serializers.Serializer[Any]):
    """A copy of a variant's file with other metadata_props; everything else is equal."""

    path = serializers.CharField(source="file.path")
    sha256 = Digest(source="file.blob_id")
    size = serializers.IntegerField(source="file.blob.size", help_text="bytes")
    made_from = serializers.CharField(source="source", help_text="the original file's path")
    job = serializers.UUIDField(source="job.pk")


class CopyDetail(VersionView):
    """The copy of one variant."""

    @extend_schema(operation_id="variants_with_metadata_read", responses=CopyOutput)
    def get(self, _: Request, **address: Any) -> Response:
        """Read the address of the variant's copy with current embedded metadata.

        Returns 404 if none exists.
        """
        copy = self._find()
        if copy is None or copy.file is None:
            raise problems.NotFound(
                "This copy does not exist yet. Sign in and POST to this address to create it."
            )
        return _ready(copy)

    @extend_schema(
        operation_id="variants_with_metadata_create",
        request=None,
        responses={200: CopyOutput, 202: JobOutput},
    )
    def post(self, request: Request, variant: str, **address: Any) -> Response:
        """Create a copy with current embedded metadata.

        Returns the job, or the copy if it is up to date.
        """
        job = annotated_files.request(request.user, self.version, variant)
        copy = self._find()
        if copy is not None and copy.file is not None:
            return _ready(copy)
        headers = {"Location": job_url(job)}
        return Response(self.data(JobOutput, job), status=202, headers=headers)

    def _find(self) -> Copy | None:
        row = selectors.variant(self.version, self.kwargs["variant"], None, None)
        return annotated_files.of_variants(self.version, [row]).get(row.entry.path)


def _ready(copy: Copy) -> Response:
    response = Response(CopyOutput(copy).data)
    assert copy.file is not None  # noqa: S101 - tells the type checker what callers ensure
    response["Location"] = api_url("blobs", copy.file.blob_id)
    return response
