"""Reading an object as a file: in one stream as long as it is read in order."""

from __future__ import annotations

import io
from typing import IO, Any

import structlog
import urllib3
from botocore.exceptions import BotoCoreError, ReadTimeoutError

from registry.core import waiting
from registry.storage.byte_store import Stat
from registry.storage.s3 import bucket as s3
from registry.storage.s3.bucket import Bucket

log = structlog.get_logger(__name__)

BUFFER_BYTES = 2**20
# How often in a row a stream that breaks is opened again where it broke.
ATTEMPTS = 3


class ObjectReader(io.RawIOBase):
    """The bytes that an object had when it was opened.

    A stream that breaks is opened again where it broke; raises Unavailable where that fails, and
    where the object was replaced meanwhile.
    """

    def __init__(self, bucket: Bucket, key: str, head: Stat) -> None:
        super().__init__()
        self._bucket = bucket
        self._key = key
        self.head = head
        self._position = 0
        self._body: IO[bytes] | None = None
        # The body of a response is read after the request that opened the object.
        self._seconds = waiting.left()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.head.size}[whence]
        position = origin + offset
        if position != self._position:
            self._close_stream()
            self._position = position
        return position

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        if self._position >= self.head.size or not view:
            return 0
        with waiting.within(self._seconds):
            return self._read(view)

    def _read(self, view: memoryview) -> int:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if self._body is None:
                    self._body = self._bucket.get(self._key, self._position, etag=self.head.tag)
                with waiting.spent_if(ReadTimeoutError):
                    piece = self._body.read(len(view))
            except (BotoCoreError, urllib3.exceptions.HTTPError, OSError) as error:
                log.warning("object_stream_broke", key=self._key, error=str(error))
            except s3.ChangedError as error:
                raise s3.unavailable() from error
            else:
                if piece:
                    view[: len(piece)] = piece
                    self._position += len(piece)
                    return len(piece)
            self._close_stream()
            if attempt == ATTEMPTS:
                raise s3.unavailable()
        raise AssertionError  # the last attempt has returned or raised

    def close(self) -> None:
        self._close_stream()
        super().close()

    def _close_stream(self) -> None:
        if self._body is not None:
            self._body.close()
            self._body = None


def open_object(bucket: Bucket, key: str) -> io.BufferedReader:
    """An object as a file; raises FileNotFoundError."""
    return io.BufferedReader(ObjectReader(bucket, key, bucket.head(key)), BUFFER_BYTES)
