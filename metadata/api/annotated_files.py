"""A variant's file with the hub's metadata in it: whether there is one, and having it made."""

from __future__ import annotations

from uuid import UUID

from rest_framework.response import Response

from hub.protocol import problems
from metadata.exports import annotated_files
from registry.api.addresses import api_url
from registry.api.operations import VersionView, operation
from registry.api.outputs import Column, Columns, Digest, Output
from registry.versions import selectors
from runners.api.serializers import JobOutput, job_url
from runners.graphs.annotated_files import Copy


class CopyOutput(Output[Copy]):
    """A copy of a variant's file with other metadata_props; everything else is equal."""

    columns = Columns(
        Column("path", "file.path", kind=str),
        Column("sha256", "file.blob_id", field=Digest),
        Column("size", "file.blob.size", kind=int, help_text="bytes"),
        Column("made_from", "source", help_text="the original file's path"),
        Column("job", "job.pk", kind=UUID),
    )


class Copies(VersionView):
    """The copies of variants."""

    @operation("variants_with_metadata_read", responses=CopyOutput)
    def read(self) -> Response:
        """Read the address of the variant's copy with current embedded metadata.

        Returns 404 if none exists.
        """
        return problems.expect(
            self._find(),
            problems.NotFound(
                "This copy does not exist yet. Sign in and POST to this address to create it."
            ),
        )

    @operation("variants_with_metadata_create", responses={200: CopyOutput, 202: JobOutput})
    def create(self) -> Response:
        """Create a copy with current embedded metadata.

        Returns the job, or the copy if it is up to date.
        """
        job = annotated_files.request(self.request.user, self.version, self.kwargs["variant"])
        headers = {"Location": job_url(job)}
        return self._find() or Response(self.data(JobOutput, job), status=202, headers=headers)

    def _find(self) -> Response | None:
        """The copy as an answer, if it is there."""
        row = selectors.variant(self.version, self.kwargs["variant"], None, None)
        copy = annotated_files.of_variants(self.version, [row]).get(row.entry.path)
        if copy is None or copy.file is None:
            return None
        headers = {"Location": api_url("blobs", copy.file.blob_id)}
        return Response(self.data(CopyOutput, copy), headers=headers)
