"""Files sent to a hub by tus 1.0: in steps, continued after a cut, a restart or a lost answer.

The offset the server tells is the truth; the digest claimed at the start is checked by the server
over all bytes at the end. An upload that was cut is remembered, so that a later run continues it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from hub.client import cancellation
from hub.client.cache import Cache
from hub.client.retries import is_transient
from hub.client.transport import Transport
from hub.protocol import digests, problems

if TYPE_CHECKING:
    from hub.client.local_files import LocalFile

FIRST_STEP_BYTES = 8 << 20
LARGEST_STEP_BYTES = 64 << 20
STEP_SECONDS = 4.0
MOST_STARTS = 10
POLL_SECONDS = 0.5
LONGEST_POLL_SECONDS = 4.0
STORING_SECONDS = 1800.0

_TUS = {"Tus-Resumable": "1.0.0"}


class _Slice:
    """A part of an open file, read by the HTTP library; each read reports its bytes."""

    def __init__(self, reader: BinaryIO, count: int, on_bytes: Callable[[int], None]) -> None:
        self._reader = reader
        self._left = count
        self._on_bytes = on_bytes

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes of the part, at most `count`."""
        cancellation.check()
        size = self._left if count < 0 else min(count, self._left)
        part = self._reader.read(size)
        if size and not part:
            raise problems.DigestMismatch("The file became shorter during the upload. Try again.")
        self._left -= len(part)
        self._on_bytes(len(part))
        return part


