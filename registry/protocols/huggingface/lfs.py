"""Large files the git-LFS way: a batch of questions, then bytes to signed addresses.

The addresses carry no token, since clients send none there; each is good for one upload, for as
long as that lives. Source: the git-lfs specification, batch API and basic transfers; for files in
parts, the multipart transfer of Hub clients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import digests, problems, stored
from registry.api import downloads
from registry.api.authentication import BasicTokenAuthentication, TokenAuthentication
from registry.api.uploads import RawParser
from registry.core.permissions import require
from registry.models import RegisteredModel, Upload, User
from registry.protocols.huggingface import addresses, errors, writing
from registry.protocols.huggingface.views import HubView
from registry.storage.services import uploads
from registry.versions import blob_selectors, selectors
from registry.versions.services import commits

MEDIA_TYPE = "application/vnd.git-lfs+json"
MOST_OBJECTS = 1_000
LIFETIME_SECONDS = int(uploads.LIFETIME.total_seconds())
DOWNLOAD_SECONDS = 3_600
_PUT, _PART, _GET = "lfs-put", "lfs-part", "lfs-get"


@dataclass(frozen=True, slots=True)
class LfsObject:
    """An object that a client names: its SHA-256 and its bytes."""

    oid: str
    size: int

    @classmethod
    def read(cls, item: object) -> LfsObject:
        """Read an object of a request; raises InvalidRequest."""
        row = stored.mapping(item)
        oid, size = row.get("oid"), stored.whole(row.get("size"))
        if not isinstance(oid, str) or not digests.is_hex(oid):
            raise problems.InvalidRequest("An object is named by its sha256, in 64 hex digits.")
        if size is None or size < 0:
            raise problems.InvalidRequest("The size of an object is a whole number of bytes.")
        return cls(oid, size)


@dataclass(frozen=True, slots=True)
class Signed:
    """What a signed address is for: an upload, or one part of it where there is a number."""

    upload: Upload
    number: int | None
    part_bytes: int

    @classmethod
    def read(cls, token: str, *kinds: str) -> Signed:
        """Read an address of one of these kinds; raises Refused."""
        try:
            claims = signing.loads(token, salt="lfs", max_age=LIFETIME_SECONDS)
        except signing.BadSignature as error:
            raise errors.Refused(
                "This address has expired. Request a new one.", status=403
            ) from error
        upload = Upload.objects.select_related("owner", "model").filter(pk=claims["upload"]).first()
        if upload is None or claims["what"] not in kinds or upload.model is None:
            raise errors.Refused("This upload has ended. Start a new one.", status=404)
        require(upload.owner, "version.edit", upload.model)
        return cls(upload, claims.get("number"), claims.get("bytes", settings.HUB_LIMITS_PUT_BYTES))


class LfsView(HubView):
    """What every answer of git-lfs has; git sends a token as a password."""

    authentication_classes = [BasicTokenAuthentication, TokenAuthentication]
    parser_classes = [writing.AnyJson]

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        """Errors with the member that git-lfs shows."""
        return _handle

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Answers are of git-lfs's own media type."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(answer, Response):
            answer.content_type = MEDIA_TYPE  # written when it is rendered
        else:
            answer["Content-Type"] = MEDIA_TYPE
        return answer


class Batch(LfsView):
    """Where clients ask how to send or fetch objects."""

    def post(self, request: Request, namespace: str, name: str) -> Response:
        """For each object: where to put it, or nothing where it is here already."""
        body = writing.body(request)
        if body.get("hash_algo", "sha256") not in ("sha256", "sha_256"):
            raise errors.Refused("Objects must be named by their SHA-256.", status=409)
        operation, in_parts = body.get("operation"), False
        if operation == "upload":
            objects = _objects(body.get("objects"))
            if isinstance(transfers := body.get("transfers"), list) and "multipart" in transfers:
                # One answer has one transfer; small objects come whole even then, in a single part.
                in_parts = any(
                    lfs_object.size > settings.HUB_LIMITS_PUT_BYTES for lfs_object in objects
                )
            rows = [
                _upload(request, self.writable, lfs_object, in_parts=in_parts)
                for lfs_object in objects
            ]
        elif operation == "download":
            selectors.require_files(request.user, self.model)
            rows = [
                _download(request, self.model, lfs_object)
                for lfs_object in _objects(body.get("objects"))
            ]
        else:
            raise problems.InvalidRequest("The operation must be upload or download.")
        transfer = "multipart" if in_parts else "basic"
        return Response({"transfer": transfer, "objects": rows, "hash_algo": "sha256"})


class SignedAuthentication(BaseAuthentication):
    """The holder of a signed address acts for the user who requested it."""

    def authenticate(self, request: Request) -> tuple[User, None]:
        """The owner of the upload that the address is for; raises Refused."""
        view = request.parser_context["view"]
        return Signed.read(view.kwargs["token"], _PUT, _PART).upload.owner, None


class Verify(LfsView):
    """The signed address where clients make sure that an object has come.

    git-lfs sends no credentials to it, since the batch was authenticated.
    """

    authentication_classes = [SignedAuthentication]

    def post(self, request: Request, token: str) -> Response:
        """Answers nothing where the object is here, with that size."""
        upload, lfs_object = Signed.read(token, _PUT).upload, LfsObject.read(writing.body(request))
        has_come = upload.state == Upload.State.STORED
        if not has_come or (upload.blob_id, upload.length) != (lfs_object.oid, lfs_object.size):
            raise errors.Refused(
                f"The object {lfs_object.oid} of {lfs_object.size} bytes was not received."
            )
        return Response({})


class ObjectUpload(HubView):
    """A signed address that takes bytes."""

    authentication_classes = [SignedAuthentication]
    parser_classes = [RawParser]

    def put(self, request: Request, token: str) -> HttpResponse:
        """Take an object whole, or one part of it; its SHA-256 decides whether it is kept."""
        signed = Signed.read(token, _PUT, _PART)
        upload, number = signed.upload, signed.number
        body = request._request  # noqa: SLF001 - the body itself, unread
        if number is not None:
            sha256 = uploads.receive_part(
                upload=upload, number=number, part_bytes=signed.part_bytes, stream=body
            )
            signed_part = signing.Signer(salt=str(upload.pk)).sign(f"{number}:{sha256}")
            etag = signed_part.removeprefix(f"{number}:").replace(":", ".")
            return HttpResponse(headers={"ETag": f'"{etag}"'})
        upload = uploads.receive(upload.owner, upload=upload, stream=body)
        if upload.state != Upload.State.STORED:
            raise errors.Refused(
                f"{upload.offset} of {upload.length} bytes were received. Send the object again.",
                status=400,
            )
        return HttpResponse(headers={"ETag": f'"{upload.blob_id}"'})


class Complete(HubView):
    """The signed address that joins the parts of an object."""

    authentication_classes = [SignedAuthentication]
    parser_classes = [writing.AnyJson]

    def post(self, request: Request, token: str) -> Response:
        """Join the parts, each named with the ETag that it got; 400 where one is missing."""
        signed = Signed.read(token, _PUT)
        upload = signed.upload
        if upload.state != Upload.State.STORED:
            _check_parts(signed, writing.body(request).get("parts"))
            upload = uploads.join_parts(upload)
        if upload.state != Upload.State.STORED:
            raise errors.Refused(
                "The parts do not add up to the whole object. Send it again.", status=400
            )
        return Response({})


class Fetch(HubView):
    """The signed address of an object's bytes, for git-lfs."""

    serves_guests = True  # its signature is the credential
    authentication_classes: list[Any] = []

    def get(self, request: Request, token: str) -> HttpResponseBase:
        """The bytes, with ranges."""
        try:
            claims = signing.loads(token, salt=_GET, max_age=DOWNLOAD_SECONDS)
        except signing.BadSignature as error:
            raise errors.Refused(
                "This address has expired. Request a new one.", status=403
            ) from error
        sha256 = claims["sha256"]
        blob = blob_selectors.stored(sha256)
        plain = request._request  # noqa: SLF001 - DRF's own
        answer = downloads.send(plain, blob, sha256, immutable=False)
        if model_id := claims.get("model"):
            actor = User.objects.filter(pk=claims["user"]).first()
            of = ("model", model_id)
            downloads.report(plain, answer, of, model_id, {"sha256": sha256}, actor=actor)
        return answer


