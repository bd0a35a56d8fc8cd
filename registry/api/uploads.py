"""Resumable uploads: tus 1.0.0 core with creation, expiration and termination."""

from __future__ import annotations

import base64
import binascii
from functools import cached_property
from typing import Any

from django.conf import settings
from django.utils.http import http_date
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api.addresses import api_url
from registry.api.inputs import IDEMPOTENCY_KEY, idempotency_key
from registry.api.operations import View, operation, resource
from registry.api.outputs import Column, Columns, Digest, Output
from registry.models import Upload
from registry.storage.services import uploads
from registry.versions import selectors

TUS = "1.0.0"
BODY = "application/offset+octet-stream"


class UploadOutput(Output[Upload]):
    """Read the progress of an upload."""

    columns = Columns(
        "uuid",
        "offset",
        "length",
        Column("state", kind=str),
        Column("blob", "blob_id", field=Digest, allow_null=True),
    )


class RawParser(BaseParser):
    """Leaves the body where it is: it is read in pieces, never as a whole."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream


class TusView(View):
    """What every answer of the protocol carries, and the operations on one upload.

    ``sender`` sends the upload that the address leads to.
    """

    parser_classes = [RawParser]
    # To say where to go on, it finishes what a crash left at its end.
    recovers_on_read = True
    sender: Any
    upload: cached_property[Upload]

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Tus-Resumable"] = TUS
        answer["Cache-Control"] = "no-store"
        return answer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        version = request.headers.get("Tus-Resumable")
        if request.method in ("POST", "PATCH", "HEAD", "DELETE") and version != TUS:
            raise problems.PreconditionFailed(f"Send Tus-Resumable: {TUS}.")

    def progress(self) -> Upload:
        return uploads.refresh(self.upload)

    def offset(self, request: Request, **_: Any) -> Response:
        """Where to go on."""
        return Response(headers=headers_of(self.progress()))

    def append(self) -> Response:
        """Append bytes at Upload-Offset."""
        request = self.request
        if request.content_type != BODY:
            raise problems.UnsupportedMediaType(f"Send Content-Type: {BODY}.")
        upload = uploads.append(
            self.sender,
            upload=self.upload,
            offset=number(request, "Upload-Offset"),
            stream=request._request,  # noqa: SLF001 - the body itself, unread
        )
        return Response(status=204, headers=headers_of(upload))

    def abandon(self) -> None:
        """Delete an upload and its bytes."""
        uploads.abandon(self.sender, upload=self.upload)


def on_one(prefix: str, progress: str) -> tuple[Any, ...]:
    """The operations on one upload with their names: read, append and delete."""
    targets = ("upload",)
    read = operation(f"{prefix}_read", UploadOutput, targets=targets, description=progress)
    append = operation(f"{prefix}_append", targets=targets, request={BODY: bytes})
    delete = operation(f"{prefix}_delete", targets=targets)
    return read(TusView.progress), append(TusView.append), delete(TusView.abandon)


def headers_of(upload: Upload) -> dict[str, str]:
    """What the protocol says of an upload."""
    headers = {
        "Upload-Offset": str(upload.offset),
        "Upload-Length": str(upload.length),
        "Upload-Expires": http_date(upload.expires_at.timestamp()),
    }
    if upload.blob_id:
        headers["Hub-Blob"] = f"sha256:{upload.blob_id}"
    return headers


def number(request: Request, header: str) -> int:
    """A number of bytes that a header gives; raises InvalidRequest."""
    text = request.headers.get(header, "")
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise problems.InvalidRequest(f"Send {header} as an integer number of bytes.")
    return int(text)


def metadata(request: Request) -> dict[str, str]:
    """What Upload-Metadata declares; raises InvalidRequest."""
    values = {}
    for pair in filter(None, request.headers.get("Upload-Metadata", "").split(",")):
        key, _, value = pair.strip().partition(" ")
        try:
            values[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise problems.InvalidRequest(f"Upload-Metadata: {key} is not base64 text.") from error
    return values


class Uploads(TusView):
    """The caller's uploads."""

    upload = resource(selectors.upload, "uuid")
    read, append, destroy = on_one(
        "uploads", "Read the progress of an upload, and its blob when complete."
    )

    @property
    def sender(self) -> Any:
        return self.request.user

    def describe(self, _: Request) -> Response:
        """What this server can do."""
        headers = {
            "Tus-Version": TUS,
            "Tus-Extension": "creation,expiration,termination",
            "Tus-Max-Size": str(settings.HUB_LIMITS_FILE_BYTES),
        }
        return Response(status=204, headers=headers)

    @operation("uploads_create", status=201, parameters=[IDEMPOTENCY_KEY])
    def create(self) -> Response:
        """Create an upload. Upload-Metadata can declare `sha256` and the file name.

        With `Hub-Direct-Upload` in the response, the whole file may be sent to that address by one
        PUT with the header `X-Amz-Content-SHA256`, then an empty PATCH at the end of the upload.
        """
        values = metadata(self.request)
        upload = uploads.create(
            self.request.user,
            length=number(self.request, "Upload-Length"),
            filename=values.get("filename", ""),
            claimed=values.get("sha256", ""),
            key=idempotency_key(self.request),
        )
        location = api_url("uploads", str(upload.uuid))
        headers = headers_of(upload) | {"Location": location}
        if url := uploads.direct_url(upload):
            headers["Hub-Direct-Upload"] = url
        return Response(status=201, headers=headers)
