"""What devices call: their task, the weights to start from, uploads, and contributions."""

from __future__ import annotations

import base64
import binascii
import json
import re
from functools import cached_property
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import digests, federated, problems, safetensors
from registry.api import downloads, etags
from registry.api.inputs import JSONParser, parse
from registry.api.operations import Stored, detail, operation, resource
from registry.api.uploads import RawParser as AnyParser
from registry.api.uploads import TusView, headers_of, metadata, number, on_one
from registry.federated import selectors, tasks
from registry.federated.api import shapes
from registry.federated.api.authentication import participant, seeker
from registry.federated.api.views import OneRoundView, OneTrainingView
from registry.federated.models import DeviceEvaluation, Participant, Training
from registry.federated.services import contributions, receiving
from registry.models import Blob
from registry.versions import selectors as registry

_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*(\d{1,4})")
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/=]{44}):")


class DeviceView(OneTrainingView):
    """For a device, at or below the address of its own training."""

    @cached_property
    def device(self) -> Participant:
        """The device that asks; raises NotAuthenticated, NotFound."""
        device = participant(self.request)
        place = (self.kwargs[part] for part in ("namespace", "name", "number"))
        selectors.training(seeker(self.request), *place)
        if device.training.number != self.kwargs["number"]:
            raise problems.NotFound("This token is for another training.")
        return device

    @cached_property
    def training(self) -> Training:
        """The training of the device that asks; raises NotAuthenticated, NotFound."""
        return self.device.training


class Tasks(DeviceView):
    """The current task of a device."""

    @operation("trainings_task", responses={200: OpenApiTypes.OBJECT, 204: None})
    def read(self) -> Response:
        """Pull the current task.

        Returns 304 if unchanged, 204 with Retry-After if there is none, and 410 after the
        training.
        """
        wait = _WAIT.search(self.request.headers.get("Prefer", ""))
        task = tasks.of(self.device, wait_seconds=float(wait[1]) if wait else 0.0)
        again = str(tasks.retry_after(self.training))
        if task is None:
            return Response(status=204, headers={"Retry-After": again, "Cache-Control": "no-store"})
        task.training = self.training
        response = etags.respond(self.request, tasks.to_json(task, shapes.address(self.training)))
        response["Retry-After"] = again
        return response


BYTES = {(200, "application/octet-stream"): OpenApiTypes.BINARY}


class Downloads(OneRoundView):
    """The files of a training and its rounds."""

    @operation("trainings_skeleton", targets=("training",), responses=BYTES)
    def skeleton(self) -> HttpResponseBase:
        """Download the graph without weights.

        It refers to `weights.safetensors` in the same folder.
        """
        who = seeker(self.request)
        if not who.is_of(self.training):
            registry.require_files(who.actor, self.training.model)
        return self._send(self.training.skeleton, "model.onnx")

    @operation("rounds_base", responses=BYTES)
    def base(self) -> HttpResponseBase:
        """Download the weights that a round starts from, as safetensors. Supports ranges."""
        selectors.require_weights(seeker(self.request), self.of)
        return self._send(self.of.base, federated.WEIGHTS)

    @operation("rounds_result", responses=BYTES)
    def result(self) -> HttpResponseBase:
        """Download the result as safetensors, to score it before publication. Supports ranges."""
        selectors.require_result(self.request.user, self.of)
        aggregate = getattr(self.of, "aggregate", None)
        return self._send(aggregate.result if aggregate else None, federated.WEIGHTS)

    @operation("rounds_evaluation_base", responses=BYTES)
    def compared_base(self) -> HttpResponseBase:
        """Download the weights that an evaluation compares with, as safetensors."""
        return self._send(self._compared().base, federated.WEIGHTS)

    @operation("rounds_evaluation_candidate", responses=BYTES)
    def compared_candidate(self) -> HttpResponseBase:
        """Download the weights that an evaluation is about, as safetensors."""
        return self._send(self._compared().candidate, federated.WEIGHTS)

    def _compared(self) -> DeviceEvaluation:
        """The evaluation of the round; raises NotFound where its weights are not for the caller."""
        evaluation = selectors.evaluation(self.of)
        selectors.require_compared(seeker(self.request), evaluation)
        return evaluation

    def _send(self, blob: Blob | None, filename: str) -> HttpResponseBase:
        if blob is None or blob.erased_at is not None:
            raise problems.NotFound("The hub no longer stores this file.")
        plain = self.request._request  # noqa: SLF001 - DRF's own
        answer = downloads.send(plain, blob, filename, immutable=False)
        if self.training.model.is_protected:
            data = {"sha256": blob.sha256}
            if device := seeker(self.request).participant:
                data["participant"] = device.pseudonym
            of = ("training", self.training.pk)
            downloads.report(plain, answer, of, self.training.model_id, data)
        return answer