def _handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    answer = errors.handle(error, context)
    message = answer["X-Error-Message"]
    response = JsonResponse({"message": message, "error": message}, status=answer.status_code)
    for name, value in answer.headers.items():
        if name not in ("Content-Type", "Content-Length"):
            response[name] = value
    if response.status_code == 401:
        response["LFS-Authenticate"] = 'Basic realm="hub"'
    return response


def _objects(rows: object) -> list[LfsObject]:
    if not isinstance(rows, list) or len(rows) > MOST_OBJECTS:
        raise problems.InvalidRequest(f"Send a list of at most {MOST_OBJECTS} objects.")
    return list(map(LfsObject.read, rows))


def _upload(
    request: Request, model: RegisteredModel, lfs_object: LfsObject, *, in_parts: bool
) -> dict[str, Any]:
    entry = asdict(lfs_object)
    if commits.claimable(request.user, model=model, sha256=lfs_object.oid) == lfs_object.size:
        return entry
    try:
        upload = uploads.begin(
            request.user, model=model, length=lfs_object.size, claimed=lfs_object.oid
        )
    except problems.Problem as error:
        return entry | {"error": {"code": error.status, "message": error.detail}}
    action = _parts(request, upload) if in_parts else {"href": _address(request, upload, _PUT)}
    return entry | {
        "authenticated": True,
        "actions": {
            "upload": action | {"expires_in": LIFETIME_SECONDS},
            "verify": {
                "href": _address(request, upload, _PUT, "verify"),
                "expires_in": LIFETIME_SECONDS,
            },
        },
    }


