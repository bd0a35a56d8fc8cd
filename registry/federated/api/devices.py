"""What devices call: their task, the weights to start from, uploads, and contributions."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from hub.protocol import digests, federated, problems, safetensors
from registry.api import downloads, etags
from registry.api.inputs import JSONParser, parse
from registry.api.uploads import BODY, TusView, UploadOutput, _headers, _metadata, _number
from registry.api.uploads import RawParser as AnyParser
from registry.federated import selectors, tasks
from registry.federated.api import shapes
from registry.federated.api.authentication import participant, seeker
from registry.federated.api.views import OneRoundView, OneTrainingView
from registry.federated.services import contributions, receiving
from registry.storage.services import uploads
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponseBase
    from rest_framework.request import Request

    from registry.federated.models import Participant, Training
    from registry.models import Blob

_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*(\d{1,4})")
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/=]{44}):")


class DeviceView(OneTrainingView):
    """For a device, at or below the address of its own training."""

    device: Participant

    def find(
        self, request: Request, *, namespace: str, name: str, number: int, **_: Any
    ) -> Training:
        """The training of the device that asks; raises NotAuthenticated, NotFound."""
        self.device = participant(request)
        super().find(request, namespace=namespace, name=name, number=number)
        if self.device.training.number != number:
            raise problems.NotFound("This token is for another training.")
        return self.device.training


class TaskDetail(DeviceView):
    """The current task of a device."""

    @extend_schema(operation_id="trainings_task", responses={200: OpenApiTypes.OBJECT, 204: None})
    def get(self, request: Request, **_: Any) -> Response:
        """Pull the current task.

        Returns 304 if unchanged, 204 with Retry-After if there is none, and 410 after the
        training.
        """
        wait = _WAIT.search(request.headers.get("Prefer", ""))
        task = tasks.of(self.device, wait_seconds=float(wait[1]) if wait else 0.0)
        if task is None:
            again = str(tasks.retry_after(self.training))
            return Response(status=204, headers={"Retry-After": again, "Cache-Control": "no-store"})
        task.training = self.training
        response = etags.respond(request, tasks.to_json(task, shapes.address(self.training)))
        response["Retry-After"] = str(tasks.retry_after(self.training))
        return response


BYTES = {(200, "application/octet-stream"): OpenApiTypes.BINARY}


class SkeletonFile(OneTrainingView):
    """The model without its weights."""

    @extend_schema(operation_id="trainings_skeleton", responses=BYTES)
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """Download the graph without weights.

        It refers to `weights.safetensors` in the same folder.
        """
        who = seeker(request)
        if not who.is_of(self.training):
            registry.require_files(who.actor, self.training.model)
        return _send(request, self.training.skeleton, "model.onnx")


class BaseFile(OneRoundView):
    """The weights that a round starts from."""

    @extend_schema(operation_id="rounds_base", responses=BYTES)
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """Download the weights that a round starts from, as safetensors. Supports ranges."""
        selectors.require_weights(seeker(request), self.round)
        return _send(request, self.round.base, federated.WEIGHTS)


class ResultFile(OneRoundView):
    """The weights that a round became."""

    @extend_schema(operation_id="rounds_result", responses=BYTES)
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """Download the result as safetensors, to score it before publication. Supports ranges."""
        selectors.require_result(request.user, self.round)
        aggregate = getattr(self.round, "aggregate", None)
        return _send(request, aggregate.result if aggregate else None, federated.WEIGHTS)


def _send(request: Request, blob: Blob | None, filename: str) -> HttpResponseBase:
    if blob is None or blob.erased_at is not None:
        raise problems.NotFound("The hub no longer stores this file.")
    return downloads.send(request._request, blob, filename, immutable=False)  # noqa: SLF001


class ContributionParser(AnyParser):
    """Leaves a file of tensors unread; JSON goes to the next parser."""

    media_type = safetensors.MEDIA_TYPE


class ContributionDetail(DeviceView, OneRoundView):
    """A device's own contribution to a round."""

    parser_classes = [JSONParser, ContributionParser]

    @extend_schema(operation_id="contributions_read", responses=shapes.ContributionOutput)
    def get(self, request: Request, **_: Any) -> Response:
        """Read the state of your contribution, with the reason for a rejection."""
        row = contributions.find(self.device, self.round)
        return etags.respond(request, dict(shapes.ContributionOutput(row).data))

    @extend_schema(
        operation_id="contributions_put",
        request={
            "application/json": shapes.ContributionInput,
            safetensors.MEDIA_TYPE: OpenApiTypes.BINARY,
        },
        responses={200: shapes.ContributionOutput, 201: shapes.ContributionOutput},
    )
    def put(self, request: Request, **_: Any) -> Response:
        """Submit a contribution: a manifest that names an upload, or the file itself.

        Repeating it returns 200.
        """
        is_file = (request.content_type or "").split(";")[0].strip() == safetensors.MEDIA_TYPE
        submission = _inline(request) if is_file else _named(request)
        row, is_new = contributions.hand_in(self.device, task=self.round, submission=submission)
        return Response(shapes.ContributionOutput(row).data, status=201 if is_new else 200)

    @extend_schema(operation_id="contributions_withdraw", responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Withdraw your contribution while the round is open."""
        contributions.withdraw(self.device, task=self.round)
        return Response(status=204)


def _named(request: Request) -> contributions.Submission:
    data = parse(shapes.ContributionInput, request.data)
    manifest = federated.Manifest.from_json(data["manifest"])
    for name in ("blob", "n"):
        if name in data and data[name] != getattr(manifest, name):
            raise problems.InvalidRequest.at(f"/{name}", f"The manifest has another {name}.")
    return contributions.Submission(manifest, data["signature"])


def _inline(request: Request) -> contributions.Submission:
    """The file itself, with manifest and signature in headers; raises TooLarge, InvalidRequest."""
    try:
        text = base64.b64decode(request.headers.get("Hub-Manifest", ""), validate=True)
        manifest = federated.Manifest.from_json(json.loads(text))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise problems.InvalidRequest(
            "Send the manifest as base64 of its JSON in the header Hub-Manifest, and its "
            "signature in Hub-Signature."
        ) from error
    length = request.headers.get("Content-Length", "")
    if length.isdigit() and int(length) > contributions.INLINE_BYTES:
        raise _too_long()
    content = request._request.read(contributions.INLINE_BYTES + 1)  # noqa: SLF001 - unread body
    if len(content) > contributions.INLINE_BYTES:
        raise _too_long()
    claimed = _DIGEST.fullmatch(request.headers.get("Content-Digest", "").strip())
    if claimed is None:
        raise problems.InvalidRequest("Send Content-Digest: sha-256=:<base64>: with the file.")
    if base64.b64decode(claimed[1]).hex() != digests.hash_bytes(content):
        raise problems.DigestMismatch("The body does not match its Content-Digest.")
    return contributions.Submission(manifest, request.headers.get("Hub-Signature", ""), content)


def _too_long() -> problems.TooLarge:
    return problems.TooLarge(
        f"Files larger than {contributions.INLINE_BYTES} bytes must be uploaded first, as a "
        "resumable upload, and then named in the manifest."
    )


class UploadList(TusView, DeviceView):
    """Where a device's uploads begin; tus 1.0, as for users' uploads."""

    @extend_schema(operation_id="trainings_uploads_create", request=None, responses={201: None})
    def post(self, request: Request, **_: Any) -> Response:
        """Create an upload. Upload-Metadata can declare `sha256`."""
        upload = receiving.begin(
            self.device,
            length=_number(request, "Upload-Length"),
            claimed=_metadata(request).get("sha256", ""),
        )
        location = f"{shapes.address(self.training)}/uploads/{upload.uuid}"
        return Response(status=201, headers=_headers(upload) | {"Location": location})


class UploadDetail(TusView, DeviceView):
    """One upload of a device."""

    @extend_schema(operation_id="trainings_uploads_read", responses=UploadOutput)
    def get(self, request: Request, uuid: UUID, **_: Any) -> Response:
        """Read the progress of an upload."""
        upload = uploads.refresh(receiving.find(self.device, uuid))
        return Response(UploadOutput(upload).data | {"filename": ""})

    @extend_schema(operation_id="trainings_uploads_offset", responses={200: None})
    def head(self, request: Request, uuid: UUID, **_: Any) -> Response:
        """Where to go on."""
        return Response(headers=_headers(uploads.refresh(receiving.find(self.device, uuid))))

    @extend_schema(
        operation_id="trainings_uploads_append", request={BODY: bytes}, responses={204: None}
    )
    def patch(self, request: Request, uuid: UUID, **_: Any) -> Response:
        """Append bytes at Upload-Offset."""
        if request.content_type != BODY:
            raise problems.UnsupportedMediaType(f"Send Content-Type: {BODY}.")
        upload = receiving.find(self.device, uuid)
        upload = uploads.append(
            upload.owner,
            upload=upload,
            offset=_number(request, "Upload-Offset"),
            stream=request._request,  # noqa: SLF001 - the body itself, unread
        )
        return Response(status=204, headers=_headers(upload))

    @extend_schema(operation_id="trainings_uploads_delete", responses={204: None})
    def delete(self, request: Request, uuid: UUID, **_: Any) -> Response:
        """Delete an upload and its bytes."""
        upload = receiving.find(self.device, uuid)
        uploads.abandon(upload.owner, upload=upload)
        return Response(status=204)
