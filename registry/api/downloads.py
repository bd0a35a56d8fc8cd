"""Sending bytes: ranges, strong ETags, and a file handle that the server passes to sendfile.

Measured choice: a threaded WSGI server with `wsgi.file_wrapper` serves at the speed of a static
file server, since no byte passes through Python (RFC 9110 sections 13 and 14).
"""

from __future__ import annotations

import base64
import contextlib
import io
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import quote

from django.http import FileResponse, HttpResponse, HttpResponseBase, HttpResponseNotModified

from hub.protocol import problems
from registry.blobs import store

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

    from registry.models import Blob

_RANGE = re.compile(r"bytes=([0-9]{0,100})-([0-9]{0,100})")


class Slice(io.RawIOBase):
    """A readable part of a file, beginning where the file is positioned.

    Given the connection it goes out by, it has the kernel fill packets until it is closed: without,
    each 64 KiB are pushed on their own, which takes a third more processor time.
    """

    def __init__(
        self, file: io.BufferedReader, length: int, connection: socket.socket | None = None
    ) -> None:
        self._file = file
        self._left = length
        self._connection = connection
        self._fill_packets(on=True)

    def _fill_packets(self, *, on: bool) -> None:
        # Linux alone has it, and only for TCP; a connection that is gone needs it no more.
        if self._connection is not None and hasattr(socket, "TCP_CORK"):
            with contextlib.suppress(OSError):
                self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, on)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        part = self._file.read(wanted)
        self._left -= len(part)
        return part

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Only for `socket.sendfile`, which sets the position after sending the part."""
        return self._file.seek(offset, whence)

    def close(self) -> None:
        self._fill_packets(on=False)
        self._connection = None
        self._file.close()
        super().close()


def wants_beginning(request: HttpRequest) -> bool:
    """Whether a request begins a download: a GET from the first byte on.

    Not of a later range or of the tail, and not of the first byte alone, by which clients ask for
    the size.
    """
    found = _RANGE.fullmatch(request.headers.get("Range", ""))
    begins = found is None or (found.group(1) == "0" and found.group(2) != "0")
    return request.method == "GET" and begins


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
        "Repr-Digest": f"sha-256=:{_base64(blob.sha256)}:",
    }
    if etag in request.headers.get("If-None-Match", ""):
        return HttpResponseNotModified(headers=headers)
    start, length = 0, blob.size
    status = 200
    asked = request.headers.get("Range")
    if asked and request.headers.get("If-Range", etag) == etag:
        part = _part(asked, blob.size)
        if part is not None:
            start, length = part
            status = 206
            headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{blob.size}"
    headers["Content-Length"] = str(length)
    if request.method == "HEAD":
        response = HttpResponse(status=status, headers=headers)
        response["Content-Type"] = "application/octet-stream"
        return response
    file = opened() if opened else store().open(blob.sha256)
    if file.seek(0, io.SEEK_END) != blob.size:
        file.close()
        raise problems.Unavailable(
            f"Storage holds other bytes than sha256:{blob.sha256} should have. Nothing is served "
            "rather than something wrong; the operator can find out more with `verify_blobs`."
        )
    file.seek(start)
    stream = FileResponse(
        Slice(file, length, request.META.get("gunicorn.socket")),
        status=status,
        content_type="application/octet-stream",
    )
    stream.block_size = 2**20  # only where the server cannot hand the file to the kernel
    for name, value in headers.items():
        stream[name] = value
    return stream


def _part(asked: str, size: int) -> tuple[int, int] | None:
    """Start and length of the one range asked for; None for what RFC 9110 lets a server ignore."""
    found = _RANGE.fullmatch(asked.strip())
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
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


def _base64(hex_digits: str) -> str:
    return base64.b64encode(bytes.fromhex(hex_digits)).decode()