def _parts(request: Request, upload: Upload) -> dict[str, Any]:
    part = settings.HUB_LIMITS_PUT_BYTES
    header = {"chunk_size": str(part)}
    for number in range(1, max(1, math.ceil(upload.length / part)) + 1):
        header[f"{number:05}"] = _address(request, upload, _PART, number=number, bytes=part)
    href = _address(request, upload, _PUT, "complete", bytes=part)
    return {"href": href, "header": header}


def _address(
    request: Request, upload: Upload, what: str, verb: str = "objects", **fields: int
) -> str:
    token = signing.dumps({"what": what, "upload": str(upload.pk), **fields}, salt="lfs")
    return addresses.absolute(request, f"/api/lfs/{verb}/{token}")


def _check_parts(signed: Signed, parts: object) -> None:
    """Raise where a part is missing, or has not the ETag that it got here."""
    count = max(1, math.ceil(signed.upload.length / signed.part_bytes))
    signer = signing.Signer(salt=str(signed.upload.pk))
    etags = {
        item.get("partNumber"): str(item.get("etag", "")).removeprefix("W/").strip('"')
        for item in stored.rows(parts)
    }
    for number in range(1, count + 1):
        etag = etags.get(number, "").replace(".", ":")
        try:
            signer.unsign(f"{number}:{etag}")
        except signing.BadSignature as error:
            message = f"Part {number} of {count} is missing. Send it."
            raise problems.InvalidRequest(message) from error


def _download(request: Request, model: RegisteredModel, lfs_object: LfsObject) -> dict[str, Any]:
    entry = asdict(lfs_object)
    if not blob_selectors.is_held(request.user, model, lfs_object.oid):
        return entry | {"error": {"code": 404, "message": "Object not found in this model."}}
    claims: dict[str, Any] = {"sha256": lfs_object.oid}
    if model.is_protected:
        claims |= {"model": model.pk, "user": request.user.pk}
    token = signing.dumps(claims, salt=_GET)
    href = addresses.absolute(request, f"/api/lfs/fetch/{token}")
    return entry | {
        "authenticated": True,
        "actions": {"download": {"href": href, "expires_in": DOWNLOAD_SECONDS}},
    }
