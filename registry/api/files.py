"""The API of files: those of a version, its card, and bytes by their digest."""

from __future__ import annotations

import base64
from typing import Any, cast

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api import downloads, etags
from registry.api import version_serializers as shapes
from registry.api.inputs import FilesParser
from registry.api.operations import Stored, VersionView, command, operation
from registry.cards import cards
from registry.catalogue import summaries
from registry.versions import blob_selectors, selectors
from registry.versions.services import files as file_services


def _decoded(text: str, pointer: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise problems.InvalidRequest.at(pointer, "The content is not valid base64.") from error


class MarkdownParser(BaseParser):
    """Takes Markdown as bytes, so that what is no UTF-8 can be refused and kept."""

    media_type = "text/markdown"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        content: bytes = stream.read(cards.LIMIT_BYTES + 1)
        if len(content) > cards.LIMIT_BYTES:
            raise problems.TooLarge(
                f"A card may have at most {cards.LIMIT_BYTES:,} bytes. Move the rest to a file."
            )
        return content


class Files(VersionView):
    """The files of a version."""

    parser_classes = [FilesParser]

    @operation("files_put_all", shapes.FilesOutput, reads=shapes.FilesInput)
    def put_all(self, files: list[dict[str, str]]) -> dict[str, Any]:
        """Set many files of a draft at once: all or none. Small files can be sent inline."""
        actor, version = self.request.user, self.version
        named = {row["path"]: row["blob"] for row in files}
        if len(named) != len(files):
            raise problems.InvalidRequest.at("/files", "Name each path only once.")
        contents = {
            row["path"]: _decoded(row["content"], f"/files/{at}/content")
            for at, row in enumerate(files)
            if "content" in row
        }
        if contents:
            file_services.store_contents(
                actor, version=version, contents=contents, digests_of=named
            )
        return {"missing": file_services.put_all(actor, version=version, digests_of=named)}

    @extend_schema(operation_id="files_read", responses={(200, "application/octet-stream"): bytes})
    def read(
        self, request: Request, namespace: str, name: str, number: int, path: str
    ) -> HttpResponseBase:
        """The content of the file; supports ranges and conditional requests."""
        public = summaries.public_file(namespace, name, number, path)
        if public is None:
            version = self.version
            selectors.require_files(request.user, version.model)
            public = selectors.file(version, path).blob, version.pk
            is_protected = version.is_draft or version.model.is_protected
        else:
            is_protected = False
        blob, version_id = public
        plain = request._request  # noqa: SLF001 - DRF's own
        answer = downloads.send(plain, blob, path, immutable=not is_protected)
        protected = self.version.model_id if is_protected else None
        downloads.count(plain, answer, version_id, path, protected=protected)
        return answer

    @operation("files_put", shapes.FileOutput, reads=shapes.FileInput, status=201)
    def store(self, blob: str) -> Stored:
        """Set a file of a draft to an uploaded blob."""
        path = self.kwargs["path"]
        file, is_new = file_services.put(
            self.request.user, version=self.version, path=path, digest=blob
        )
        file.version = self.version
        return Stored(file, is_new=is_new)

    destroy = command(
        "files_delete",
        file_services.remove,
        "Remove a file from a draft.",
        targets=("version", "path"),
    )

    @extend_schema(operation_id="blobs_read", responses={(200, "application/octet-stream"): bytes})
    def read_blob(self, request: Request, sha256: str) -> HttpResponseBase:
        """Download the file. Supports ranges and conditional requests."""
        blob = blob_selectors.readable(request.user, sha256)
        plain = request._request  # noqa: SLF001 - DRF's own
        answer = downloads.send(plain, blob, sha256, immutable=False)
        if not blob_selectors.is_open(sha256):
            downloads.report(plain, answer, ("blob", ""), None, {"sha256": sha256})
        return answer


class Card(VersionView):
    """The card of a version: README.md with YAML front matter."""

    parser_classes = [MarkdownParser]

    @extend_schema(operation_id="card_read", responses={(200, "text/markdown"): OpenApiTypes.STR})
    def read(self, _: Request, **address: Any) -> HttpResponse:
        """Read the card as Markdown."""
        text = self.version.readme
        response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
        response["ETag"] = etags.of(text)
        return response

    @extend_schema(
        operation_id="card_put",
        request={"text/markdown": OpenApiTypes.STR},
        responses=shapes.VersionOutput,
    )
    def store(self, request: Request, **_: Any) -> Response:
        """Write the card of a draft. Replacing a card needs If-Match."""
        version = self.version
        if version.readme:
            etags.require(request, etags.of(version.readme))
        content = cast("bytes", request.data or b"")
        version = file_services.write_card(request.user, version=version, text=content)
        response = Response(self.data(shapes.VersionOutput, version))
        response["ETag"] = etags.of(version.readme)
        return response
