"""What devices call: their task, the weights to start from, uploads, and contributions."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING

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
from registry.federated.api.views import TrainingView, found
from registry.federated.services import contributions, receiving
from registry.storage.services import uploads
from registry.versions import selectors as registry

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponseBase
    from rest_framework.request import Request

    from registry.federated.models import Participant, Round
    from registry.models import Blob

_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*(\d{1,4})")
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/=]{44}):")


def _device(request: Request, namespace: str, name: str, number: int) -> Participant:
    """The participant who asks about its own training; raises NotAuthenticated, NotFound."""
    device = participant(request)
    found(request, namespace, name, number)
    if device.training.number != number:
        raise problems.NotFound("This token is for another training.")
    return device


def _task(device: Participant, round_number: int) -> Round:
    return selectors.round_(device.training, round_number)


class TaskDetail(TrainingView):
    """What a device shall do now."""

    @extend_schema(operation_id="trainings_task", responses={200: OpenApiTypes.OBJECT, 204: None})
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Pull the task: 200, 304, 204 with Retry-After, or 410 once the training has ended."""
        device = _device(request, namespace, name, number)
        wait = _WAIT.search(request.headers.get("Prefer", ""))
        task = tasks.of(device, wait_seconds=float(wait[1]) if wait else 0.0)
        if task is None:
            again = str(tasks.retry_after(device.training))
            return Response(status=204, headers={"Retry-After": again, "Cache-Control": "no-store"})
        task.training = device.training
        response = etags.respond(request, tasks.told(task, shapes.address(device.training)))
        response["Retry-After"] = str(tasks.retry_after(device.training))
        return response


class SkeletonFile(TrainingView):
    """The model without its weights."""

    @extend_schema(operation_id="trainings_skeleton", responses={200: OpenApiTypes.BINARY})
    def get(self, request: Request, namespace: str, name: str, number: int) -> HttpResponseBase:
        """Get the graph; its tensors lie in `weights.safetensors` beside it."""
        training = found(request, namespace, name, number)
        who = seeker(request)
        if not who.is_of(training):
            registry.require_files(who.actor, training.model)
        return _send(request, training.skeleton, "model.onnx")


