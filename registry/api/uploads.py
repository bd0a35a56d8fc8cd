"""Resumable uploads: tus 1.0.0 core with creation, expiration and termination."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.http import http_date
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api.addresses import api_url
from registry.api.inputs import IDEMPOTENCY_KEY, idempotency_key
from registry.api.outputs import Column, Columns, Digest, Output
from registry.models import Upload
from registry.storage.services import uploads
from registry.versions import selectors

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request


TUS = "1.0.0"
BODY = "application/offset+octet-stream"


class UploadOutput(Output[Upload]):
    """Read the progress of an upload."""

    columns = Columns(
        "uuid",
        "offset",
        "length",
        Column("state", field=serializers.CharField),
        Column("blob", "blob_id", field=Digest, allow_null=True),
    )


class RawParser(BaseParser):
    """Leaves the body where it is: it is read in pieces, never as a whole."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream


class TusView(APIView):
    """What every answer of the protocol carries."""

    parser_classes = [RawParser]

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


def _headers(upload: Upload) -> dict[str, str]:
    headers = {
        "Upload-Offset": str(upload.offset),
        "Upload-Length": str(upload.length),
        "Upload-Expires": http_date(upload.expires_at.timestamp()),
    }
    if upload.blob_id:
        headers["Hub-Blob"] = f"sha256:{upload.blob_id}"
    return headers


def _number(request: Request, header: str) -> int:
    text = request.headers.get(header, "")
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise problems.InvalidRequest(f"Send {header} as an integer number of bytes.")
    return int(text)


def _metadata(request: Request) -> dict[str, str]:
    metadata = {}
    for pair in filter(None, request.headers.get("Upload-Metadata", "").split(",")):
        key, _, value = pair.strip().partition(" ")
        try:
            metadata[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise problems.InvalidRequest(f"Upload-Metadata: {key} is not base64 text.") from error
    return metadata


class UploadList(TusView):
    """Where uploads begin."""

    @extend_schema(operation_id="uploads_options", responses={204: None})
    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """What this server can do."""
        headers = {
            "Tus-Version": TUS,
            "Tus-Extension": "creation,expiration,termination",
            "Tus-Max-Size": str(settings.HUB_LIMITS_FILE_BYTES),
        }
        return Response(status=204, headers=headers)

    @extend_schema(
        operation_id="uploads_create",
        request=None,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: None},
    )
    def post(self, request: Request) -> Response:
        """Create an upload. Upload-Metadata can declare `sha256` and the file name."""
        metadata = _metadata(request)
        upload = uploads.create(
            request.user,
            length=_number(request, "Upload-Length"),
            filename=metadata.get("filename", ""),
            claimed=metadata.get("sha256", ""),
            key=idempotency_key(request),
        )
        location = api_url("uploads", str(upload.uuid))
        return Response(status=201, headers=_headers(upload) | {"Location": location})


class UploadDetail(TusView):
    """One upload."""

    # To say where to go on, it finishes what a crash left at its end.
    recovers_on_read = True

    @extend_schema(operation_id="uploads_read", responses=UploadOutput)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Read the progress of an upload, and its blob when complete."""
        upload = uploads.refresh(selectors.upload(request.user, uuid))
        return Response(UploadOutput(upload).data)

    @extend_schema(operation_id="uploads_offset", responses={200: None})
    def head(self, request: Request, uuid: UUID) -> Response:
        """Where to go on."""
        upload = uploads.refresh(selectors.upload(request.user, uuid))
        return Response(headers=_headers(upload))

    @extend_schema(operation_id="uploads_append", request={BODY: bytes}, responses={204: None})
    def patch(self, request: Request, uuid: UUID) -> Response:
        """Append bytes at Upload-Offset."""
        if request.content_type != BODY:
            raise problems.UnsupportedMediaType(f"Send Content-Type: {BODY}.")
        upload = uploads.append(
            request.user,
            upload=selectors.upload(request.user, uuid),
            offset=_number(request, "Upload-Offset"),
            stream=request._request,  # noqa: SLF001 - the body itself, unread
        )
        return Response(status=204, headers=_headers(upload))

    @extend_schema(operation_id="uploads_delete", responses={204: None})
    def delete(self, request: Request, uuid: UUID) -> Response:
        """Delete an upload and its bytes."""
        uploads.abandon(request.user, upload=selectors.upload(request.user, uuid))
        return Response(status=204)
