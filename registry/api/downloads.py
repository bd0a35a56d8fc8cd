"""Sending bytes: ranges, strong ETags, and a file handle that the server passes to sendfile.

Measured choice: a threaded WSGI server with `wsgi.file_wrapper` serves at the speed of a static
file server, since no byte passes through Python (RFC 9110 sections 13 and 14).
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from django.contrib.auth.models import AnonymousUser
from django.core.cache import caches
from django.http import (
    FileResponse,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotModified,
    HttpResponseRedirect,
)

from hub.protocol import problems
from registry.api import throttles
from registry.core import security_log, usage
from registry.models import Blob, User
from registry.storage.byte_store import size_of
from registry.storage.files import store

# Only where the server cannot hand the file to the kernel.
BLOCK_BYTES = 2**20
# How long requests of the same client for one protected file are one entry of the security log.
REPORTED_SECONDS = 60
_RANGE = re.compile(r"bytes=([0-9]{0,100})-([0-9]{0,100})")


class Slice(io.RawIOBase):
    """A readable part of a file, beginning where the file is positioned."""

    def __init__(self, file: io.BufferedReader, length: int) -> None:
        self._file = file
        self._left = length

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, size: int = -1) -> bytes:
        count = self._left if size < 0 else min(size, self._left)
        part = self._file.read(count)
        self._left -= len(part)
        return part

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(frozen=True, slots=True)
class DownloadRequest:
    """What a request says of the bytes it wants: its method and the values of its headers."""

    method: str
    range: str = ""
    if_range: str | None = None
    if_none_match: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> DownloadRequest:
        """What Django read of a request."""
        headers = request.headers
        return cls(
            str(request.method),
            headers.get("Range", ""),
            headers.get("If-Range"),
            headers.get("If-None-Match", ""),
        )

    def begins_download(self, status: int) -> bool:
        """Whether a response of this status begins a download: a GET from the first byte on.

        Not of a later range or of the tail, not of the first byte alone, with which clients ask for
        the size, and not where the client has the bytes already.
        """
        if self.method != "GET" or status == HTTPStatus.NOT_MODIFIED:
            return False
        match = _RANGE.fullmatch(self.range) if self.range else None
        return match is None or (match.group(1) == "0" and match.group(2) != "0")


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer, and the part of the file that goes with it; a 304 has none."""

    status: int
    headers: dict[str, str]
    start: int
    length: int


def answer(
    request: DownloadRequest, blob: Blob, filename: str, *, immutable: bool, tag: str = ""
) -> Answer:
    """What to answer who asks for a file's bytes; raises RangeNotSatisfiable."""
    etag = f'"{tag or blob.sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename.rsplit('/', 1)[-1])}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "public, max-age=31536000, immutable"
        if immutable
        else "private, no-cache",
        "Repr-Digest": f"sha-256=:{base64.b64encode(bytes.fromhex(blob.sha256)).decode()}:",
    }
    if etag in request.if_none_match:
        return Answer(304, headers, 0, 0)
    start, length = 0, blob.size
    status = 200
    if request.method == "GET" and request.range and request.if_range in (None, etag):
        part = _part(request.range, blob.size)
        if part is not None:
            start, length = part
            status = 206
            headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{blob.size}"
    headers["Content-Length"] = str(length)
    headers["Content-Type"] = "application/octet-stream"
    return Answer(status, headers, start, length)


def open_part(
    blob: Blob,
    part: Answer,
    opened: Callable[[], io.BufferedReader] | None = None,
) -> Slice:
    """The part of a blob that an answer sends; raises Unavailable where storage has other bytes."""
    file = opened() if opened else store().open(blob.sha256)
    if size_of(file) != blob.size:
        file.close()
        raise problems.Unavailable(
            f"The stored file does not match sha256:{blob.sha256}, so it is not served. The "
            "operator can run `hub manage verify_blobs` for details."
        )
    file.seek(part.start)
    return Slice(file, part.length)


def count(
    request: HttpRequest,
    response: HttpResponseBase,
    version_id: int,
    path: str,
    *,
    protected: int | None,
) -> None:
    """Count the download of a file; log that of a ``protected`` model, which is its key."""
    is_start = DownloadRequest.of(request).begins_download(response.status_code)
    if is_start and path.endswith(".onnx"):
        usage.notes.add_download(version_id)
    if protected is not None:
        report(request, response, ("version", version_id), protected, {"path": path})


def report(
    request: HttpRequest,
    response: HttpResponseBase,
    subject: tuple[str, object],
    model_id: int | None,
    data: Mapping[str, str],
    *,
    actor: User | AnonymousUser | None = None,
) -> None:
    """Log that bytes of a protected file leave the hub, before they do; ``actor`` or the user.

    Clients ask for parts of a large file, in any order: what the same actor, token and address ask
    of one file within a minute is one entry.
    """
    if request.method != "GET" or response.status_code >= HTTPStatus.BAD_REQUEST:
        return
    if response.status_code == HTTPStatus.NOT_MODIFIED:
        return
    who = actor or request.user
    token = getattr(who, "access_token", None)
    parts = (who.pk, token and token.pk, throttles.client_address(request), *subject, *data.items())
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    if caches["process"].add(f"download:{key}", 1, REPORTED_SECONDS):
        security_log.report(
            security_log.Kind.DOWNLOAD, actor=who, subject=subject, model_id=model_id, data=data
        )


def send(
    request: HttpRequest,
    blob: Blob,
    filename: str,
    *,
    immutable: bool,
    tag: str = "",
    opened: Callable[[], io.BufferedReader] | None = None,
) -> HttpResponseBase:
    """The bytes of a blob, or the range of them that was asked for.

    A file that is no blob of the store is ``opened`` here; ``blob`` has its digest and size then.
    Its ETag is ``tag``, another name for exactly these bytes, where one is given, else the SHA-256.
    Raises RangeNotSatisfiable, and Unavailable where storage has other bytes than the row says.
    """
    result = answer(DownloadRequest.of(request), blob, filename, immutable=immutable, tag=tag)
    if result.status == 304:
        return HttpResponseNotModified(headers=result.headers)
    if request.method == "HEAD":
        return HttpResponse(status=result.status, headers=result.headers)
    # The bucket does not know the hub's tag, so the hub itself answers where that decides.
    is_any = request.headers.get("If-Range") in (None, result.headers["ETag"])
    if opened is None and is_any and (url := store().download_url(blob.sha256, result.headers)):
        return _redirected(url, result)
    stream = FileResponse(open_part(blob, result, opened), status=result.status)
    stream.block_size = BLOCK_BYTES
    for name, value in result.headers.items():
        stream[name] = value
    return stream


def _redirected(url: str, result: Answer) -> HttpResponse:
    """A redirect to where the bytes are, for this request alone."""
    response = HttpResponseRedirect(url)
    for name in ("ETag", "Repr-Digest", "Content-Security-Policy"):
        response[name] = result.headers[name]
    response["Cache-Control"] = "private, no-store"
    return response


def _part(header: str, size: int) -> tuple[int, int] | None:
    """Start and length of the one range asked for; None for what RFC 9110 lets a server ignore."""
    match = _RANGE.fullmatch(header.strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        length = min(int(last), size)
        start, end = size - length, size - 1
    else:
        start, end = int(first), min(int(last) if last else size - 1, size - 1)
        if last and int(last) < int(first):
            return None
    if start >= size or end < start:
        raise problems.RangeNotSatisfiable(f"The file has {size} bytes.", size=size)
    return start, end - start + 1