class ContributionParser(AnyParser):
    """Leaves a file of tensors unread; JSON goes to the next parser."""

    media_type = safetensors.MEDIA_TYPE


class Contributions(DeviceView, OneRoundView):
    """A device's own contribution to a round."""

    parser_classes = [JSONParser, ContributionParser]
    contribution = resource(contributions.find, "device", "of", needs_actor=False)

    read = detail(
        "contributions_read",
        shapes.ContributionOutput,
        "Read the state of your contribution, with the reason for a rejection.",
        targets=("contribution",),
        tagged=True,
    )

    @operation(
        "contributions_put",
        shapes.ContributionOutput,
        request={
            "application/json": shapes.ContributionInput,
            safetensors.MEDIA_TYPE: OpenApiTypes.BINARY,
        },
        responses={200: shapes.ContributionOutput, 201: shapes.ContributionOutput},
    )
    def store(self) -> Stored:
        """Submit a contribution: a manifest that names an upload, or the file itself.

        Repeating it returns 200.
        """
        request = self.request
        is_file = (request.content_type or "").split(";")[0].strip() == safetensors.MEDIA_TYPE
        submission = _inline(request) if is_file else _named(request)
        return Stored(*contributions.hand_in(self.device, task=self.of, submission=submission))

    @operation("contributions_withdraw")
    def withdraw(self) -> None:
        """Withdraw your contribution while the round is open."""
        contributions.withdraw(self.device, task=self.of)


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
    claimed = problems.expect(
        _DIGEST.fullmatch(request.headers.get("Content-Digest", "").strip()),
        problems.InvalidRequest("Send Content-Digest: sha-256=:<base64>: with the file."),
    )
    if base64.b64decode(claimed[1]).hex() != digests.hash_bytes(content):
        raise problems.DigestMismatch("The body does not match its Content-Digest.")
    return contributions.Submission(manifest, request.headers.get("Hub-Signature", ""), content)


def _too_long() -> problems.TooLarge:
    return problems.TooLarge(
        f"Files larger than {contributions.INLINE_BYTES} bytes must be uploaded first, as a "
        "resumable upload, and then named in the manifest."
    )


class Uploads(TusView, DeviceView):
    """A device's uploads; tus 1.0, as for users' uploads."""

    upload = resource(receiving.find, "device", "uuid", needs_actor=False)
    read, append, destroy = on_one("trainings_uploads", "Read the progress of an upload.")

    @property
    def sender(self) -> Any:
        return self.upload.owner

    @operation("trainings_uploads_create", status=201)
    def create(self) -> Response:
        """Create an upload. Upload-Metadata can declare `sha256`."""
        upload = receiving.begin(
            self.device,
            length=number(self.request, "Upload-Length"),
            claimed=metadata(self.request).get("sha256", ""),
        )
        location = f"{shapes.address(self.training)}/uploads/{upload.uuid}"
        return Response(status=201, headers=headers_of(upload) | {"Location": location})
