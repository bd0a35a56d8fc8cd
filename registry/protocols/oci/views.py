"""The addresses of the distribution protocol that a pull asks, and the refusal that a push gets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, HttpResponseBase, HttpResponseNotModified, JsonResponse
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from hub.protocol import digests
from registry.api import downloads, headers
from registry.api.authentication import BasicTokenAuthentication, TokenAuthentication, password
from registry.models import AccessToken, Blob, User
from registry.protocols.oci import artifacts, errors
from registry.protocols.oci.artifacts import Document
from registry.protocols.oci.errors import Code, Refused
from registry.protocols.oci.repositories import Repository

# What a guest gets as a token: clients ask nothing without one.
GUEST = "anonymous"
TOKEN_SECONDS = 3600
MOST_TAGS = 1_000
NO_PUSH = "This registry is read-only. Publish models with `hub push` or `hf upload`."
_DIGEST = re.compile(rf"{digests.PREFIX}[0-9a-f]{{64}}")


class RegistryTokenAuthentication(TokenAuthentication):
    """A token of the hub, or the one that guests get."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        """The user of the token; raises NotAuthenticated for a token that is wrong or over."""
        if request.headers.get("Authorization", "").partition(" ")[2] == GUEST:
            return None
        return super().authenticate(request)


class RegistryView(APIView):
    """A view of the protocol: its errors and tokens."""

    schema = None  # the protocol is described elsewhere, not by our OpenAPI document
    authentication_classes = [BasicTokenAuthentication, RegistryTokenAuthentication]

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        """Errors in the protocol's own form."""
        return errors.handle

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - DRF's signature
        """JSON, whatever is accepted: clients name the media types of manifests."""
        return JSONRenderer(), "application/json"

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> Any:
        """Name the version of the protocol, which clients look for."""
        response["Docker-Distribution-Api-Version"] = "registry/2.0"
        return super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]


class Base(RegistryView):
    """Where clients begin: they learn how to authenticate here, or never."""

    def get(self, request: Request) -> HttpResponse:
        """Nothing for users, and a challenge for guests, who get a token too."""
        if request.user.is_authenticated or "Authorization" in request.headers:
            return JsonResponse({})
        words = "Get a token first, with or without a password."
        return errors.answer(request, Code.UNAUTHORIZED, words, 401, "")


class Token(RegistryView):
    """Where clients get a token: the hub's own, which they sent as a password, or a guest's."""

    def get(self, request: Request) -> HttpResponse:
        """The token (distribution, token authentication); raises NotAuthenticated."""
        secret = password(request) if request.user.is_authenticated else GUEST
        content = {"token": secret, "access_token": secret, "expires_in": TOKEN_SECONDS}
        return JsonResponse(content, headers={"Cache-Control": "no-store"})


class Tags(RegistryView):
    """The tags of a model."""

    def get(self, request: Request, namespace: str, name: str) -> HttpResponse:
        """At most `n` of them after `last`, in lexical order."""
        repository = Repository.open(request.user, namespace, name)
        last, count = request.query_params.get("last", ""), request.query_params.get("n", "")
        most = min(int(count), MOST_TAGS) if re.fullmatch(r"[0-9]{1,9}", count) else MOST_TAGS
        tags = [tag for tag in repository.tags() if tag > last]
        page = tags[:most]
        response = JsonResponse({"name": f"{namespace}/{name}", "tags": page})
        if page and len(tags) > most:
            after = f"{request.path}?n={most}&last={page[-1]}"
            response["Link"] = f'<{after}>; rel="next"'
        return response


class Manifest(RegistryView):
    """A manifest by its tag or digest."""

    def get(self, request: Request, namespace: str, name: str, reference: str) -> HttpResponseBase:
        """The bytes that have the digest."""
        repository = Repository.open(request.user, namespace, name)
        response = _written(request, repository.artifact(reference).manifest)
        if warning := repository.warning(reference):
            response["Warning"] = headers.warning(warning)
        return response

    def put(self, request: Request, **_: str) -> HttpResponse:
        """No, and how else."""
        raise Refused(Code.UNSUPPORTED, NO_PUSH)

    delete = put


class Content(RegistryView):
    """A blob by its digest."""

    def get(self, request: Request, namespace: str, name: str, digest: str) -> HttpResponseBase:
        """The bytes of a file of a published version, or of what describes one."""
        repository = Repository.open(request.user, namespace, name)
        if not _DIGEST.fullmatch(digest):
            raise Refused(Code.BLOB_UNKNOWN, "A blob is named by sha256: and 64 hex digits.")
        file = repository.file(digest)
        if file is None:
            document = repository.document(digest)
            if document is None:
                raise Refused(Code.BLOB_UNKNOWN, f"{repository.model.ref} has no blob {digest}.")
            return _written(request, document)
        model = repository.model
        plain = request._request  # noqa: SLF001 - DRF's own
        is_immutable = not model.is_protected
        response = downloads.send(plain, file.blob, file.path, immutable=is_immutable)
        response["Docker-Content-Digest"] = digest
        protected = model.pk if model.is_protected else None
        downloads.count(plain, response, file.version_id, file.path, protected=protected)
        return response

    def delete(self, request: Request, **_: str) -> HttpResponse:
        """No, and how else."""
        raise Refused(Code.UNSUPPORTED, NO_PUSH)


class Referrers(RegistryView):
    """What refers to a manifest: the evidence of its version."""

    def get(self, request: Request, namespace: str, name: str, digest: str) -> HttpResponse:
        """An index of manifests, perhaps of one `artifactType` alone."""
        referrers = Repository.open(request.user, namespace, name).referrers(digest)
        rows = [item.referrer for item in referrers]
        kind = request.query_params.get("artifactType")
        if kind:
            rows = [row for row in rows if row["artifactType"] == kind]
        content = {"schemaVersion": 2, "mediaType": artifacts.INDEX, "manifests": rows}
        response = JsonResponse(content, content_type=artifacts.INDEX)
        if kind:
            response["OCI-Filters-Applied"] = "artifactType"
        return response


class Push(RegistryView):
    """Where a push would begin."""

    def post(self, request: Request, **_: str) -> HttpResponse:
        """No, and how else."""
        raise Refused(Code.UNSUPPORTED, NO_PUSH)

    get = put = patch = delete = head = post


class Other(RegistryView):
    """Addresses that lead nowhere here."""

    def get(self, request: Request, **_: str) -> HttpResponse:
        """No such repository."""
        raise Refused(
            Code.NAME_UNKNOWN,
            "A model is named by its namespace and name, as in /v2/zoo/resnet50/manifests/1.",
        )


def _written(request: Request, document: Document) -> HttpResponseBase:
    """Bytes that the hub writes itself, or the range of them that was asked for."""
    sha256 = document.digest.removeprefix(digests.PREFIX)
    part = downloads.answer(
        downloads.DownloadRequest.of(request._request),  # noqa: SLF001 - DRF's own
        Blob(sha256=sha256, size=len(document.content)),
        f"{sha256}.json",
        immutable=False,
    )
    if part.status == 304:
        return HttpResponseNotModified(headers=part.headers)
    own_headers = part.headers | {
        "Content-Type": document.media_type,
        "Docker-Content-Digest": document.digest,
    }
    content = document.content[part.start : part.start + part.length]
    body = b"" if request.method == "HEAD" else content
    return HttpResponse(body, status=part.status, headers=own_headers)