class Upload:
    """One file on its way to the hub."""

    def __init__(
        self,
        transport: Transport,
        cache: Cache,
        file: LocalFile,
        on_bytes: Callable[[int], None],
        address: str = "/api/v1/uploads",
    ) -> None:
        self._transport = transport
        self._address = address
        self._file = file
        self._on_bytes = on_bytes
        self._cache = cache
        self._memory = cache.upload_path(transport.config.url, file.sha256)
        self._step = FIRST_STEP_BYTES
        self._reported = 0
        self._direct = ""
        self._retries = transport.retries()

    def run(self) -> str:
        """Send every byte and return the blob's digest, `sha256:<hex>`.

        Raise `DigestMismatch` when the server read other bytes than were hashed here (the file
        changed meanwhile), `Unreachable` when the connection fails for good, and what else the
        server says.
        """
        location, offset = self._remembered() or (self._create(), 0)
        if self._direct:
            if blob := self._send_directly(location):
                self._memory.unlink(missing_ok=True)
                return blob
            offset = self._offset(location, 0)
        starts = 1
        while True:
            try:
                blob = self._send_from(location, offset)
                break
            except (problems.NotFound, problems.UploadGone):
                starts += 1
                if starts > MOST_STARTS:
                    raise
                location, offset = self._create(), 0
                self._report(0)
            except _Cut as cut:
                if cut.offset > offset:
                    self._retries.progress()
                self._retries.pause(cut.error)
                offset = self._offset(location, cut.offset)
                if offset > cut.offset:
                    self._retries.progress()
        self._memory.unlink(missing_ok=True)
        return blob

    def _create(self) -> str:
        fields = {"sha256": self._file.sha256, "filename": self._file.path}
        metadata = ",".join(
            f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in fields.items()
        )
        answer = self._transport.request(
            "POST",
            self._address,
            headers={
                **_TUS,
                "Upload-Length": str(self._file.size),
                "Upload-Metadata": metadata,
                "Idempotency-Key": str(uuid.uuid4()),
            },
            repeatable=True,
        )
        location = answer.headers.get("Location")
        if not location:
            raise problems.Unreachable(f"{answer.url} created an upload without a location.")
        location = self._transport.own(location)
        self._direct = answer.headers.get("Hub-Direct-Upload", "")
        self._cache.write_json(self._memory, {"location": location, "size": self._file.size})
        return location

    def _remembered(self) -> tuple[str, int] | None:
        """Return where an earlier run stopped, when the hub still knows that upload."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            stored = json.loads(self._memory.read_bytes())
            if stored["size"] == self._file.size:
                location = str(stored["location"])
                with contextlib.suppress(problems.Problem):
                    return location, self._head(location)
        return None

    def _head(self, location: str) -> int:
        answer = self._transport.request("HEAD", location, headers=_TUS, retries=self._retries)
        text = answer.headers.get("Upload-Offset", "")
        if not text.isdecimal() or int(text) > self._file.size:
            raise problems.Unreachable(
                f"{location} does not report the offset of the upload.", is_transient=False
            )
        return int(text)

    def _offset(self, location: str, assumed: int) -> int:
        try:
            offset = self._head(location)
        except (problems.NotFound, problems.UploadGone):
            return assumed  # the next attempt begins another upload
        self._report(offset)
        return offset

    def _send_directly(self, location: str) -> str | None:
        """Send all bytes to the hub's storage itself, at the address that the hub gave for that.

        Return the blob's digest, or None where the bytes have to go through the hub.
        """
        url, self._direct = self._direct, ""
        if urlsplit(self._transport.config.url).scheme == "https" != urlsplit(url).scheme:
            return None
        size = self._file.size
        headers = {"Content-Length": str(size), "X-Amz-Content-SHA256": self._file.sha256}
        with self._file.open() as reader:
            try:
                whole = _Slice(reader, size, self._advance)
                with self._transport.open("PUT", url, headers, whole):
                    pass
                answer = self._patch(location, size, _Slice(reader, 0, self._advance), 0)
            except (problems.HubError, _Cut):
                return None
        blob: str | None = answer["blob"]
        return blob

    def _send_from(self, location: str, offset: int) -> str:
        self._report(offset)
        with self._file.open() as reader:
            while offset < self._file.size or self._file.size == 0:
                count = min(self._step, self._file.size - offset)
                reader.seek(offset)
                started = time.monotonic()
                answer = self._patch(location, offset, _Slice(reader, count, self._advance), count)
                offset = answer["offset"]
                self._report(offset)
                if answer["blob"]:
                    return str(answer["blob"])
                if self._file.size == 0:
                    break
                self._adapt(count, time.monotonic() - started)
        return self._stored(location, offset)

    def _patch(self, location: str, offset: int, part: _Slice, count: int) -> dict[str, Any]:
        headers = {
            **_TUS,
            "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream",
            "Content-Length": str(count),
        }
        try:
            answer = self._transport.request(
                "PATCH", location, body=part, headers=headers, once=True
            )
        except problems.HubError as error:
            # What the file itself refuses (it became shorter) is no failure of the hub.
            if not is_transient(error) and not isinstance(error, problems.UploadOffset):
                raise
            raise _Cut(error, offset) from error
        reported = answer.headers.get("Upload-Offset", "")
        return {
            "offset": int(reported) if reported.isdecimal() else offset + count,
            "blob": answer.headers.get("Hub-Blob"),
        }

    def _adapt(self, count: int, seconds: float) -> None:
        """Choose the next step so that it lasts some seconds: a cut then costs little."""
        step = int(count / max(seconds, 0.001) * STEP_SECONDS)
        self._step = max(FIRST_STEP_BYTES, min(LARGEST_STEP_BYTES, step))

    def _stored(self, location: str, offset: int) -> str:
        """Return the blob of an upload whose bytes have all arrived, once the hub has hashed it."""
        pause, deadline = POLL_SECONDS, time.monotonic() + STORING_SECONDS
        while True:
            state = self._transport.request("GET", location, retries=self._retries).json()
            self._retries.progress()
            if state.get("state") == "stored" and state.get("blob"):
                return digests.format(digests.parse(str(state["blob"])))
            if state.get("state") == "refused":
                raise problems.DigestMismatch(
                    f"The hub rejected {self._file.path}: the content it received does not match "
                    f"sha256:{self._file.sha256}. Did the file change during the upload? Try again."
                )
            if state.get("offset") != self._file.size:
                lost = problems.Unreachable(f"{location} lost bytes.", reason="it lost bytes")
                raise _Cut(lost, offset)
            if time.monotonic() > deadline:
                raise problems.UploadIncomplete(
                    f"The hub has not stored {self._file.path} after {STORING_SECONDS:.0f} s. "
                    "Is a worker running? Run the same push again to continue."
                )
            self._transport.sleep(pause)
            pause = min(LONGEST_POLL_SECONDS, pause * 1.5)

    def _advance(self, count: int) -> None:
        self._reported += count
        self._on_bytes(count)

    def _report(self, offset: int) -> None:
        """Correct the progress to what the server holds."""
        if offset != self._reported:
            self._on_bytes(offset - self._reported)
            self._reported = offset


class _Cut(Exception):  # noqa: N818  (never leaves this module)
    """An attempt that ended before the file did; `offset` is where it had started."""

    def __init__(self, error: problems.HubError, offset: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.offset = offset
