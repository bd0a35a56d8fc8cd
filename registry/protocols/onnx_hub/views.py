"""What `onnx.hub` asks for: the manifest on every call, and the files it names."""

from __future__ import annotations

import hashlib

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import downloads
from registry.core import usage
from registry.models import Version
from registry.protocols.onnx_hub import archives, manifest_cache
from registry.protocols.onnx_hub.archives import Archive
from registry.protocols.onnx_hub.scope import Scope
from registry.versions import moves, selectors
from registry.versions.lifecycle import BRANCH


class Manifest(APIView):
    """The models of a repository at a ref."""

    schema = None  # the protocol is described elsewhere, not by our OpenAPI document

    def get(self, request: Request, owner: str, repo: str, ref: str) -> HttpResponseBase:
        """A JSON array, with the caller's own private models if there is a token.

        304 where the caller has it already. Nothing that the caller may see is NotFound.
        """
        scope = Scope.of(owner, repo, ref)
        public = manifest_cache.public(scope)
        more = manifest_cache.own(scope, request.user)
        if not (public.count or more or (scope.is_everything and scope.ref == BRANCH)):
            raise problems.NotFound(
                f"No model found for {owner}/{repo}:{ref}. onnx/models:main is "
                "everything, <namespace>/models a namespace, <namespace>/<model> one model; a "
                "private model needs a token."
            )
        tag = public.etag
        if more:
            tag = hashlib.sha256(tag.encode() + manifest_cache.text(more)).hexdigest()[:32]
        headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache"}
        headers["Vary"] = "Authorization, Accept-Encoding"
        if tag in request.headers.get("If-None-Match", ""):
            return HttpResponse(status=304, headers=headers)
        packed = manifest_cache.body(scope, public)
        if not more and "gzip" in request.headers.get("Accept-Encoding", ""):
            content, headers["Content-Encoding"] = packed, "gzip"
        else:
            content = manifest_cache.joined(packed, more)
        return HttpResponse(content, content_type="application/json", headers=headers)


class Media(APIView):
    """A file that a manifest names by model, version and path; repository and ref say no more."""

    schema = None

    def get(
        self, request: Request, namespace: str, name: str, number: str, path: str, **_: str
    ) -> HttpResponseBase:
        """The bytes of a model, or of a model with its test data; raises NotFound, Withdrawn."""
        try:
            model = selectors.model(request.user, namespace, name)
        except moves.Moved as moved:  # a manifest from before may still be in use
            model = selectors.model(request.user, *moved.new.split("/"))
        versions = selectors.versions(request.user, model)
        version = versions.filter(number=int(number), state__in=Version.VISIBLE).first()
        if version is None or model.is_gated:
            raise problems.NotFound(
                f"No loadable model found at {namespace}/{name} version {number}."
            )
        if version.state == Version.State.WITHDRAWN:
            raise problems.Withdrawn(f"{version.ref} was withdrawn: {version.reason}")
        if path.endswith(archives.SUFFIX):
            archive = archives.of_version(version).get(path)
            if archive is not None:
                return _pack(request, version, archive)
        file = selectors.file(version, path)
        plain = request._request  # noqa: SLF001 - DRF's own
        answer = downloads.send(plain, file.blob, path, immutable=model.is_public)
        protected = model.pk if model.is_protected else None
        downloads.count(plain, answer, version.pk, path, protected=protected)
        return answer


def _pack(request: Request, version: Version, archive: Archive) -> HttpResponseBase:
    """An archive, written while it is sent; its tag is known before its digest."""
    headers = {
        "ETag": f'"{archive.key}"',
        "Content-Length": str(archive.size),
        "Accept-Ranges": "none",
        "Cache-Control": "public, max-age=31536000, immutable"
        if version.model.is_public
        else "private, no-cache",
        "Content-Disposition": f'attachment; filename="{archive.folder}.tar.gz"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    if archive.key in request.headers.get("If-None-Match", ""):
        del headers["Content-Length"]
        return HttpResponse(status=304, headers=headers)
    if request.method == "HEAD":
        return HttpResponse(content_type="application/gzip", headers=headers)
    usage.notes.add_download(version.pk)
    plain = request._request  # noqa: SLF001 - DRF's own
    answer = StreamingHttpResponse(
        archive.stream(), content_type="application/gzip", headers=headers
    )
    if version.model.is_protected:
        name = f"{archive.folder}.tar.gz"
        downloads.report(plain, answer, ("version", version.pk), version.model_id, {"path": name})
    return answer
