"""Uploads under way in a bucket: whole parts in a multipart upload, the rest in a tail.

An upload's objects lie below ``staging/<name>/``: ``begun-<length>`` from its beginning, then
``multipart`` (the id of the multipart upload and the key that it makes), ``tail-<offset>`` (the
bytes after the whole parts), and at last ``content-<unique>``, or ``checked-<sha256>`` where the
client sent it to the bucket itself, which compared it with this digest. The content of a key of the
hub is written by one request alone, which knows the tags of all its parts, so what is hashed is
what is kept, even if two machines receive the same upload at once.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from hub.protocol import problems
from registry.storage.byte_store import STAGING
from registry.storage.s3.bucket import LEAST_PART_BYTES, Bucket, ChangedError, Object, Part
from registry.storage.s3.senders import PartSenders

PART_BYTES = 8 * 2**20
MOST_PARTS = 9_000
_CHECKED = "checked-"


def folder(name: str) -> str:
    """The prefix of the keys of an upload, for its name or that of its sealed bytes."""
    return f"{STAGING}{name.partition('/')[0]}/"


@dataclass(frozen=True, slots=True)
class Multipart:
    """A multipart upload: its id, and the key that it makes."""

    upload: str
    key: str


def begin(bucket: Bucket, name: str, length: int) -> None:
    """Note an upload of ``length`` bytes, none of which has come."""
    bucket.put(f"{folder(name)}begun-{length}", b"")


def multipart(bucket: Bucket, name: str) -> Multipart:
    """The multipart upload of an upload, started by the first request."""
    key = f"{folder(name)}multipart"
    with suppress(FileNotFoundError):
        return _read_multipart(bucket, key)
    target = f"{folder(name)}content-{os.urandom(8).hex()}"
    new = Multipart(bucket.begin_parts(target), target)
    try:
        bucket.put(key, f"{new.upload}\n{new.key}".encode(), is_new=True)
    except ChangedError:
        bucket.abort(new.key, new.upload)
        return _read_multipart(bucket, key)
    return new


class StagedObject:
    """The end of an upload in a bucket."""

    def __init__(self, bucket: Bucket, name: str) -> None:
        """Read what has come; raises FileNotFoundError."""
        self._bucket = bucket
        self._name = name
        self._senders = PartSenders(bucket)
        rows = {row.key.removeprefix(folder(name)): row for row in bucket.objects(folder(name))}
        lengths = [key for key in rows if key.startswith("begun-")]
        if not lengths:
            raise FileNotFoundError(name)
        self._length = int(lengths[0].removeprefix("begun-"))
        self._part_bytes = max(PART_BYTES, -(-self._length // MOST_PARTS))
        self._content = next((row for key, row in rows.items() if self._is_content(key, row)), None)
        self._multipart: Multipart | None = None
        if self._content is None and "multipart" in rows:
            open_upload = _read_multipart(bucket, f"{folder(name)}multipart")
            with suppress(FileNotFoundError):  # its parts are gone, as after a rule of the bucket
                self._senders.parts = _in_a_row(bucket, open_upload)
                self._multipart = open_upload
        self._has_lost_parts = "multipart" in rows and self._multipart is None
        self._in_parts = sum(part.size for part in self._senders.parts)
        self._tail = rows.get(f"tail-{self._in_parts}") if self._content is None else None
        self._buffer: bytearray | None = None
        self._is_durable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._senders.close()

    @property
    def size(self) -> int:
        """Bytes that have come, with those that were written here."""
        if self._content is not None:
            return self._content.size
        if self._buffer is not None:
            return self._in_parts + len(self._buffer)
        return self._in_parts + (self._tail.size if self._tail else 0)

    @property
    def identity(self) -> str:
        """Names the bytes that were durable at the last ``sync``."""
        if self._content is not None:
            return self._content.key
        upload = self._multipart.upload if self._multipart else ""
        tail = self._tail.etag if self._tail else ""
        tags = [upload, tail, *(part.etag for part in self._senders.parts)]
        return sha256("\n".join(tags).encode()).hexdigest()

    def write(self, data: bytes) -> None:
        """Add bytes at the end; whole parts are sent while the next one comes."""
        buffer, rest = self._open_buffer(), memoryview(data)
        self._is_durable = False
        while len(buffer) + len(rest) >= self._part_bytes:
            missing = max(0, self._part_bytes - len(buffer))
            buffer += rest[:missing]
            rest = rest[missing:]
            # Sent as it is, and replaced: a copy would cost as much as the hash.
            self._send(buffer)
            buffer = self._buffer = bytearray()
        buffer += rest

    def cut(self, size: int) -> None:
        """Discard bytes beyond ``size``, or all where some of them are in parts already."""
        buffer = self._open_buffer()
        self._senders.wait()
        if size >= self._in_parts:
            del buffer[size - self._in_parts :]
            return
        discard(self._bucket, self._name)
        begin(self._bucket, self._name, self._length)
        self._multipart, self._senders.parts, self._in_parts = None, [], 0
        self._tail, self._buffer = None, bytearray()

    def sync(self) -> int:
        """Make durable what was written: a tail, or the whole content where all has come."""
        self._senders.wait()
        if self._content is not None:
            return self.size
        if self.size == self._length:
            self._complete()
        elif not self._is_durable:
            key = f"{folder(self._name)}tail-{self._in_parts}"
            tag = self._bucket.put(key, bytes(self._open_buffer()))
            if self._tail is not None and self._tail.key != key:
                self._bucket.delete([self._tail.key])
            self._tail = Object(key, len(self._open_buffer()), tag)
        self._is_durable = True
        return self.size

    def seal(self) -> str:
        """The name of the whole content."""
        self.sync()
        if self._content is None:
            raise ValueError(f"{self._name} has {self.size} of {self._length} bytes")
        return self._content.key.removeprefix(STAGING)

    def _complete(self) -> None:
        """Make the content; raises UploadOffset where another machine receives the upload too."""
        buffer = self._open_buffer()
        if self._multipart is None:
            key = f"{folder(self._name)}content-{os.urandom(8).hex()}"
            self._bucket.put(key, bytes(buffer))
        else:
            key = self._multipart.key
            if buffer:
                self._send(buffer)
                self._buffer = bytearray()
                self._senders.wait()
            try:
                self._bucket.complete(key, self._multipart.upload, self._senders.parts)
            except (ChangedError, FileNotFoundError) as error:
                raise problems.UploadOffset(
                    "Another request is writing to this upload. Request its offset (HEAD), then "
                    "continue."
                ) from error
        self._content = Object(key, self._length)

    def _open_buffer(self) -> bytearray:
        if self._buffer is None:
            self._buffer = bytearray(self._bucket.read(self._tail.key) if self._tail else b"")
        return self._buffer

    def _send(self, body: bytearray) -> None:
        """Send a part, once there is a sender for it."""
        self._senders.wait_for_one()
        if self._multipart is None:
            if self._has_lost_parts:
                self._bucket.delete([f"{folder(self._name)}multipart"])
            self._multipart = multipart(self._bucket, self._name)
        self._senders.send(self._multipart.key, self._multipart.upload, body)
        self._in_parts += len(body)

    def _is_content(self, key: str, row: Object) -> bool:
        return key.startswith(("content-", _CHECKED)) and row.size == self._length


def checked_key(name: str, sha256: str) -> str:
    """The key of content that the client sends to the bucket, which compares it with the digest."""
    return f"{folder(name)}{_CHECKED}{sha256}"


def checked_digest(sealed: str) -> str:
    """The SHA-256 with which the bucket compared sealed content; empty where it did not."""
    _, _, key = sealed.partition("/")
    return key.removeprefix(_CHECKED) if key.startswith(_CHECKED) else ""


def discard(bucket: Bucket, name: str) -> None:
    """Remove everything of an upload, if it is there."""
    for key, upload, _ in list(bucket.unfinished(folder(name))):
        bucket.abort(key, upload)
    remove(bucket, name)


def remove(bucket: Bucket, name: str) -> None:
    """Remove the objects of an upload that is complete."""
    bucket.delete([row.key for row in bucket.objects(folder(name))])


def _read_multipart(bucket: Bucket, key: str) -> Multipart:
    upload, _, target = bucket.read(key).decode().partition("\n")
    return Multipart(upload, target)


def _in_a_row(bucket: Bucket, open_upload: Multipart) -> list[Part]:
    """The parts up to the first that is missing, or too short; raises FileNotFoundError."""
    parts: list[Part] = []
    for part in bucket.parts(open_upload.key, open_upload.upload):
        is_next = part.number == len(parts) + 1
        if not is_next or (parts and parts[-1].size < LEAST_PART_BYTES):
            break
        parts.append(part)
    return parts