class BaseFile(TrainingView):
    """The weights that a round starts from."""

    @extend_schema(operation_id="rounds_base", responses={200: OpenApiTypes.BINARY})
    def get(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> HttpResponseBase:
        """Get the weights as safetensors; supports ranges."""
        training = found(request, namespace, name, number)
        row = selectors.round_(training, round_number)
        selectors.require_weights(seeker(request), row)
        return _send(request, row.base, federated.WEIGHTS)


class ResultFile(TrainingView):
    """The weights that a round became."""

    @extend_schema(operation_id="rounds_result", responses={200: OpenApiTypes.BINARY})
    def get(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> HttpResponseBase:
        """Get the result as safetensors, to score it before it is a version; ranges are served."""
        training = found(request, namespace, name, number)
        row = selectors.round_(training, round_number)
        selectors.require_result(request.user, row)
        made = getattr(row, "aggregate", None)
        return _send(request, made.result if made else None, federated.WEIGHTS)


def _send(request: Request, blob: Blob | None, filename: str) -> HttpResponseBase:
    if blob is None or blob.erased_at is not None:
        raise problems.NotFound("The hub no longer stores this file.")
    return downloads.send(request._request, blob, filename, immutable=False)  # noqa: SLF001


class ContributionParser(AnyParser):
    """Leaves a file of tensors unread; JSON goes to the next parser."""

    media_type = safetensors.MEDIA_TYPE


class ContributionDetail(TrainingView):
    """A device's own contribution to a round."""

    parser_classes = [JSONParser, ContributionParser]

    @extend_schema(operation_id="contributions_read", responses=shapes.ContributionOutput)
    def get(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Read the state of a contribution and the reason."""
        device = _device(request, namespace, name, number)
        row = contributions.find(device, _task(device, round_number))
        return etags.respond(request, dict(shapes.ContributionOutput(row).data))

    @extend_schema(
        operation_id="contributions_put",
        request={
            "application/json": shapes.ContributionInput,
            safetensors.MEDIA_TYPE: OpenApiTypes.BINARY,
        },
        responses={200: shapes.ContributionOutput, 201: shapes.ContributionOutput},
    )
    def put(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Hand in: a manifest that names an upload, or the file itself; the same again is 200."""
        device = _device(request, namespace, name, number)
        task = _task(device, round_number)
        is_file = (request.content_type or "").split(";")[0].strip() == safetensors.MEDIA_TYPE
        sent = _inline(request) if is_file else _named(request)
        row, is_new = contributions.hand_in(device, task=task, sent=sent)
        return Response(shapes.ContributionOutput(row).data, status=201 if is_new else 200)

    @extend_schema(operation_id="contributions_withdraw", responses={204: None})
    def delete(
        self, request: Request, namespace: str, name: str, number: int, round_number: int
    ) -> Response:
        """Withdraw the contribution while the round is open."""
        device = _device(request, namespace, name, number)
        contributions.withdraw(device, task=_task(device, round_number))
        return Response(status=204)


def _named(request: Request) -> contributions.Sent:
    given = parse(shapes.ContributionInput, request.data)
    manifest = federated.Manifest.from_json(given["manifest"])
    for name in ("blob", "n"):
        if name in given and given[name] != getattr(manifest, name):
            raise problems.InvalidRequest.at(f"/{name}", f"The manifest has another {name}.")
    return contributions.Sent(manifest, given["signature"])


def _inline(request: Request) -> contributions.Sent:
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
    return contributions.Sent(manifest, request.headers.get("Hub-Signature", ""), content)


def _too_long() -> problems.TooLarge:
    return problems.TooLarge(
        f"Files larger than {contributions.INLINE_BYTES} bytes must be uploaded first, as a "
        "resumable upload, and then named in the manifest."
    )


class UploadList(TusView, TrainingView):
    """Where a device's uploads begin; tus 1.0 as for everybody else's."""

    @extend_schema(operation_id="trainings_uploads_create", request=None, responses={201: None})
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Begin an upload; Upload-Metadata may claim `sha256`."""
        device = _device(request, namespace, name, number)
        upload = receiving.begin(
            device,
            length=_number(request, "Upload-Length"),
            claimed=_metadata(request).get("sha256", ""),
        )
        location = f"{shapes.address(device.training)}/uploads/{upload.uuid}"
        return Response(status=201, headers=_headers(upload) | {"Location": location})


class UploadDetail(TusView, TrainingView):
    """One upload of a device."""

    @extend_schema(operation_id="trainings_uploads_read", responses=UploadOutput)
    def get(self, request: Request, namespace: str, name: str, number: int, uuid: UUID) -> Response:
        """The progress of an upload."""
        device = _device(request, namespace, name, number)
        upload = uploads.refresh(receiving.find(device, uuid))
        return Response(UploadOutput(upload).data | {"filename": ""})

    @extend_schema(operation_id="trainings_uploads_offset", responses={200: None})
    def head(
        self, request: Request, namespace: str, name: str, number: int, uuid: UUID
    ) -> Response:
        """Where to go on."""
        device = _device(request, namespace, name, number)
        return Response(headers=_headers(uploads.refresh(receiving.find(device, uuid))))

    @extend_schema(
        operation_id="trainings_uploads_append", request={BODY: bytes}, responses={204: None}
    )
    def patch(
        self, request: Request, namespace: str, name: str, number: int, uuid: UUID
    ) -> Response:
        """Add bytes at Upload-Offset."""
        if request.content_type != BODY:
            raise problems.UnsupportedMediaType(f"Send Content-Type: {BODY}.")
        upload = receiving.find(_device(request, namespace, name, number), uuid)
        upload = uploads.append(
            upload.owner,
            upload=upload,
            offset=_number(request, "Upload-Offset"),
            stream=request._request,  # noqa: SLF001 - the body itself, unread
        )
        return Response(status=204, headers=_headers(upload))

    @extend_schema(operation_id="trainings_uploads_delete", responses={204: None})
    def delete(
        self, request: Request, namespace: str, name: str, number: int, uuid: UUID
    ) -> Response:
        """Forget an upload."""
        upload = receiving.find(_device(request, namespace, name, number), uuid)
        uploads.abandon(upload.owner, upload=upload)
        return Response(status=204)
